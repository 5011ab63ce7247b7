// Crush, from its source: no session of the program itself is here.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { EventItem, Item } from '../src/adapters/adapter.ts'
import { agent } from '../src/adapters/crush/agent.ts'
import { read } from '../src/adapters/crush/read.ts'
import { connect } from '../src/sqlite/driver.ts'
import { adapterContract } from './contract/adapter.ts'
import { temporary, World } from './setup/sweeping.ts'

const TABLES = `
  CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, message_count INTEGER, prompt_tokens INTEGER,
    completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER);
  CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT, provider TEXT, created_at INTEGER,
    updated_at INTEGER, finished_at INTEGER, is_summary_message INTEGER DEFAULT 0);`

type Fields = Record<string, unknown>
const START = 1_790_000_000
const part = (type: string, data: Fields): Fields => ({ type, data })
const text = (words: string): Fields => part('text', { text: words })
const finish = (reason: string, more: Fields = {}): Fields =>
  part('finish', { reason, time: START + 9, ...more })
const call = (name: string, input: Fields, id: string): Fields =>
  part('tool_call', { id, name, input: JSON.stringify(input), finished: true })
const result = (id: string, content: string, more: Fields = {}): Fields =>
  part('tool_result', { tool_call_id: id, name: 'bash', content, is_error: false, metadata: '', ...more })

const METADATA = JSON.stringify({ start_time: 1000, end_time: 3500 })
const MESSAGES: [role: string, parts: Fields[], more?: Fields][] = [
  ['user', [text('Fix it'), finish('stop')]],
  [
    'assistant',
    [
      part('reasoning', { thinking: 'Look first.' }),
      text('I look.'),
      call('bash', { command: 'npm test' }, 'c1'),
      finish('tool_use'),
    ],
    { model: 'm-1' },
  ],
  ['tool', [result('c1', '1 failing\nExit code 1', { metadata: METADATA })]],
  [
    'assistant',
    [
      call('edit', { file_path: '/p/a.js', old_string: 'a', new_string: 'b' }, 'c2'),
      call('bash', { command: 'rm -r x' }, 'c3'),
    ],
    { model: 'm-1' },
  ],
  [
    'tool',
    [
      result('c2', 'done', { name: 'edit' }),
      result('c3', 'User denied permission', { is_error: true }),
      result('c4', 'Error: user cancelled assistant tool calling', { is_error: true }),
    ],
  ],
  ['assistant', [text('Fixed.'), finish('end_turn')], { model: 'm-1' }],
  ['user', [part('shell_command', { command: 'ls', output: 'a.js', exit_code: 0 })]],
  ['assistant', [text('So far: …'), finish('end_turn')], { model: 'm-1', is_summary_message: 1 }],
  ['assistant', [text('Half'), finish('canceled', { message: 'User canceled request' })], { model: 'm-1' }],
  ['assistant', [finish('error', { message: 'Provider Error', details: 'overloaded' })], { model: 'm-1' }],
  ['assistant', [part('hologram', {}), part('binary', { Path: 'a.png' })], { model: 'm-1' }],
]

/** A project with a database, and the list in which it stands. */
function make(home: string): string {
  const folder = join(home, 'proj', '.crush')
  mkdirSync(folder, { recursive: true })
  const database = connect(join(folder, 'crush.db'))
  database.exec(TABLES)
  const put = (table: string, row: Fields): void => {
    const names = Object.keys(row)
    database
      .prepare(`INSERT INTO ${table} (${names}) VALUES (${names.map(() => '?')})`)
      .run(...(Object.values(row) as string[]))
  }
  const times = { created_at: START, updated_at: START }
  put('sessions', { id: 's-1', title: 'Fix the test', cost: 0.25, prompt_tokens: 900, ...times })
  put('sessions', { id: 'm$$c2', parent_session_id: 's-1', title: 'New Agent Session', cost: 0.1, ...times })
  for (const [at, [role, parts, more]] of MESSAGES.entries())
    put('messages', {
      id: `00000000-0000-4000-8000-0000000000${10 + at}`,
      session_id: 's-1',
      role,
      parts: JSON.stringify(parts),
      created_at: START + at,
      updated_at: START + at,
      ...more,
    })
  put('messages', {
    id: 'x',
    session_id: 'm$$c2',
    role: 'user',
    parts: JSON.stringify([text('count')]),
    ...times,
  })
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  const list = join(home, '.local/share/crush')
  mkdirSync(list, { recursive: true })
  const projects = [{ path: join(home, 'proj'), data_dir: folder }]
  writeFileSync(join(list, 'projects.json'), JSON.stringify({ projects }))
  return join(folder, 'crush.db')
}

describe('crush', () => adapterContract({ adapter: agent, make: (home) => void make(home) }))

const itemsOf = (path: string): Item[] => [...read({ path }, null)]
const eventsOf = (path: string): EventItem[] =>
  itemsOf(path).filter((item): item is EventItem => item.type === 'event' && item.session === 's-1')

describe('a session', () => {
  it('tells what was said and done, and how it ended', () => {
    const events = eventsOf(make(temporary('crush')))
    const told = events.map(({ kind, role, said, state, mark }) =>
      [kind, role, said ?? '', state, mark].filter((one) => one !== undefined),
    )
    expect(told).toEqual([
      ['user_msg', 'user', 'Fix it'],
      ['lifecycle', 'user', ''],
      ['thinking', 'assistant', 'Look first.'],
      ['assistant_msg', 'assistant', 'I look.'],
      ['test_run', 'assistant', ''],
      ['lifecycle', 'assistant', ''],
      ['error', 'tool', '1 failing\nExit code 1', 'failed'],
      ['edit', 'assistant', ''],
      ['tool_call', 'assistant', ''],
      ['tool_result', 'tool', 'done', 'ok'],
      ['human_intervention', 'tool', 'User denied permission', 'refused', 'denied'],
      ['error', 'tool', 'Error: user cancelled assistant tool calling', 'stopped'],
      ['assistant_msg', 'assistant', 'Fixed.'],
      ['completion', 'assistant', '', 'turn-end'],
      ['tool_call', 'user', ''],
      ['tool_result', 'tool', 'a.js', 'ok'],
      ['lifecycle', 'assistant', 'So far: …', 'compaction'],
      ['lifecycle', 'assistant', ''],
      ['assistant_msg', 'assistant', 'Half'],
      ['human_intervention', 'assistant', '', 'interrupt'],
      ['error', 'assistant', ''],
      ['lifecycle', 'assistant', ''],
      ['lifecycle', 'assistant', ''],
    ])
    expect(events[6]).toMatchObject({ exitCode: 1, durationMs: 2500, ts: (START + 2) * 1000 })
    expect(events[7]).toMatchObject({
      files: ['/p/a.js'],
      act: { edits: [{ path: '/p/a.js', before: 'a', after: 'b' }] },
    })
    expect(events[15]).toMatchObject({ callId: events[14]?.callId, exitCode: 0 })
  })

  it('counts its cost once, with its sub-agents’, and no tokens', () => {
    const items = itemsOf(make(temporary('crush')))
    expect(items.filter((item) => item.type === 'usage')).toMatchObject([
      { session: 's-1', reportedCost: 25_000_000, input: 0, output: 0, responses: 0 },
    ])
    expect(items.filter((item) => item.type === 'edge')).toMatchObject([
      { kind: 'subagent', session: 'm$$c2', parent: 's-1', evidence: 'c2' },
    ])
    expect(items.filter((item) => item.type === 'unknown')).toEqual([
      { type: 'unknown', name: 'part hologram' },
    ])
  })

  it('is found through the list of projects, and was where its project is', async () => {
    const world = new World()
    make(world.home)
    expect(await world.sweep()).toMatchObject({ newEventCount: 24, problems: [], gaps: {} })
    const rows = world.read(({ memory }) =>
      memory.prepare('SELECT cwd, model, title FROM sessions WHERE relation = ?').all('main'),
    )
    expect(rows).toEqual([{ cwd: join(world.home, 'proj'), model: 'm-1', title: 'Fix the test' }])
  })
})
