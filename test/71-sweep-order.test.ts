// Which of an agent's files are read first, and in how many sweeps, is chance: every order of the same files ends in the
// same memory as one sweep of all of them. Files come one by one here, whole; test/71-sweep-steps lets them grow.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EVENT_KINDS } from '../src/model.ts'
import { FLAG } from '../src/store/rows.ts'
import { filesBelow } from './setup/collect.ts'
import { type Dump, differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { randomFrom } from './setup/growing.ts'
import * as rollout from './setup/rollout.ts'
import { World } from './setup/sweeping.ts'

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
  return { ...dump, events: Object.fromEntries(events) as Dump['events'], sessions }
}

/** Rows of a second file stand among those of the first by their time: which of them is before which of one moment is open. */
const loose = (row: Record<string, unknown>) => ({
  ...row,
  seq: null,
  parent: null,
  flags: row['kind'] === LIFECYCLE ? (row['flags'] as number) & ~FLAG.superseded : row['flags'],
})

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

/** One sweep of all, against every file alone in the opposite order, and against orders by chance. */
async function expectNoOrder(
  files: Tree,
  count: number,
  seed = Number(process.env['RECOLLECT_TEST_SEED'] ?? 5),
) {
  const names = Object.keys(files).sort()
  const wanted = await swept(files, names, () => false)
  const random = randomFrom(seed)
  const orders = [[...names].reverse(), ...Array.from({ length: count }, () => shuffled(names, random))]
  for (const [at, order] of orders.entries()) {
    const found = await swept(files, order, () => at === 0 || random() < 0.6)
    expect(differences(found, wanted), `seed ${seed}: ${order.join(' ')}`).toEqual([])
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
    const { events, sessions } = await expectNoOrder(files, 12)
    const left = Object.values(events[`codex:${THREAD}`] ?? {})
      .filter((row) => !((row['flags'] as number) & FLAG.superseded) && row['kind'] !== LIFECYCLE)
      .map((row) => row['summary'])
    expect(left.sort()).toEqual(['A', 'B', 'D', 'F', 'a', 'b', 'd', 'f'])
    expect(sessions).toMatchObject([{ model: 'm3', agent_version: '0.162.0', git_branch: 'b-0.162.0' }])
  })
})

/** Scenarios in which several files speak of one session, or of sessions that have something in common. */
const TOGETHER = /fork|subagent|rewind/

describe.each(['codex', 'codex-tui', 'codex-codemode', 'claude', 'claude-2.0'])('files of %s', (client) => {
  const directory = unpackAgent(client)
  test.each(readdirSync(directory).filter((name) => TOGETHER.test(name)))('%s', async (scenario) => {
    await expectNoOrder(treeOf(join(directory, scenario)), 1)
  })
})
