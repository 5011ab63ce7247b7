// Cursor, from what others found out: no session of the program itself is here.
import { hash } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { agent } from '../src/adapters/cursor/agent.ts'
import { connect } from '../src/sqlite/driver.ts'
import { FLAG } from '../src/store/rows.ts'
import { adapterContract } from './contract/adapter.ts'
import { World } from './setup/sweeping.ts'

const ID = '11111111-2222-4333-8444-555555555555'
const CHILD = '66666666-2222-4333-8444-555555555555'
const START = 1_790_000_000_000
type Fields = Record<string, unknown>

function put(path: string, lines: Fields[]): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
}

const said = (role: string, ...content: Fields[]): Fields => ({ role, message: { content } })
const text = (words: string): Fields => ({ type: 'text', text: words })
const COMMAND = { command: 'npm test' }

/** A transcript knows no results. */
function transcript(home: string, id = ID): void {
  const folder = join(home, '.cursor/projects/home-dev-proj/agent-transcripts', id)
  put(join(folder, `${id}.jsonl`), [
    said('user', text('<user_query>\nFix it\n</user_query>')),
    said('assistant', text('I look.'), { type: 'tool_use', name: 'Shell', input: COMMAND }),
    said('assistant', text('Fixed.')),
    { type: 'turn_ended', status: 'success' },
  ])
  put(join(folder, 'subagents', `${CHILD}.jsonl`), [said('user', text('count')), { type: 'hologram' }])
}

/** The command line's: messages by their hashes, and a node that lists them. */
function commandLine(home: string): void {
  const path = join(home, '.cursor/chats/0123456789abcdef0123456789abcdef', ID, 'store.db')
  mkdirSync(dirname(path), { recursive: true })
  const database = connect(path)
  database.exec(
    'CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT, value TEXT)',
  )
  const blob = (data: Buffer): string => {
    const id = hash('sha256', data, 'hex')
    database.prepare('INSERT INTO blobs VALUES (?, ?)').run(id, data)
    return id
  }
  const messages: Fields[] = [
    { role: 'system', content: 'You are …' },
    { role: 'user', content: [text('<user_info>\nOS: linux\n</user_info>')] },
    { role: 'user', content: [text('<user_query>\nFix it\n</user_query>')] },
    {
      role: 'assistant',
      content: [
        text('I look.'),
        { type: 'tool-call', toolCallId: 'c1', toolName: 'Shell', args: COMMAND },
        { type: 'hologram' },
      ],
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'Shell', result: '1 failing' }],
    },
    { role: 'assistant', content: [text('Fixed.')] },
  ]
  const ids = messages.map((message) => blob(Buffer.from(JSON.stringify(message))))
  // Not named by the root: a branch that was left.
  blob(Buffer.from(JSON.stringify({ role: 'user', content: 'taken back' })))
  const list = ids.map((id) => Buffer.concat([Buffer.from([0x0a, 0x20]), Buffer.from(id, 'hex')]))
  const latestRootBlobId = blob(Buffer.concat(list))
  const meta = JSON.stringify({ agentId: ID, latestRootBlobId, name: 'Fix the test', createdAt: START })
  database.prepare('INSERT INTO meta VALUES (?, ?)').run('0', Buffer.from(meta).toString('hex'))
  database.close()
}

/** The editor's: one row for a conversation, and one for each bubble of it. */
function editor(home: string, id = ID): void {
  const path = join(home, '.config/Cursor/User/globalStorage/state.vscdb')
  mkdirSync(dirname(path), { recursive: true })
  const database = connect(path)
  database.exec('CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)')
  const insert = database.prepare('INSERT INTO cursorDiskKV VALUES (?, ?)')
  const tool = (status: string, more: Fields = {}): Fields => ({
    name: 'run_terminal_cmd',
    toolCallId: `call-${status}`,
    rawArgs: JSON.stringify({ command: status }),
    status,
    result: '{"output":"1 failing"}',
    ...more,
  })
  const bubbles: Fields[] = [
    { type: 1, text: '<div> is broken' },
    { type: 2, thinking: { text: 'Look first.' }, text: 'I look.' },
    { type: 2, text: '', toolFormerData: tool('completed') },
    { type: 2, text: '', toolFormerData: tool('rejected') },
    { type: 2, text: '', toolFormerData: tool('cancelled') },
    { type: 2, text: '', toolFormerData: tool('loading') },
    { type: 2, text: 'Fixed.' },
  ]
  const headers = bubbles.map((bubble, at) => ({ bubbleId: `b${at}`, type: bubble['type'] }))
  const composer = {
    composerId: id,
    name: 'Fix the page',
    createdAt: START,
    fullConversationHeadersOnly: headers,
  }
  insert.run(`composerData:${id}`, JSON.stringify(composer))
  insert.run('composerData:empty', JSON.stringify({ name: 'nothing' }))
  for (const [at, bubble] of bubbles.entries()) insert.run(`bubbleId:${id}:b${at}`, JSON.stringify(bubble))
  database.close()
}

const make = (home: string): void => {
  transcript(home)
  commandLine(home)
  editor(home, CHILD)
}
describe('cursor', () => adapterContract({ adapter: agent, make }))

const told = (world: World, id = ID): string[] =>
  world.read(({ cache }) =>
    (
      cache
        .prepare(
          `SELECT e.summary FROM events e JOIN cached c ON c.id = e.session WHERE c.session_uid = ? AND e.flags & ? = 0 ORDER BY e.seq`,
        )
        .all(`cursor:${id}`, FLAG.repeated) as { summary: string }[]
    ).map(({ summary }) => summary),
  )

const CONVERSATION = ['Fix it', 'I look.', 'Shell: npm test']

describe('a conversation', () => {
  it('in a transcript alone is told, with its sub-agents', async () => {
    const world = new World()
    transcript(world.home)
    expect(await world.sweep()).toMatchObject({ problems: [], gaps: {}, unknown: { 'record hologram': 1 } })
    expect(told(world)).toEqual([...CONVERSATION, 'Fixed.', 'turn ended: success'])
    const edges = world.read(({ memory }) =>
      memory.prepare('SELECT session_uid, parent_uid FROM edges').all(),
    )
    expect(edges).toEqual([{ session_uid: `cursor:${CHILD}`, parent_uid: `cursor:${ID}` }])
  })

  it.each([
    ['the transcript', 'the database', transcript, commandLine],
    ['the database', 'the transcript', commandLine, transcript],
  ])('of the command line is one, though %s is read before %s', async (_, __, first, second) => {
    const world = new World()
    first(world.home)
    await world.sweep()
    second(world.home)
    await world.sweep()
    expect(told(world).sort()).toEqual(
      [...CONVERSATION, '1 failing', 'Fixed.', '<user_info>', 'You are …', '[hologram]'].sort(),
    )
    const rows = world.read(({ memory }) =>
      memory.prepare("SELECT title, turn_count FROM sessions WHERE relation = 'main'").all(),
    )
    expect(rows).toEqual([{ title: 'Fix the test', turn_count: 1 }])
  })

  it.each([
    ['with its transcript', [[editor, transcript]]],
    ['before its transcript', [[editor], [transcript]]],
    ['after its transcript, which was read', [[transcript], [editor]]],
  ])('of the editor is told bubble by bubble, there %s', async (_, steps) => {
    const world = new World()
    for (const step of steps) {
      for (const put of step) put(world.home)
      expect(await world.sweep()).toMatchObject({ problems: [], gaps: {} })
    }
    const wanted = [
      '<div> is broken',
      'Look first.',
      'I look.',
      'run_terminal_cmd: completed',
      '{"output":"1 failing"}',
      'run_terminal_cmd: rejected',
      '{"output":"1 failing"}',
      'run_terminal_cmd: cancelled',
      '{"output":"1 failing"}',
      'run_terminal_cmd: loading',
      'Fixed.',
    ]
    expect(told(world).sort()).toEqual(wanted.sort())
    expect(
      world.read(({ memory }) => memory.prepare('SELECT title, turn_count FROM sessions').get()),
    ).toEqual({
      title: 'Fix the page',
      turn_count: 1,
    })
    const states = world.read(({ cache }) =>
      cache.prepare('SELECT count(*) AS count FROM events WHERE state IS NOT NULL GROUP BY state').all(),
    )
    expect(states).toHaveLength(3)
  })
})
