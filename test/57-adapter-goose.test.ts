// Goose: what the real client left, and what it did not do there.
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { EventItem, Item, UsageItem } from '../src/adapters/adapter.ts'
import { agent } from '../src/adapters/goose/agent.ts'
import { read } from '../src/adapters/goose/read.ts'
import { connect, type Database } from '../src/sqlite/driver.ts'
import { adapterContract } from './contract/adapter.ts'
import type { Expected } from './contract/golden.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { temporary, World } from './setup/sweeping.ts'

const KILLED = 'killed while a tool ran: rows of a step are written when all of its tools have ended'

describe('goose', () =>
  adapterContract({
    adapter: agent,
    clients: ['goose'],
    // Input is counted with what was cached: compared below.
    counters: ['output'],
    // Totals hold compactions too.
    queues: /^(?:main|sub|compact)/,
    lost: {
      'goose/kill_tool': {
        'answer: Starting the slow job.': KILLED,
        'call: toolu_mock0002x0': KILLED,
        'result: toolu_mock0002x0': KILLED,
        'tokens: output 0 of 52': KILLED,
      },
    },
  }))

const usageOf = (items: Iterable<Item>): UsageItem[] => [...items].filter((item) => item.type === 'usage')

describe('totals', () => {
  it('hold all input, cached or not, to the unit, and no price', () => {
    const home = unpackAgent('goose')
    let count = 0
    for (const scenario of readdirSync(home).filter((name) => name !== 'kill_tool')) {
      const path = join(home, scenario, '.local/share/goose/sessions/sessions.db')
      const { responses } = JSON.parse(
        readFileSync(join(home, scenario, 'expected.json'), 'utf8'),
      ) as Expected
      const own = responses.filter(({ queue, streamed }) => queue !== 'aux' && streamed === 'complete')
      const wanted = own.map(({ usage }) => (usage ? usage.input + usage.cache_read + usage.cache_write : 0))
      const isChat = scenario === 'qa_chat'
      const found = usageOf(read({ path }, null))
      const sum = (numbers: number[]): number => numbers.reduce((total, one) => total + one, 0)
      // The chat protocol has no number for what is written to the cache.
      const less = isChat ? sum(own.map(({ usage }) => usage?.cache_write ?? 0)) : 0
      expect(sum(found.map(({ input }) => input)), scenario).toBe(sum(wanted) - less)
      expect(found.every(({ model, scope }) => model === null && scope === 'turn')).toBe(true)
      count += found.length
    }
    expect(count).toBeGreaterThan(8)
  })
})

const TABLES = `
  CREATE TABLE sessions (id TEXT PRIMARY KEY, name, description DEFAULT '', user_set_name DEFAULT 0, session_type DEFAULT 'user',
    working_dir, created_at, updated_at, accumulated_input_tokens, accumulated_output_tokens, model_config_json);
  CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id, session_id, role, content_json, created_timestamp, metadata_json);`

type Fields = Record<string, unknown>
let path: string
let database: Database
beforeEach(() => {
  path = join(temporary('goose'), 'sessions.db')
  database = connect(path)
  database.exec(TABLES)
})

function session(id: string, more: Fields = {}): void {
  const row = {
    id,
    name: 'A title',
    working_dir: '/p',
    created_at: '2026-11-16 20:00:00',
    updated_at: '2026-11-16 20:00:00',
    ...more,
  }
  const names = Object.keys(row)
  database
    .prepare(`INSERT INTO sessions (${names}) VALUES (${names.map(() => '?')})`)
    .run(...(Object.values(row) as string[]))
}

let clock = 1_794_859_000
function message(id: string, role: string, content: Fields[], flags?: [boolean, boolean]): void {
  clock++
  const metadata = flags && JSON.stringify({ userVisible: flags[0], agentVisible: flags[1] })
  database
    .prepare(
      'INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES (?, ?, ?, ?, ?, ?)',
    )
    .run(`msg_${clock}`, id, role, JSON.stringify(content), clock, metadata ?? null)
}

const text = (words: string): Fields => ({ type: 'text', text: words })
const request = (name: string, input: Fields, id = 'call-1'): Fields => ({
  type: 'toolRequest',
  id,
  toolCall: { status: 'success', value: { name, arguments: input } },
})
const response = (toolResult: Fields, id = 'call-1'): Fields => ({ type: 'toolResponse', id, toolResult })

const items = (): Item[] => [...read({ path }, null)]
const events = (): EventItem[] => items().filter((item) => item.type === 'event')

describe('a ledger', () => {
  const LEDGER = `CREATE TABLE usage_ledger (id INTEGER PRIMARY KEY, session_id, created_timestamp, model, input_tokens, output_tokens,
    total_tokens, cache_read_tokens, cache_write_tokens, cost, cost_source, is_compaction)`
  const respond = (input: number, output: number, read: number, write: number, cost: number | null): void => {
    database
      .prepare(
        `INSERT INTO usage_ledger (session_id, created_timestamp, model, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost)
         VALUES ('20261116_1', 1794859000, 'claude-sonnet-4-5', ?, ?, ?, ?, ?)`,
      )
      .run(input, output, read, write, cost)
  }

  it('tells each response, what was cached taken out of its input', () => {
    session('20261116_1', { accumulated_input_tokens: 150, accumulated_output_tokens: 30 })
    database.exec(LEDGER)
    respond(100, 20, 30, 10, 0.25)
    respond(50, 10, 0, 0, null)
    expect(usageOf(items())).toMatchObject([
      {
        model: 'claude-sonnet-4-5',
        scope: 'response',
        input: 60,
        cacheRead: 30,
        cacheWrite5m: 10,
        output: 20,
        reportedCost: 25_000_000,
      },
      { model: 'claude-sonnet-4-5', scope: 'response', input: 50, output: 10 },
    ])
  })

  it('leaves what is older to the total', () => {
    session('20261116_1', { accumulated_input_tokens: 400, accumulated_output_tokens: 90 })
    database.exec(LEDGER)
    respond(100, 20, 0, 0, null)
    expect(usageOf(items())).toMatchObject([
      { scope: 'response', input: 100, output: 20 },
      { scope: 'turn', model: null, input: 300, output: 70 },
    ])
  })
})

describe('a call', () => {
  it('that edits a file says what it changes', () => {
    session('20261116_1')
    message('20261116_1', 'assistant', [request('edit', { path: '/p/a', before: 'x', after: 'y' })])
    expect(events()[0]).toMatchObject({
      kind: 'edit',
      files: ['/p/a'],
      act: { does: 'edit', edits: [{ path: '/p/a', before: 'x', after: 'y' }] },
    })
  })

  const value = (words: string, more: Fields = {}): Fields => ({
    status: 'success',
    value: { content: [text(words)], isError: false, ...more },
  })
  it.each([
    ['ok', value('fine', { structuredContent: { exit_code: 0 } })],
    ['failed', value('bad', { structuredContent: { exit_code: 2 } })],
    ['failed', value('bad', { isError: true })],
    ['failed', { status: 'error', error: 'no such tool' }],
    ['refused', value('The user has declined to run this tool. DO NOT attempt to call this tool again.')],
    ['stopped', { status: 'error', error: '-32603: Interrupted by the user to make a correction' }],
    ['ok', { status: 'success', value: [text('as older versions wrote it')] }],
  ])('ends %s', (state, toolResult) => {
    session('20261116_1')
    message('20261116_1', 'assistant', [request('shell', { command: 'make' })])
    message('20261116_1', 'user', [response(toolResult)])
    expect(events().at(-1)).toMatchObject({ state, tool: 'shell', role: 'tool' })
    expect(events().at(-1)?.said).toBeTruthy()
  })
})

describe('a conversation that was compacted', () => {
  it('keeps its keys, with new numbers; what a program put there is no prompt and no answer', () => {
    session('20261116_1')
    message('20261116_1', 'user', [text('one')], [true, true])
    message('20261116_1', 'assistant', [text('two')], [true, true])
    const before = events().map((event) => event.key)
    const rows = database.prepare('SELECT * FROM messages').all() as Record<string, string>[]
    database.exec('DELETE FROM messages')
    for (const row of rows)
      database
        .prepare(
          `INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp, metadata_json)
           VALUES (?, ?, ?, ?, ?, '{"userVisible":true,"agentVisible":false}')`,
        )
        .run(
          ...['message_id', 'session_id', 'role', 'content_json', 'created_timestamp'].map(
            (name) => row[name] as string,
          ),
        )
    message('20261116_1', 'user', [text('three')], [false, false])
    message('20261116_1', 'user', [text('So far: …')], [false, true])
    message('20261116_1', 'assistant', [text('Your context was compacted. …')], [false, true])
    message('20261116_1', 'user', [text('three')], [true, true])
    const after = events()
    expect(after.slice(0, 2).map((event) => event.key)).toEqual(before)
    expect(after.map(({ kind, mark }) => [kind, mark])).toEqual([
      ['user_msg', undefined],
      ['assistant_msg', undefined],
      ['lifecycle', undefined],
      ['lifecycle', undefined],
      ['lifecycle', 'compaction'],
      ['user_msg', undefined],
    ])
  })
})

describe('a session', () => {
  it('tells what its row says; a name that nobody gave is no title', () => {
    session('20261116_1', {
      name: 'CLI Session',
      model_config_json: '{"model_name":"m-1"}',
      session_type: 'sub_agent',
    })
    session('20261116_2', { name: 'Mine', user_set_name: 1, accumulated_output_tokens: 5 })
    const facts = items().filter((item) => item.type === 'session')
    const startedAt = Date.parse('2026-11-16T20:00:00Z')
    const same = { type: 'session', startedAt, cwd: '/p' }
    expect(facts).toEqual([
      { ...same, session: '20261116_1', model: 'm-1', relation: 'subagent' },
      { ...same, session: '20261116_2', title: 'Mine', titleByPerson: true },
    ])
    expect(usageOf(items())).toMatchObject([{ session: '20261116_2', output: 5, isLatest: true }])
  })

  it('of a sub-agent is named by the result of the call alone', () => {
    session('20261116_1')
    message('20261116_1', 'assistant', [request('delegate', { instructions: 'count' })])
    const meta = { _meta: { subagent_session_id: '20261116_2' } }
    message('20261116_1', 'user', [response({ status: 'success', value: { content: [], ...meta } })])
    expect(items().filter((item) => item.type === 'edge')).toMatchObject([
      { kind: 'subagent', session: '20261116_2', parent: '20261116_1', evidence: 'call-1' },
    ])
  })

  it('holds what nobody described, and notices for what they are', () => {
    session('20261116_1')
    message('20261116_1', 'assistant', [
      { type: 'hologram' },
      { type: 'systemNotification', notificationType: 'creditsExhausted', msg: 'no credit' },
      { type: 'redactedThinking', data: 'x' },
    ])
    message('20261116_1', 'user', [{ type: 'actionRequired', data: { actionType: 'elicitationResponse' } }])
    expect(items().filter((item) => item.type === 'unknown')).toEqual([
      { type: 'unknown', name: 'content hologram' },
    ])
    expect(events().map(({ kind }) => kind)).toEqual(['lifecycle', 'error', 'thinking', 'decision'])
  })

  it('before the database is a file, told once though it was moved', async () => {
    const world = new World()
    const folder = join(world.home, '.local/share/goose/sessions')
    mkdirSync(folder, { recursive: true })
    const id = '20250301_101500'
    const lines = [
      {
        description: 'Old work',
        working_dir: '/p',
        accumulated_input_tokens: 9,
        accumulated_output_tokens: 4,
      },
      { role: 'user', created: 1_740_824_100, content: [text('one')] },
      {
        role: 'assistant',
        created: 1_740_824_101,
        content: [request('developer__shell', { command: 'ls' })],
      },
    ]
    writeFileSync(join(folder, `${id}.jsonl`), lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    expect(await world.sweep()).toMatchObject({ newEventCount: 2, gaps: {}, unknown: {}, problems: [] })
    session(id, { name: 'Old work' })
    for (const { role, created, content } of lines.slice(1))
      database
        .prepare(
          'INSERT INTO messages (message_id, session_id, role, content_json, created_timestamp) VALUES (?, ?, ?, ?, ?)',
        )
        .run(`msg_${id}_${created}`, id, role as string, JSON.stringify(content), created as number)
    writeFileSync(join(folder, 'sessions.db'), readFileSync(path))
    expect(dirname(path)).not.toBe(folder)
    expect(await world.sweep()).toMatchObject({ newEventCount: 0, problems: [] })
  })

  it('of a database elsewhere is told from one of the same number here', async () => {
    const home = unpackAgent('goose')
    const there = join(home, 'subagent/.local/share/goose/sessions')
    const world = new World(join(home, 'qa'))
    world.configure(`[sources.goose]\nroots = ["${there}"]\n`)
    expect(await world.sweep()).toMatchObject({ problems: [] })
    const { sessions, edges } = world.dump()
    const uids = sessions.map((one) => one['session_uid'])
    expect(uids).toEqual([
      'goose:20261116_1',
      'goose:20261116_1@1794860019000',
      'goose:20261116_2@1794860019000',
    ])
    expect(edges).toMatchObject([{ session_uid: uids[2], kind: 'subagent', parent_uid: uids[1] }])
    expect(agent.resume?.('20261116_1@1794860019000')).toBe('goose session --resume --session-id 20261116_1')
    world.remove()
  })

  it('keeps the ids it was first read under, and a copy of the own database has its ids', async () => {
    const world = new World(join(unpackAgent('goose'), 'resume'))
    const own = join(world.home, '.local/share/goose/sessions')
    const uids = () => world.dump().sessions.map((one) => one['session_uid'])
    const tokens = () => world.dump().usage.reduce((sum, one) => sum + Number(one['input']), 0)
    await world.sweep()
    const before = tokens()
    // Read where the variable that leads to it is not set, and has changed since.
    world.configure(`[sources.goose]\nroots = ["${own}"]\n`)
    const changed = connect(join(own, 'sessions.db'))
    changed.exec("UPDATE sessions SET name = 'Renamed', updated_at = datetime('now')")
    changed.close()
    await world.sweep({ env: { ...world.env, XDG_DATA_HOME: join(world.home, 'nowhere') } })
    expect([uids(), tokens()]).toEqual([['goose:20261116_1'], before])
    // A copy from before the last response: its totals are smaller.
    const backup = join(world.home, 'backup')
    cpSync(own, backup, { recursive: true })
    const old = connect(join(backup, 'sessions.db'))
    old.exec('UPDATE sessions SET accumulated_input_tokens = accumulated_input_tokens - 100')
    old.close()
    world.configure(`[sources.goose]\nroots = ["${backup}"]\n`)
    expect(await world.sweep()).toMatchObject({ problems: [] })
    expect([uids(), tokens()]).toEqual([['goose:20261116_1'], before])
    world.remove()
  })
})
