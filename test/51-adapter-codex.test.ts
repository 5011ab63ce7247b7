// The traps of Codex rollouts, one by one: what is said twice, copied, taken back, compressed, or written by old clients.
import { expect, test } from 'vitest'
import type { UsageItem } from '../src/adapters/adapter.ts'
import { codex } from '../src/adapters/codex/index.ts'
import { readOutput } from '../src/adapters/codex/outputs.ts'
import { collect } from './setup/collect.ts'
import {
  clock,
  eventsOf,
  itemsOf,
  type Json,
  jsonl,
  newHome,
  writeRollout,
  zstdFrame,
} from './setup/rollout.ts'

const PARENT = '01999999-0000-7000-8000-000000000001'
const CHILD = '01999999-9000-7000-8000-000000000002'
const SEGMENT = '01999999-a000-7000-8000-000000000003'
const OLD_TURN = '01999999-0001-7000-8000-000000000004'
const NEW_TURN = '01999999-9001-7000-8000-000000000005'

const nameOf = (thread: string): string => `2026/01/02/rollout-2026-01-02T03-04-05-${thread}.jsonl`

const now = clock('2026-01-02T03:04:05Z', 10)
const line = (type: string, payload: Json, more: Json = {}): Json => ({
  timestamp: now(),
  type,
  payload,
  ...more,
})
const meta = (id: string, more: Json = {}): Json =>
  line('session_meta', { id, cwd: '/w', cli_version: '0.90.0', ...more })
const item = (payload: Json): Json => line('response_item', payload)
const said = (text: string): Json =>
  item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] })
const asked = (text: string): Json =>
  item({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
const told = (type: string, more: Json): Json => line('event_msg', { type, ...more })
const counted = (total: number[], last: number[]): Json => {
  const usage = ([input, cached, output, all]: number[]): Json => ({
    input_tokens: input,
    cached_input_tokens: cached,
    output_tokens: output,
    reasoning_output_tokens: 0,
    total_tokens: all,
  })
  return told('token_count', { info: { total_token_usage: usage(total), last_token_usage: usage(last) } })
}

function read(records: Json[], name = nameOf(PARENT)) {
  const items = itemsOf(writeRollout(newHome(), name, jsonl(records)))
  const usage = items.filter((one): one is UsageItem => one.type === 'usage')
  return { items, events: eventsOf(items), usage }
}

const texts = (events: { kind: string; text?: string }[], kind: string) =>
  events.filter((event) => event.kind === kind).map((event) => event.text)

test('claims rollouts below sessions and archived_sessions only', () => {
  const home = '/h/.codex'
  expect(codex.roots({ HOME: '/h' })).toEqual([`${home}/sessions`, `${home}/archived_sessions`])
  expect(codex.roots({ HOME: '/h', CODEX_HOME: '/c' })).toEqual(['/c/sessions', '/c/archived_sessions'])
  expect(codex.roots({})).toEqual([])
  for (const name of [
    'sessions/2026/01/02/rollout-x.jsonl',
    'archived_sessions/rollout-x.jsonl.zst',
    'sessions/rollout-x.json',
  ])
    expect(codex.claim(`${home}/${name}`)).toEqual({ flavor: 'codex', path: `${home}/${name}` })
  for (const name of [
    'auth.json',
    'config.toml',
    'history.jsonl',
    'state_5.sqlite',
    'sessions/notes.jsonl',
    'rollout-x.jsonl',
  ])
    expect(codex.claim(`${home}/${name}`)).toBeNull()
})

test('what is told twice becomes one event, whichever comes first', () => {
  const { events } = read([
    meta(PARENT),
    asked('Do it.'),
    told('user_message', { message: 'Do it.' }),
    told('agent_message', { message: 'Yes.' }),
    said('Yes.'),
    said('Yes.'),
    told('agent_message', { message: 'Yes.' }),
    told('agent_reasoning', { text: 'one' }),
    told('agent_reasoning', { text: 'two' }),
    item({
      type: 'reasoning',
      summary: [
        { type: 'summary_text', text: 'one' },
        { type: 'summary_text', text: 'two' },
      ],
    }),
    told('agent_message', { message: 'Only shown: killed before the item was written.' }),
  ])
  expect(texts(events, 'user_msg')).toEqual(['Do it.'])
  expect(texts(events, 'assistant_msg')).toEqual([
    'Yes.',
    'Yes.',
    'Only shown: killed before the item was written.',
  ])
  expect(texts(events, 'thinking')).toEqual(['one', 'two'])
})

test('a text lost in a kill does not swallow an equal one of a later turn', () => {
  const { events } = read([
    meta(PARENT),
    asked('Go.'),
    told('agent_message', { message: 'Working.' }),
    asked('Go on.'),
    said('Working.'),
  ])
  expect(texts(events, 'assistant_msg')).toEqual(['Working.', 'Working.'])
})

test('context fragments are not prompts', () => {
  const fragments = [
    '<environment_context>\n  <cwd>/w</cwd>\n</environment_context>',
    '<user_instructions>x</user_instructions>',
    '# AGENTS.md instructions for /w\n',
    '<turn_aborted>\nx</turn_aborted>',
    '<user_shell_command>\n</user_shell_command>',
    '<subagent_notification>{}</subagent_notification>',
    '<skill>\n</skill>',
    '<hook_prompt id="1">x</hook_prompt>',
  ]
  const { events } = read([meta(PARENT), ...fragments.map(asked), asked('<div> is what I mean')])
  expect(texts(events, 'user_msg')).toEqual(['<div> is what I mean'])
  expect(events.filter((event) => event.kind === 'lifecycle' && event.text !== undefined)).toEqual([])
})

test('tokens: repeats, new beginnings, overflow and estimates', () => {
  const { usage } = read([
    meta(PARENT),
    line('turn_context', { model: 'm' }),
    counted([100, 40, 10, 110], [100, 40, 10, 110]),
    counted([100, 40, 10, 110], [100, 40, 10, 110]),
    counted([300, 90, 30, 330], [200, 50, 20, 220]),
    counted([300, 90, 30, 330], [0, 0, 0, 5000]),
    counted([0, 0, 0, 272_000], [0, 0, 0, 272_000]),
    counted([50, 0, 5, 272_055], [50, 0, 5, 55]),
    told('token_count', { info: null }),
    counted([110, 0, 1, 111], [110, 0, 1, 111]),
    counted([70, 0, 7, 77], [70, 0, 7, 77]),
  ])
  expect(usage.map((one) => [one.input, one.cacheRead, one.output, one.model])).toEqual([
    [60, 40, 10, 'm'],
    [150, 50, 20, 'm'],
    [50, 0, 5, 'm'],
    [110, 0, 1, 'm'],
    [70, 0, 7, 'm'],
  ])
  expect(new Set(usage.map((one) => one.id)).size).toBe(usage.length)
})

test('a fork that copies its parent marks the copies and counts nothing twice', () => {
  const body = (turn: string): Json[] => [
    told('task_started', { turn_id: turn }),
    line('turn_context', { turn_id: turn, model: 'm' }),
    asked(`Prompt of ${turn}`),
    told('user_message', { message: `Prompt of ${turn}` }),
    item({ type: 'function_call', name: 'shell', call_id: `c-${turn}`, arguments: '{"command":["ls"]}' }),
    item({
      type: 'function_call_output',
      call_id: `c-${turn}`,
      output: 'Exit code: 0\nWall time: 1 seconds\nOutput:\nx',
    }),
    said(`Answer of ${turn}`),
  ]
  const first = [...body(OLD_TURN), counted([10, 0, 1, 11], [10, 0, 1, 11])]
  const home = newHome()
  writeRollout(home, nameOf(PARENT), jsonl([meta(PARENT), ...first]))
  const stamp = '2026-01-03T00:00:00.000Z'
  const copies = [meta(CHILD, { forked_from_id: PARENT }), meta(PARENT), ...first].map((one) => ({
    ...one,
    timestamp: stamp,
  }))
  const own = [...body(NEW_TURN), counted([30, 0, 3, 33], [20, 0, 2, 22])].map((one) => ({
    ...one,
    timestamp: '2026-01-03T00:00:00.020Z',
  }))
  writeRollout(home, nameOf(CHILD), jsonl([...copies, ...own]))

  const found = collect(codex, home)
  const [parent, child] = [found.sessions.get(PARENT), found.sessions.get(CHILD)]
  const copied = child?.events.filter((event) => event.inherited) ?? []
  expect(copied.map((event) => [event.originKey, event.payload])).toEqual(
    parent?.events.map((event) => [event.originKey, event.payload]),
  )
  expect(texts(child?.events.filter((event) => !event.inherited) ?? [], 'user_msg')).toEqual([
    `Prompt of ${NEW_TURN}`,
  ])
  expect([...found.usage.values()].map((one) => [one.session, one.input])).toEqual([
    [PARENT, 10],
    [CHILD, 20],
  ])
  expect(found.edges).toMatchObject([{ kind: 'interactive_fork', session: CHILD, parent: PARENT }])
  expect(child?.facts.relation).toBe('fork')
})

test('copied lines end at a pause where turns have no ids', () => {
  const stamped = (at: string, records: Json[]) => records.map((one) => ({ ...one, timestamp: at }))
  const { events, items } = read(
    [
      ...stamped('2026-01-03T00:00:00.000Z', [meta(CHILD), meta(PARENT), asked('old')]),
      ...stamped('2026-01-03T00:00:09.000Z', [asked('new')]),
    ],
    nameOf(CHILD),
  )
  expect(
    events.filter((event) => event.kind === 'user_msg').map((event) => [event.text, event.inherited]),
  ).toEqual([
    ['old', true],
    ['new', undefined],
  ])
  expect(items.filter((one) => one.type === 'edge')).toMatchObject([{ session: CHILD, parent: PARENT }])
})

test('a repeated session_meta of the same thread is no fork', () => {
  const { events, items } = read([meta(PARENT), meta(PARENT), asked('x'), meta(PARENT)])
  expect(events.some((event) => event.inherited)).toBe(false)
  expect(items.filter((one) => one.type === 'edge')).toEqual([])
})

test('a rollback supersedes the last turns, and not itself', () => {
  const home = newHome()
  writeRollout(
    home,
    nameOf(PARENT),
    jsonl([
      meta(PARENT),
      asked('a'),
      said('A'),
      asked('b'),
      said('B'),
      asked('c'),
      said('C'),
      told('thread_rolled_back', { num_turns: 2 }),
      asked('d'),
    ]),
  )
  const session = collect(codex, home).sessions.get(PARENT)
  const left = session?.events.filter((event) => !session.superseded.has(event.key))
  expect(left?.map((event) => event.text ?? event.kind)).toEqual([
    'lifecycle',
    'a',
    'A',
    'human_intervention',
    'd',
  ])
})

test('a reverted thread is one session; what the new file does not build on is superseded', () => {
  const home = newHome()
  const numbered = (records: Json[], from: number) =>
    records.map((one, at) => ({ ...one, ordinal: from + at }))
  const paginated = { history_mode: 'paginated' }
  writeRollout(
    home,
    nameOf(PARENT),
    jsonl(numbered([meta(PARENT, paginated), asked('a'), said('A'), asked('b'), said('B')], 0)),
  )
  const base = { history_base: { thread_id: PARENT, end_ordinal_exclusive: 3, end_byte_offset: 1 } }
  const second = `2026/01/03/rollout-2026-01-03T03-04-05-${PARENT}_${SEGMENT}.jsonl`
  writeRollout(
    home,
    second,
    jsonl(numbered([meta(PARENT, { ...paginated, ...base }), asked('c'), said('C')], 3)),
  )

  const found = collect(codex, home)
  expect([...found.sessions.keys()]).toEqual([PARENT])
  const session = found.sessions.get(PARENT)
  const state = session?.events
    .filter((one) => one.text)
    .map((one) => [one.text, session.superseded.has(one.key)])
  expect(state).toEqual([
    ['a', false],
    ['A', false],
    ['b', true],
    ['B', true],
    ['c', false],
    ['C', false],
  ])
  expect(found.edges).toEqual([])
})

test('archiving and compressing change no key; a compressed file cut short stays pending', () => {
  const text = jsonl([meta(PARENT), asked('x'.repeat(150_000)), said('A')])
  const home = newHome()
  const plain = itemsOf(writeRollout(home, nameOf(PARENT), text))
  const archived = itemsOf(
    writeRollout(home, `rollout-2026-01-02T03-04-05-${PARENT}.jsonl`, text, 'archived_sessions'),
  )
  const frame = zstdFrame(Buffer.from(text))
  const folded = itemsOf(writeRollout(home, `${nameOf(PARENT)}.zst`, frame))
  expect(archived).toEqual(plain)
  expect(folded).toEqual(plain)
  const cut = itemsOf(writeRollout(home, `${nameOf(CHILD)}.zst`, frame.subarray(0, frame.length - 60)))
  expect(cut.at(-1)).toMatchObject({ type: 'gap', reason: 'torn', pending: true })
  const rubbish = itemsOf(
    writeRollout(home, `${nameOf(SEGMENT)}.zst`, Buffer.from('no zstd at all, just text')),
  )
  expect(rubbish).toMatchObject([{ type: 'gap', pending: true }])
})

test('exit status in every form it was written', () => {
  const cases: [unknown, Json][] = [
    [
      '{"output":"x\\n","metadata":{"exit_code":2,"duration_seconds":0.5}}',
      { exitCode: 2, durationMs: 500, failed: true, text: 'x\n' },
    ],
    [
      'Exit code: 0\nWall time: 1.5 seconds\nOutput:\nProcess exited with code 9',
      { exitCode: 0, durationMs: 1500, failed: false, body: 'Process exited with code 9' },
    ],
    [
      'Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 1\nOriginal token count: 3\nOutput:\nno',
      { exitCode: 1, failed: true, body: 'no' },
    ],
    [
      'Chunk ID: ab\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n',
      { failed: false, body: '' },
    ],
    ['failed in sandbox MacosSeatbelt with exit code 3: x', { exitCode: 3, failed: true }],
    ['apply_patch verification failed: x', { failed: true }],
    ['aborted by user after 2.0s', { stopped: true }],
    ['exec command rejected by user', { stopped: true }],
    [
      [
        { type: 'input_text', text: 'Script completed\nWall time 0.2 seconds\nOutput:\n' },
        { type: 'input_text', text: 'ok' },
      ],
      { failed: false, body: '\nok' },
    ],
    [
      { content: 'x', success: false },
      { failed: true, text: 'x' },
    ],
    ['plain words', { failed: false, stopped: false, text: 'plain words' }],
    [undefined, { failed: false, text: '' }],
  ]
  for (const [output, expected] of cases) expect(readOutput(output)).toMatchObject(expected)
})

test('code mode: commands and edits are calls of their own; direct mode: the end enriches the result', () => {
  const completed = (one: Json) =>
    told('item_completed', { item: one, started_at_ms: 1000, completed_at_ms: 1250 })
  const { events } = read([
    meta(PARENT),
    item({ type: 'custom_tool_call', name: 'exec', call_id: 'c1', input: 'await tools.exec_command({})' }),
    completed({
      type: 'CommandExecution',
      id: 'exec-1',
      command: ['/bin/bash', '-lc', 'npm test'],
      status: 'failed',
      aggregated_output: 'bad',
      exit_code: 1,
    }),
    completed({
      type: 'FileChange',
      id: 'exec-2',
      changes: { '/w/a.js': { type: 'update', unified_diff: '-a\n+b' } },
      status: 'completed',
    }),
    item({ type: 'custom_tool_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'done' }] }),
    item({ type: 'function_call', name: 'exec_command', call_id: 'c2', arguments: '{"cmd":"sleep 9 &"}' }),
    item({
      type: 'function_call_output',
      call_id: 'c2',
      output: 'Chunk ID: x\nProcess running with session ID 1\nOutput:\n',
    }),
    completed({
      type: 'CommandExecution',
      id: 'c2',
      command: ['sleep'],
      status: 'completed',
      aggregated_output: 'late',
      exit_code: 0,
    }),
    item({ type: 'function_call', name: 'exec_command', call_id: 'c3', arguments: '{"cmd":"true"}' }),
    completed({ type: 'CommandExecution', id: 'c3', command: ['true'], status: 'completed', exit_code: 0 }),
    item({ type: 'function_call_output', call_id: 'c3', output: 'ok' }),
  ])
  const shown = events
    .slice(1)
    .map((event) => [event.kind, event.tool, event.callId, event.exitCode, event.durationMs])
  expect(shown).toEqual([
    ['tool_call', 'exec', 'c1', undefined, undefined],
    ['test_run', 'exec_command', 'exec-1', undefined, undefined],
    ['error', 'exec_command', 'exec-1', 1, 250],
    ['edit', 'apply_patch', 'exec-2', undefined, undefined],
    ['tool_result', 'apply_patch', 'exec-2', undefined, 250],
    ['tool_result', 'exec', 'c1', undefined, 30],
    ['tool_call', 'exec_command', 'c2', undefined, undefined],
    ['tool_result', 'exec_command', 'c2', undefined, 10],
    ['tool_result', 'exec_command', 'c2', 0, 250],
    ['tool_call', 'exec_command', 'c3', undefined, undefined],
    ['lifecycle', undefined, undefined, undefined, undefined],
    ['tool_result', 'exec_command', 'c3', 0, 250],
  ])
  expect(events.find((event) => event.callId === 'exec-2')?.files).toEqual(['/w/a.js'])
})

test('flat files and single-JSON files of 2025', () => {
  const flat = [
    {
      id: PARENT,
      timestamp: '2025-08-01T00:00:00.000Z',
      instructions: null,
      git: { branch: 'main', repository_url: 'git@x:y.git' },
    },
    { record_type: 'state' },
    {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: '<environment_context>\n  <cwd>/old</cwd>' }],
    },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi.' }] },
    {
      type: 'function_call',
      name: 'shell',
      arguments: '{"command":["bash","-lc","pytest -q"]}',
      call_id: 'c',
    },
    { type: 'function_call_output', call_id: 'c', output: '{"output":"E","metadata":{"exit_code":1}}' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'No.' }] },
  ]
  const chat = {
    session: { id: CHILD, timestamp: '2025-05-01T00:00:00.000Z', instructions: 'x' },
    items: [
      { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
      {
        role: 'assistant',
        content: '',
        reasoning: 'hm',
        tool_calls: [
          { id: 't', type: 'function', function: { name: 'shell', arguments: '{"command":["ls"]}' } },
        ],
      },
      { role: 'tool', tool_call_id: 't', content: '{"output":"a","metadata":{"exit_code":0}}' },
      { role: 'assistant', content: 'Done.' },
    ],
  }
  const home = newHome()
  writeRollout(home, nameOf(PARENT), jsonl(flat))
  const document = writeRollout(home, `rollout-2025-05-01-${CHILD}.json`, JSON.stringify(chat, null, 2))
  const found = collect(codex, home)
  const kindsOf = (id: string) => found.sessions.get(id)?.events.map((event) => event.kind)
  expect(kindsOf(PARENT)).toEqual([
    'lifecycle',
    'lifecycle',
    'user_msg',
    'test_run',
    'error',
    'assistant_msg',
  ])
  expect(found.sessions.get(PARENT)?.facts).toMatchObject({
    cwd: '/old',
    gitBranch: 'main',
    gitRemote: 'git@x:y.git',
  })
  expect(kindsOf(CHILD)).toEqual([
    'lifecycle',
    'user_msg',
    'thinking',
    'tool_call',
    'tool_result',
    'assistant_msg',
  ])
  expect([...found.gaps, ...found.unknown]).toEqual([])
  const position = found.positions.get(document) ?? null
  expect([...codex.read({ flavor: 'codex', path: document }, position)]).toEqual([])
  writeRollout(home, `rollout-2025-05-01-${CHILD}.json`, JSON.stringify(chat).slice(0, -9))
  expect(itemsOf(document)).toMatchObject([{ type: 'gap', reason: 'torn', pending: true }])
})

test('errors, interrupts and names', () => {
  const { events, items } = read([
    meta(PARENT),
    told('turn_aborted', { reason: 'interrupted' }),
    told('turn_aborted', { reason: 'budget_limited' }),
    told('task_complete', { turn_id: 't', error: { message: 'refused' } }),
    told('task_complete', { turn_id: 'u', last_agent_message: 'x' }),
    told('stream_error', { message: 'stream lost; retrying 1/5' }),
    told('error', { message: 'boom' }),
    told('thread_name_updated', { thread_name: 'My name' }),
    told('from_the_future', { x: 1 }),
    line('also_new', {}),
  ])
  expect(events.slice(1).map((event) => [event.kind, event.text])).toEqual([
    ['human_intervention', undefined],
    ['lifecycle', undefined],
    ['error', 'refused'],
    ['completion', undefined],
    ['retry', 'stream lost; retrying 1/5'],
    ['error', 'boom'],
    ['lifecycle', undefined],
    ['lifecycle', undefined],
    ['lifecycle', undefined],
  ])
  expect(items.filter((one) => one.type === 'unknown')).toEqual([
    { type: 'unknown', name: 'event_msg/from_the_future' },
    { type: 'unknown', name: 'also_new' },
  ])
  expect(items).toContainEqual({ type: 'session', session: PARENT, title: 'My name', titleByPerson: true })
})
