// What Codex copies, takes back, counts again, moves and compresses: one session, each event and token once.
import { expect, test } from 'vitest'
import { codex } from '../src/adapters/codex/index.ts'
import { collect } from './setup/collect.ts'
import {
  asked,
  counted,
  item,
  itemsOf,
  type Json,
  jsonl,
  line,
  meta,
  nameOf,
  newHome,
  read,
  said,
  THREAD,
  texts,
  told,
  writeRollout,
  zstdFrame,
} from './setup/rollout.ts'

const PARENT = THREAD
const CHILD = '01999999-9000-7000-8000-000000000002'
const SEGMENT = '01999999-a000-7000-8000-000000000003'
const OLD_TURN = '01999999-0001-7000-8000-000000000004'
const NEW_TURN = '01999999-9001-7000-8000-000000000005'

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
    events.filter((event) => event.kind === 'user_msg').map((event) => [event.said, event.inherited]),
  ).toEqual([
    ['old', true],
    ['new', undefined],
  ])
  expect(items.filter((one) => one.type === 'edge')).toMatchObject([{ session: CHILD, parent: PARENT }])
})

test('copied lines that kept their own times are copies however long the pauses between them', () => {
  const at = (second: number, record: Json): Json => ({
    ...record,
    timestamp: new Date(Date.parse('2025-09-20T00:00:00Z') + second * 1000).toISOString(),
  })
  const first = [
    at(0, asked('old one')),
    at(5, counted([10, 0, 1, 11], [10, 0, 1, 11])),
    at(90, asked('old two')),
    at(95, counted([30, 0, 3, 33], [20, 0, 2, 22])),
  ]
  const home = newHome()
  writeRollout(home, nameOf(PARENT), jsonl([meta(PARENT), ...first]))
  const own = [meta(CHILD, { forked_from_id: PARENT }), meta(PARENT)]
  const later = [asked('new'), counted([60, 0, 6, 66], [30, 0, 3, 33])]
  writeRollout(home, nameOf(CHILD), jsonl([...own, ...first, ...later]))
  const found = collect(codex, home)
  const events = found.sessions.get(CHILD)?.events ?? []
  expect(events.filter((one) => one.said).map((one) => [one.said, one.inherited])).toEqual([
    ['old one', true],
    ['old two', true],
    ['new', undefined],
  ])
  expect([...found.usage.values()].map((one) => [one.session, one.input])).toEqual([
    [PARENT, 10],
    [PARENT, 20],
    [CHILD, 30],
  ])
})

test('copied counts of a thread that has a record per response are no responses', () => {
  const numbered = (records: Json[]) => records.map((one, ordinal) => ({ ...one, ordinal }))
  const paginated = { history_mode: 'paginated' }
  const count = counted([10, 0, 1, 11], [10, 0, 1, 11])
  const spent = (thread: string, input: number): Json =>
    line('token_usage_record', {
      thread_id: thread,
      response_id: `resp-${thread}`,
      usage: { input_tokens: input, output_tokens: 1, total_tokens: input + 1 },
    })
  const home = newHome()
  writeRollout(
    home,
    nameOf(PARENT),
    jsonl(numbered([meta(PARENT, paginated), asked('a'), spent(PARENT, 10), count])),
  )
  const child = { ...paginated, parent_thread_id: PARENT, subagent_history_start_ordinal: 4 }
  writeRollout(
    home,
    nameOf(CHILD),
    jsonl(
      numbered([
        meta(CHILD, child),
        meta(PARENT, paginated),
        asked('a'),
        count,
        asked('b'),
        spent(CHILD, 20),
        counted([30, 0, 2, 32], [20, 0, 1, 21]),
      ]),
    ),
  )
  const { usage } = collect(codex, home)
  expect([...usage.values()].map((one) => [one.session, one.input])).toEqual([
    [PARENT, 10],
    [CHILD, 20],
  ])
})

test('a fork that holds only its own part begins with the latest count of its parent, which is none of its own', () => {
  const base = { history_mode: 'paginated', forked_from_id: PARENT, history_base: { thread_id: PARENT } }
  const parents = counted([10, 0, 1, 11], [10, 0, 1, 11])
  const own = counted([30, 0, 2, 32], [20, 0, 1, 21])
  const first = read([meta(CHILD, base), asked('a'), parents, said('b'), own, own])
  expect(first.usage.map((one) => [one.session, one.input])).toEqual([[CHILD, 20]])
  // Where nothing is repeated the first count is a response.
  const second = read([meta(CHILD, base), asked('a'), said('b'), own])
  expect(second.usage.map((one) => [one.session, one.input])).toEqual([[CHILD, 20]])
})

test('a thread that several versions go on with counts each response once', () => {
  const spent = (id: string, input: number): Json =>
    line('token_usage_record', {
      thread_id: THREAD,
      response_id: id,
      usage: { input_tokens: input, output_tokens: 1, total_tokens: input + 1 },
    })
  const { usage } = read([
    meta(THREAD),
    said('old'),
    counted([10, 0, 1, 11], [10, 0, 1, 11]),
    said('new'),
    spent('r1', 20),
    counted([30, 0, 2, 32], [20, 0, 1, 21]),
    counted([30, 0, 2, 32], [20, 0, 1, 21]),
    said('old again'),
    counted([60, 0, 3, 63], [30, 0, 1, 31]),
    said('new again, killed before the count'),
    spent('r2', 40),
    spent('r3', 50),
    counted([150, 0, 5, 155], [50, 0, 1, 51]),
  ])
  // One whose event comes after it is told again with it.
  const inputs = new Map(usage.map((one) => [one.id, one.input]))
  expect([...inputs.values()]).toEqual([10, 20, 30, 40, 50])
})

test('totals without a sum of their own are told apart all the same', () => {
  const { usage } = read([
    meta(PARENT),
    ...[10, 30, 60].map((input) =>
      told('token_count', { info: { total_token_usage: { input_tokens: input, output_tokens: 1 } } }),
    ),
  ])
  expect(usage.map((one) => one.input)).toEqual([10, 20, 30])
  expect(new Set(usage.map((one) => one.id)).size).toBe(3)
})

test('what was imported from another agent is a copy; what follows is the thread’s own', () => {
  const { events, usage } = read([
    meta(PARENT),
    told('task_started', { turn_id: 'external-import-turn-1' }),
    asked('imported'),
    said('[external_agent_tool_call: Bash] ls'),
    counted([900, 0, 1, 901], [900, 0, 1, 901]),
    told('task_complete', { turn_id: 'external-import-turn-1' }),
    told('task_started', { turn_id: NEW_TURN }),
    asked('own'),
    counted([910, 0, 2, 912], [10, 0, 1, 11]),
  ])
  expect(events.filter((one) => one.said).map((one) => [one.said, one.inherited])).toEqual([
    ['imported', true],
    ['[external_agent_tool_call: Bash] ls', true],
    ['own', undefined],
  ])
  expect(usage.map((one) => one.input)).toEqual([10])
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
  expect(left?.map((event) => event.said ?? event.kind)).toEqual([
    'lifecycle',
    'a',
    'A',
    'completion',
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
    .filter((one) => one.said)
    .map((one) => [one.said, session.superseded.has(one.key)])
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
