// Which of an agent's files are read first, and in how many sweeps, is chance: every order of the same files ends in the
// same memory as one sweep of all of them. Files come one by one here, whole; test/71-sweep-steps lets them grow.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EVENT_KINDS } from '../src/model.ts'
import { SessionHistory, TranscriptWriter } from '../src/record/index.ts'
import { FLAG } from '../src/store/rows.ts'
import { filesBelow } from './setup/collect.ts'
import { type Dump, differences, isRepetition, loose } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import * as grok from './setup/grok-session.ts'
import { randomFrom } from './setup/growing.ts'
import { IS_LONG } from './setup/long.ts'
import * as rollout from './setup/rollout.ts'
import { temporary, World } from './setup/sweeping.ts'

type Tree = Record<string, string | Uint8Array>

function put(world: World, name: string, content: string | Uint8Array): void {
  const path = join(world.home, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

const LIFECYCLE = EVENT_KINDS.indexOf('lifecycle')

/** What must not depend on the order: all but numbers, and what was told again by a better file. */
function settled(dump: Dump) {
  const events = Object.entries(dump.events).map(([uid, rows]) => [
    uid,
    Object.fromEntries(
      Object.entries(rows)
        .filter(([, row]) => !((row['flags'] as number) & FLAG.repeated))
        .map(([key, row]) => [key, uid.startsWith('grok:') ? loose(row) : { ...row, seq: null }]),
    ),
  ])
  const sessions = dump.sessions.map(({ event_count: _, ...row }) => row)
  const usage = dump.usage.filter((row) => !isRepetition(row))
  return { ...dump, events: Object.fromEntries(events) as Dump['events'], sessions, usage }
}

async function swept(files: Tree, order: readonly string[], sweeps: () => boolean) {
  const world = new World()
  try {
    for (const name of order) {
      put(world, name, files[name] as string)
      if (sweeps()) await world.sweep()
    }
    await world.sweep()
    const dump = world.dump()
    expect((await world.sweep()).counts).toMatchObject({ new: 0, appended: 0, changed: 0, missing: 0 })
    expect(differences(world.dump(), dump)).toEqual([])
    expect(world.verify().problems).toEqual([])
    return settled(dump)
  } finally {
    world.remove()
  }
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  const left = [...list]
  return list.map(() => left.splice(Math.floor(random() * left.length), 1)[0] as T)
}

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length === 0) return [[]]
  return list.flatMap((one, at) => permutations(list.toSpliced(at, 1)).map((rest) => [one, ...rest]))
}

/**
 * One sweep of all, against every file alone in the opposite order (of three, in every order, unless it is done often), and
 * against orders by chance, of which a quarter is tried with every change.
 */
async function expectNoOrder(files: Tree, most: number, ...except: string[]) {
  const count = IS_LONG ? most : Math.floor(most / 4)
  const seed = Number(process.env['RECOLLECT_TEST_SEED'] ?? 5)
  const names = Object.keys(files).sort()
  const compared = ({ sessions, ...rest }: ReturnType<typeof settled>) => ({
    ...rest,
    sessions: sessions.map((row: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(row).filter(([field]) => !except.includes(field))),
    ),
  })
  const wanted = await swept(files, names, () => false)
  const random = randomFrom(seed)
  const alone = names.length <= 3 && (IS_LONG || most > 1) ? permutations(names) : [[...names].reverse()]
  const orders = [...alone, ...Array.from({ length: count }, () => shuffled(names, random))]
  for (const [at, order] of orders.entries()) {
    const found = await swept(files, order, () => at < alone.length || random() < 0.6)
    expect(differences(compared(found), compared(wanted)), `seed ${seed}: ${order.join(' ')}`).toEqual([])
  }
  return wanted
}

function treeOf(directory: string): Tree {
  const names = filesBelow(directory).map((path) => relative(directory, path))
  return Object.fromEntries(
    names.filter((name) => name.startsWith('.')).map((name) => [name, readFileSync(join(directory, name))]),
  )
}

describe('reverted threads', () => {
  const { THREAD, meta, asked, said, jsonl, line } = rollout
  const [FIRST, SECOND] = ['01999999-0001-7000-8000-00000000000a', '01999999-0002-7000-8000-00000000000b']
  const place = (day: string, name: string): string =>
    `.codex/sessions/2026/01/${day}/rollout-2026-01-${day}T03-04-05-${name}.jsonl`
  const numbered = (records: rollout.Json[], from: number): string =>
    jsonl(records.map((one, at) => ({ ...one, ordinal: from + at })))
  const begun = (version: string, rolloutId?: string, end?: number): rollout.Json =>
    meta(THREAD, {
      history_mode: 'paginated',
      cli_version: version,
      git: { branch: `b-${version}` },
      ...(rolloutId ? { history_base: { thread_id: rolloutId, end_ordinal_exclusive: end } } : {}),
    })
  const runs = (model: string) => line('turn_context', { model, cwd: '/w' })
  const files: Tree = {
    [place('02', THREAD)]: numbered(
      [begun('0.160.0'), runs('m1'), asked('a'), said('A'), asked('b'), said('B'), asked('c'), said('C')],
      0,
    ),
    [place('03', `${THREAD}_${FIRST}`)]: numbered(
      [begun('0.161.0', THREAD, 6), runs('m2'), asked('d'), said('D'), asked('e'), said('E')],
      6,
    ),
    [place('04', `${THREAD}_${SECOND}`)]: numbered(
      [begun('0.162.0', FIRST, 10), runs('m3'), asked('f'), said('F')],
      10,
    ),
  }

  test('are the same in every order', async () => {
    const { events, sessions } = await expectNoOrder(files, 6)
    const left = Object.values(events[`codex:${THREAD}`] ?? {})
      .filter((row) => !((row['flags'] as number) & FLAG.superseded) && row['kind'] !== LIFECYCLE)
      .map((row) => row['summary'])
    expect(left.sort()).toEqual(['A', 'B', 'D', 'F', 'a', 'b', 'd', 'f'])
    expect(sessions).toMatchObject([{ model: 'm3', agent_version: '0.162.0', git_branch: 'b-0.162.0' }])
  })

  test('one that was forked and then reverted to before the fork', async () => {
    const ORIGIN = '01999998-0000-7000-8000-00000000000d'
    const before = { history_base: { thread_id: ORIGIN, end_ordinal_exclusive: 5 } }
    const earlier = { history_base: { thread_id: ORIGIN, end_ordinal_exclusive: 3 } }
    const forked = { history_mode: 'paginated', forked_from_id: ORIGIN }
    const { events } = await expectNoOrder(
      {
        [place('01', ORIGIN)]: numbered(
          [meta(ORIGIN, { history_mode: 'paginated' }), asked('a'), said('A'), asked('b'), said('B')],
          0,
        ),
        [place('02', THREAD)]: numbered([meta(THREAD, { ...forked, ...before }), asked('c'), said('C')], 5),
        [place('03', `${THREAD}_${FIRST}`)]: numbered(
          [meta(THREAD, { ...forked, ...earlier }), asked('d'), said('D')],
          3,
        ),
      },
      4,
    )
    const left = (uid: string) =>
      Object.values(events[uid] ?? {})
        .filter((row) => !((row['flags'] as number) & FLAG.superseded) && row['kind'] !== LIFECYCLE)
        .map((row) => row['summary'])
        .sort()
    expect(left(`codex:${THREAD}`)).toEqual(['D', 'd'])
    expect(left(`codex:${ORIGIN}`)).toEqual(['A', 'B', 'a', 'b'])
  })

  test('are the same though the file between two others comes last', async () => {
    const [first, second, third] = Object.keys(files) as [string, string, string]
    const wanted = await swept(files, [first, second, third], () => false)
    const found = await swept(files, [third, first, second], () => true)
    expect(differences(found, wanted)).toEqual([])
  })
})

describe('copies and kin of a Codex thread', () => {
  const { THREAD, meta, asked, said, counted, jsonl, told, line } = rollout
  const CHILD = '01999999-0003-7000-8000-00000000000c'
  const path = (folder: string, id: string): string =>
    `.codex/${folder}/rollout-2026-01-02T03-04-05-${id}.jsonl`
  const own = [
    meta(THREAD),
    line('turn_context', { model: 'm1', turn_id: 't1' }),
    asked('a'),
    said('A'),
    counted([10, 0, 5, 15], [10, 0, 5, 15]),
  ]
  const text = jsonl(own)
  const more = jsonl([...own, told('thread_rolled_back', { num_turns: 1 }), asked('b'), said('B')])
  const day = 'sessions/2026/01/02'

  test('archived, compressed and shorter ones', async () => {
    await expectNoOrder(
      {
        [path(day, THREAD)]: more,
        [path('archived_sessions', THREAD)]: text,
        [`${path(day, THREAD)}.zst`]: rollout.zstdFrame(Buffer.from(more)),
        '.codex/session_index.jsonl': jsonl([
          { id: THREAD, thread_name: 'mine', updated_at: '2026-01-03T00:00:00Z' },
          { id: CHILD, thread_name: 'its fork', updated_at: '2026-01-03T00:00:00Z' },
        ]),
        [path(day, CHILD)]: jsonl([meta(CHILD, { forked_from_id: THREAD }), ...own, asked('c'), said('C')]),
      },
      8,
      // Any of them: the one that was read last.
      'source_path',
    )
  })

  test('flat files and single documents of 2025', async () => {
    const message = (role: string, words: string): rollout.Json => ({
      type: 'message',
      role,
      content: [{ type: 'input_text', text: words }],
    })
    const header = (id: string) => ({ id, timestamp: '2025-05-06T07:08:09.000Z', instructions: null })
    const flat = jsonl([
      header(THREAD),
      { record_type: 'state' },
      message('user', 'a'),
      message('assistant', 'A'),
    ])
    const [flatName, oldName] = [
      `rollout-2025-05-06T07-08-09-${THREAD}.jsonl`,
      'rollout-2025-04-06-0a1b2c3d-0000-4000-8000-000000000001.json',
    ]
    await expectNoOrder(
      {
        [`.codex/sessions/2025/05/06/${flatName}`]: flat,
        [`.codex/archived_sessions/${flatName}`]: flat,
        [`.codex/sessions/${oldName}`]: JSON.stringify({
          session: header('0a1b2c3d-0000-4000-8000-000000000001'),
          items: [message('user', 'b')],
        }),
      },
      4,
      'source_path',
    )
  })
})

test('a session of Grok that was begun in its chat and gone on with in updates', async () => {
  const project = '.grok/sessions/%2Fhome%2Fdev%2Fproj'
  const file = (name: string): string => `${project}/${grok.SESSION}/${name}`
  const { events } = await expectNoOrder(
    {
      [file('chat_history.jsonl')]: grok.jsonl([
        { type: 'system', content: 'You are' },
        { type: 'user', content: '<user_query>old</user_query>' },
        {
          type: 'assistant',
          content: 'x',
          tool_calls: [{ id: 'c1', name: 'bash', arguments: '{"command":"ls"}' }],
        },
        { type: 'tool_result', tool_call_id: 'c1', content: 'exit: 0' },
        { type: 'user', content: '<user_query>new</user_query>', prompt_index: 1 },
        { type: 'assistant', content: 'y' },
      ]),
      [file('updates.jsonl')]: grok.jsonl([
        grok.update(grok.user('new', 1)),
        grok.update(grok.agent('y')),
        grok.update({ sessionUpdate: 'turn_completed', prompt_id: 'p1', stop_reason: 'end_turn' }),
      ]),
      [file('events.jsonl')]: grok.jsonl([
        grok.row('turn_started', -90, { turn_number: 0 }),
        grok.row('loop_started', -89),
        grok.row('tool_started', -88),
        grok.row('tool_completed', -87, { duration_ms: 900, outcome: 'success', tool_call_id: 'c1' }),
        grok.row('turn_ended', -80, { outcome: 'completed' }),
      ]),
      [file('summary.json')]: JSON.stringify({ created_at: '2026-11-06T20:38:20Z', generated_title: 't' }),
      [`${project}/prompt_history.jsonl`]: grok.jsonl([
        { timestamp: '2026-11-06T20:38:30Z', session_id: grok.SESSION, prompt: 'old', is_bash: false },
      ]),
    },
    12,
    // What comes late is numbered late, and a session ends with its last number.
    'outcome',
  )
  const told = Object.values(events[`grok:${grok.SESSION}`] ?? {}).map((row) => row['summary'])
  expect(told.filter((one) => /^(?:old|x|bash: ls|new|y)$/.test(String(one))).sort()).toEqual([
    'bash: ls',
    'new',
    'old',
    'x',
    'y',
  ])
})

test('our own formats', async () => {
  const home = temporary('own')
  const turns = new TranscriptWriter(join(home, '.homeagent'), { flush: 'os' })
  const history = new SessionHistory(join(home, '.ollim-bot'), { flush: 'os' })
  for (let at = 0; at < 6; at++) {
    await turns.append(at % 2 ? 'helper' : 'other', `s${at % 3}`, {
      turnId: `t${at}`,
      role: at % 2 ? 'user' : 'assistant',
      content: `turn ${at}`,
      ts: 1_794_000_000_000 + at,
    })
    await history.log({
      session_id: `s${at % 3}`,
      event: at === 0 ? 'created' : 'compacted',
      parent_session_id: at === 0 ? null : `s${(at - 1) % 3}`,
    })
  }
  await turns.close()
  await history.idle()
  const { sources } = await expectNoOrder(treeOf(home), 3)
  expect(new Set(sources.map((row) => row['flavor']))).toEqual(new Set(['turns', 'lineage']))
})

test('notes on a sub-agent of Grok that are read before, with or after the line about it', async () => {
  const files = treeOf(join(unpackAgent('grok-1.0.5'), 'subagent'))
  const names = Object.keys(files).sort()
  const [notes, others] = [/meta\.json$/, /updates\.jsonl$/].map((last) => [
    ...names.filter((name) => !last.test(name)),
    ...names.filter((name) => last.test(name)),
  ]) as [string[], string[]]
  const wanted = await swept(files, names, () => false)
  for (const order of [notes, others])
    expect(differences(await swept(files, order, () => true), wanted)).toEqual([])
})

/** Scenarios in which several files speak of one session, or of sessions that have something in common. Agents on the kit: 71-sweep-kit. */
const TOGETHER = /fork|subagent|rewind/
describe.each([
  'codex',
  'codex-tui',
  'codex-codemode',
  'grok',
  'grok-tui',
  'grok-1.0.5',
  'claude',
  'claude-2.0',
])('files of %s', (client) => {
  const directory = unpackAgent(client)
  test.each(readdirSync(directory).filter((name) => TOGETHER.test(name)))('%s', async (scenario) => {
    await expectNoOrder(treeOf(join(directory, scenario)), 1)
  })
})
