// opencode and its fork Kilo Code: what the real clients left, and what they did not do there.
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { EdgeItem, EventItem, Item, UsageItem } from '../src/adapters/adapter.ts'
import { agent as kilo } from '../src/adapters/kilo/agent.ts'
import { agent } from '../src/adapters/opencode/agent.ts'
import { read } from '../src/adapters/opencode/read.ts'
import { connect, type Database } from '../src/sqlite/driver.ts'
import { adapterContract } from './contract/adapter.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { temporary, World } from './setup/sweeping.ts'

// The wire has no number for what was written to the cache.
const counters = ['input', 'cache_read', 'output'] as const
const KILLED = 'killed while the tool ran: no result, and tokens are told when all tools of a step have ended'

describe('opencode', () =>
  adapterContract({
    adapter: agent,
    clients: ['opencode'],
    counters,
    lost: {
      'opencode/kill_resume': {
        'result: call_mock0002x0': KILLED,
        'tokens: input 1003 of 2005': KILLED,
        'tokens: cache_read 2003 of 4005': KILLED,
        'tokens: output 53 of 105': KILLED,
      },
    },
  }))
describe('kilo', () => adapterContract({ adapter: kilo, clients: ['kilo'], counters }))

const START = 1_790_000_000_000
const TABLES = `
  CREATE TABLE session (id TEXT PRIMARY KEY, parent_id, workspace_id, directory, title, version, revert, time_created, time_updated);
  CREATE TABLE message (id TEXT PRIMARY KEY, session_id, time_created, time_updated, data);
  CREATE TABLE part (id TEXT PRIMARY KEY, message_id, session_id, time_created, time_updated, data);
  CREATE TABLE workspace (id TEXT PRIMARY KEY, branch);
  CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id, type, seq, time_created, time_updated, data);`

type Fields = Record<string, unknown>
let path: string
let database: Database
let count: number
beforeEach(() => {
  path = join(temporary('opencode'), 'opencode.db')
  database = connect(path)
  database.exec(TABLES)
  count = 0
})

function insert(table: string, row: Fields): void {
  const names = Object.keys(row)
  const values = Object.values(row).map((value) =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : value,
  )
  database
    .prepare(`INSERT OR REPLACE INTO ${table} (${names}) VALUES (${names.map(() => '?')})`)
    .run(...(values as string[]))
}

const session = (id = 'ses_a', more: Fields = {}): void =>
  insert('session', { id, title: 'A title', time_created: START, time_updated: START, ...more })

/** A message with its parts; the n-th is made n seconds after the start. */
function message(role: string, parts: Fields[], more: Fields = {}, to = 'ses_a'): string {
  count++
  const created = START + count * 1000
  const id = `msg_${String(count).padStart(4, '0')}`
  const data = { role, time: { created }, modelID: role === 'user' ? undefined : 'm-1', ...more }
  insert('message', { id, session_id: to, time_created: created, time_updated: created, data })
  for (const [at, part] of parts.entries())
    insert('part', {
      id: `prt_${id}_${at}`,
      message_id: id,
      session_id: to,
      time_updated: created,
      data: part,
    })
  return id
}

const text = (words: string, more: Fields = {}): Fields => ({ type: 'text', text: words, ...more })
const tool = (name: string, state: Fields, callID = 'call-1'): Fields => ({
  type: 'tool',
  tool: name,
  callID,
  state: { status: 'completed', input: {}, time: { start: START + 5000, end: START + 7000 }, ...state },
})
const finish = (input: number, more: Fields = {}): Fields => ({
  type: 'step-finish',
  reason: 'stop',
  tokens: { input, output: 10, reasoning: 5, cache: { read: 7, write: 3 } },
  ...more,
})

const items = (): Item[] => [...read({ path }, null)]
const events = (): EventItem[] => items().filter((item) => item.type === 'event')
const usage = (): UsageItem[] => items().filter((item) => item.type === 'usage')
const edges = (): EdgeItem[] => items().filter((item) => item.type === 'edge')

describe('what is said', () => {
  it('stands without the quotation marks of the command line, and only without those', () => {
    session()
    const prompts = ['"Say \\"a b\\" and \\ too"', '"one" and "two"', '"word"', 'plain words', '"a b" c "d"']
    for (const prompt of prompts) message('user', [text(prompt)])
    expect(events().map((event) => event.said)).toEqual([
      'Say "a b" and \\ too',
      '"one" and "two"',
      '"word"',
      'plain words',
      '"a b" c "d"',
    ])
  })

  it('by a program is no prompt', () => {
    session()
    message('user', [
      text('Look at @a.ts'),
      text('Called the Read tool', { synthetic: true }),
      text('shown', { ignored: true }),
    ])
    expect(events().map(({ kind, role }) => [kind, role])).toEqual([
      ['user_msg', 'user'],
      ['user_msg', 'system'],
      ['lifecycle', 'user'],
    ])
  })

  it('in place of the conversation is marked, and no answer', () => {
    session()
    const id = message('user', [{ type: 'compaction', auto: true }])
    message('assistant', [text('So far: …'), finish(10)], { parentID: id, summary: true })
    expect(events().map(({ kind, mark }) => [kind, mark])).toEqual([
      ['lifecycle', 'compaction'],
      ['lifecycle', undefined],
      ['lifecycle', undefined],
    ])
  })
})

describe('a call', () => {
  it('keeps its key from its beginning to its end, whatever stands behind it', () => {
    session()
    const input = { command: 'npm test' }
    const running = [
      tool('bash', { status: 'running', input, time: { start: START + 5000 } }),
      tool('bash', { status: 'pending', input: {}, time: undefined }, 'call-2'),
    ]
    message('assistant', running)
    const before = events()
    expect(before.map(({ kind, callId }) => [kind, callId])).toEqual([
      ['test_run', 'call-1'],
      ['tool_call', 'call-2'],
    ])
    count = 0
    const ended = { input, output: 'failed', metadata: { output: 'failed', exit: 1 } }
    message('assistant', [tool('bash', ended), running[1] as Fields])
    const after = events()
    expect(after.map((event) => event.key)).toEqual([
      before[0]?.key,
      expect.stringContaining('.end'),
      before[1]?.key,
    ])
    expect(after[1]).toMatchObject({
      kind: 'error',
      state: 'failed',
      exitCode: 1,
      durationMs: 2000,
      said: 'failed',
      ts: START + 7000,
    })
  })

  it.each([
    ['refused', 'error', { error: 'The user rejected permission to use this specific tool call.' }],
    ['refused', 'error', { error: 'Error: The user has specified a rule which prevents you from …' }],
    ['stopped', 'error', { error: 'Tool execution aborted', metadata: { interrupted: true } }],
    [
      'stopped',
      'completed',
      { output: 'a\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>' },
    ],
    ['failed', 'error', { error: 'File not found' }],
    ['ok', 'completed', { output: 'The user rejected permission' }],
  ])('that is %s says so (%s)', (state, status, more) => {
    session()
    message('assistant', [tool('bash', { status, ...more })])
    expect(events().at(-1)).toMatchObject({ state, ...(state === 'refused' && { mark: 'denied' }) })
  })

  it('with arguments that do not fit has failed, though the client calls it complete', () => {
    session()
    message('assistant', [tool('invalid', { output: 'The arguments provided to the tool are invalid' })])
    expect(events().at(-1)).toMatchObject({ state: 'failed', kind: 'error' })
  })

  it('that a person made is not the agent’s; an answer to a question is a decision', () => {
    session()
    const id = message('user', [text('The following tool was executed by the user', { synthetic: true })])
    message('assistant', [tool('bash', { input: { command: 'ls' } })], { parentID: id })
    message('assistant', [tool('question', { output: 'User has answered' }, 'call-2')])
    expect(events().map(({ kind, role }) => [kind, role])).toEqual([
      ['user_msg', 'system'],
      ['tool_call', 'user'],
      ['tool_result', 'tool'],
      ['tool_call', 'assistant'],
      ['decision', 'tool'],
    ])
  })
})

describe('a turn', () => {
  it('that was stopped, failed or was tried again says so', () => {
    session()
    const data = { message: 'overloaded', statusCode: 529 }
    message('assistant', [{ type: 'retry', attempt: 1, error: { name: 'APIError', data } }])
    message('assistant', [], { error: { name: 'APIError', data } })
    message('assistant', [text('half')], { error: { name: 'MessageAbortedError', data: {} } })
    expect(events().map(({ kind, mark, summary }) => [kind, mark, summary])).toEqual([
      ['retry', undefined, 'tried again: APIError: overloaded (529)'],
      ['error', undefined, 'APIError: overloaded (529)'],
      ['assistant_msg', undefined, 'half'],
      ['human_intervention', 'interrupt', 'stopped by the user'],
    ])
  })

  it('that was taken back is marked from there on', () => {
    const first = ['one', 'two'].map((words) => message('user', [text(words)]))
    session('ses_a', { revert: { messageID: first[1] } })
    message('assistant', [text('three')])
    const [, ...taken] = events()
    const supersede = items().find((item) => item.type === 'supersede')
    expect(supersede).toMatchObject({ keys: taken.map((event) => event.key) })
  })

  it('of several steps counts each of them once, and a message without steps for itself', () => {
    session()
    const tokens = { input: 2, output: 10, reasoning: 5, cache: { read: 7, write: 3 } }
    message('assistant', [finish(1, { cost: 0.0013031 }), finish(2)], { tokens, cost: 99 })
    message('assistant', [text('old')], { tokens })
    message('assistant', [], { tokens: { input: Number.NaN, output: null, cache: {} } })
    expect(usage().map(({ input, output, reportedCost }) => [input, output, reportedCost])).toEqual([
      [1, 15, 130310],
      [2, 15, undefined],
      [2, 15, undefined],
    ])
    expect(new Set(usage().map(({ id }) => id)).size).toBe(3)
    expect(usage()[2]).toMatchObject({ cacheRead: 7, cacheWrite5m: 3, reasoning: 5, model: 'm-1' })
  })
})

describe('a fork', () => {
  /** Copies messages as the client does: new ids, old times. */
  function fork(from: string, to: string, at: number, title: string): void {
    session(to, { title, time_created: at })
    for (const table of ['message', 'part']) {
      const rows = database.prepare(`SELECT * FROM ${table} WHERE session_id = ?`).all(from) as Fields[]
      for (const row of rows) {
        const data = String(row['data']).replace(/(?<="parentID":"\w+)(?=")/, `_${to}`)
        const renamed = { ...row, id: `${row['id']}_${to}`, session_id: to, data }
        insert(
          table,
          'message_id' in row ? { ...renamed, message_id: `${row['message_id']}_${to}` } : renamed,
        )
      }
    }
  }

  it('comes from the session whose latest message it holds, or whose title it carries on', () => {
    session('ses_a', { title: 'Work' })
    message('user', [text('one')])
    fork('ses_a', 'ses_b', START + 2000, 'Work (fork #1)')
    fork('ses_a', 'ses_c', START + 2500, 'Work (fork #1)')
    fork('ses_b', 'ses_d', START + 2700, 'Work (fork #2)')
    count = 2
    message('user', [text('two')], {}, 'ses_c')
    fork('ses_c', 'ses_e', START + 4000, 'renamed')
    const found = Object.fromEntries(edges().map((edge) => [edge.session, [edge.parent, edge.kind]]))
    expect(found).toEqual({
      ses_b: ['ses_a', 'interactive_fork'],
      ses_c: ['ses_a', 'interactive_fork'],
      ses_d: ['ses_b', 'interactive_fork'],
      ses_e: ['ses_c', 'interactive_fork'],
    })
  })

  it('has the keys and the tokens of what it copied; sub-agents that were started at once have their own', () => {
    session()
    message('user', [text('one')])
    message('assistant', [text('two'), finish(4)], { parentID: 'msg_0001' })
    fork('ses_a', 'ses_b', START + 9000, 'x')
    session('ses_c', { parent_id: 'ses_a' })
    session('ses_d', { parent_id: 'ses_a' })
    for (const id of ['ses_c', 'ses_d']) {
      count = 10
      message('user', [text('the same task')], {}, id)
      database.exec(`UPDATE message SET id = '${id}' WHERE id = 'msg_0011';
        UPDATE part SET id = '${id}', message_id = '${id}' WHERE message_id = 'msg_0011'`)
    }
    const keys = (id: string): string[] => events().flatMap((one) => (one.session === id ? one.key : []))
    expect(keys('ses_b')).toEqual(keys('ses_a'))
    expect(keys('ses_c')).not.toEqual(keys('ses_d'))
    expect(new Set(usage().map(({ id }) => id)).size).toBe(1)
  })
})

describe('a session', () => {
  it('tells where it was, and has no title before it was given one', () => {
    insert('workspace', { id: 'w', branch: 'fix/it' })
    const title = 'New session - 2026-11-16T20:16:22.523Z'
    session('ses_a', { title, directory: '/p', version: '1.18.33', workspace_id: 'w' })
    expect(items()[0]).toEqual({
      type: 'session',
      session: 'ses_a',
      startedAt: START,
      cwd: '/p',
      gitBranch: 'fix/it',
      agentVersion: '1.18.33',
    })
  })

  it('of a sub-agent hangs on the call that started it', () => {
    session()
    message('assistant', [tool('task', { metadata: { sessionId: 'ses_b' } })])
    session('ses_b', { parent_id: 'ses_a' })
    expect(edges().map(({ parent, session, evidence }) => [parent, session, evidence])).toEqual([
      ['ses_a', 'ses_b', 'call-1'],
      ['ses_a', 'ses_b', undefined],
    ])
  })

  it('holds what nobody described, counted by name', () => {
    session()
    message('assistant', [{ type: 'hologram', a: 1 }])
    session('ses_b')
    insert('session_message', { id: 'm', session_id: 'ses_b', type: 'user', seq: 1, data: { text: 'hi' } })
    const unknown = items().flatMap((item) => (item.type === 'unknown' ? item.name : []))
    expect(unknown.sort()).toEqual(['part hologram', 'session_message user'])
    expect(events()).toHaveLength(2)
  })
})

describe('the tree of files before the database', () => {
  const put = (home: string, name: string, value: Fields): void => {
    const file = join(home, '.local/share/opencode/storage', name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify(value))
  }

  it('tells the same session as the database into which it was moved', async () => {
    const at = START + 1000
    session('ses_a', { directory: '/p' })
    message('user', [text('one')])
    message('assistant', [text('two'), finish(4)], { parentID: 'msg_0001' })
    const world = new World()
    const info = { id: 'ses_a', title: 'A title', directory: '/p', time: { created: START, updated: at } }
    put(world.home, 'session/global/ses_a.json', info)
    for (const row of database.prepare('SELECT * FROM message').all() as Record<string, string>[])
      put(world.home, `message/ses_a/${row['id']}.json`, {
        id: row['id'],
        sessionID: 'ses_a',
        ...JSON.parse(row['data'] as string),
      })
    for (const row of database.prepare('SELECT * FROM part').all() as Record<string, string>[])
      put(world.home, `part/${row['message_id']}/${row['id']}.json`, {
        id: row['id'],
        messageID: row['message_id'],
        sessionID: 'ses_a',
        ...JSON.parse(row['data'] as string),
      })
    expect(await world.sweep()).toMatchObject({ newEventCount: 3, problems: [], gaps: {}, unknown: {} })
    const before = world.dump()
    cpSync(path, join(world.home, '.local/share/opencode/opencode.db'))
    expect(await world.sweep()).toMatchObject({ newEventCount: 0, changedEventCount: 0, problems: [] })
    expect(world.dump()['usage']).toEqual(before['usage'])
  })
})

describe('a sweep', () => {
  it('tells a fork’s copies as copies, and counts them once', async () => {
    const world = new World(join(unpackAgent('opencode'), 'fork'))
    await world.sweep()
    const sessions = world.read(({ memory }) =>
      memory.prepare('SELECT relation, turn_count AS turns FROM sessions ORDER BY started_at').all(),
    )
    expect(sessions).toEqual([
      { relation: 'main', turns: 2 },
      { relation: 'fork', turns: 1 },
      { relation: 'fork', turns: 1 },
    ])
  })

  it('tells a fork of a fork as that, and whose the first words are', async () => {
    const at = (second: number): number => START + second * 1000
    const say = (to: string, ...seconds: number[]): void => {
      for (const second of seconds) {
        const row = {
          id: `msg_${to}_${second}`,
          session_id: to,
          time_created: at(second),
          time_updated: at(9),
        }
        insert('message', { ...row, data: { role: 'user', time: { created: at(second) } } })
        const part = { id: `prt_${to}_${second}`, message_id: row.id, session_id: to, time_updated: at(9) }
        insert('part', { ...part, data: text(`said at ${second}`) })
      }
    }
    session('ses_a', { title: 'T' })
    session('ses_b', { title: 'T (fork #1)', time_created: at(2) })
    session('ses_c', { title: 'T (fork #2)', time_created: at(5) })
    say('ses_a', 1, 4)
    say('ses_b', 1, 3)
    say('ses_c', 1, 3, 6)
    const world = new World()
    const place = join(world.home, '.local/share/opencode/opencode.db')
    mkdirSync(dirname(place), { recursive: true })
    cpSync(path, place)
    await world.sweep()
    const told = world.read(({ memory }) => [
      memory
        .prepare('SELECT session_uid AS id, relation, turn_count AS turns FROM sessions ORDER BY 1')
        .all(),
      memory.prepare('SELECT session_uid AS id, parent_uid AS parent FROM edges ORDER BY 1').all(),
    ])
    expect(told).toEqual([
      [
        { id: 'opencode:ses_a', relation: 'main', turns: 2 },
        { id: 'opencode:ses_b', relation: 'fork', turns: 1 },
        { id: 'opencode:ses_c', relation: 'fork', turns: 1 },
      ],
      [
        { id: 'opencode:ses_b', parent: 'opencode:ses_a' },
        { id: 'opencode:ses_c', parent: 'opencode:ses_b' },
      ],
    ])
  })
})
