// Files that grow while they are swept: whatever the steps, the memory ends up the same as after one sweep of the whole.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { EVENT_KINDS } from '../src/model.ts'
import { FLAG } from '../src/store/rows.ts'
import type { Dump } from './setup/dump.ts'
import { differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { growingTree, randomFrom } from './setup/growing.ts'
import { World } from './setup/sweeping.ts'

/** Many steps where it matters which session came first, fewer elsewhere. */
const stepsOf = (scenario: string): number => (/fork|rewind|subagent|compact/.test(scenario) ? 20 : 5)
const LIFECYCLE = EVENT_KINDS.indexOf('lifecycle')

/**
 * Where several files make up a session, the order in which events were first seen may differ; where the format has no
 * links, parents follow that order. Then both must only be sound.
 */
function comparable(dump: Dump): Dump {
  const fileCount = new Map<unknown, number>()
  for (const { session_uid: uid } of dump.sources) fileCount.set(uid, (fileCount.get(uid) ?? 0) + 1)
  const events: Dump['events'] = {}
  for (const [uid, rows] of Object.entries(dump.events)) {
    expectSound(rows)
    const isLoose = uid.startsWith('grok:')
    const isOne = (fileCount.get(uid) ?? 0) <= 1
    events[uid] = Object.fromEntries(
      Object.entries(rows).map(([key, row]) => [
        key,
        isLoose ? loose(row) : isOne ? row : { ...row, seq: null },
      ]),
    )
  }
  return { ...dump, events }
}

/** Notes on a turn come from a file of their own: whether they fall before or after a rewind of the same moment is open. */
const loose = (row: Record<string, unknown>) => ({
  ...row,
  seq: null,
  parent: null,
  flags: row['kind'] === LIFECYCLE ? (row['flags'] as number) & ~FLAG.superseded : row['flags'],
})

/** Numbers without a hole, parents that are there and no circle. */
function expectSound(rows: Record<string, Record<string, unknown>>): void {
  const seqs = Object.values(rows).map((row) => row['seq'] as number)
  expect(seqs.sort((a, b) => a - b)).toEqual(seqs.map((_, at) => at + 1))
  for (const start of Object.keys(rows)) {
    const seen = new Set<string>()
    for (let key: string | null = start; key !== null; key = rows[key]?.['parent'] as string | null) {
      expect(seen.has(key), 'a circle of parents').toBe(false)
      expect(rows[key], 'a parent that is not there').toBeDefined()
      seen.add(key)
    }
  }
}

async function sweepAtOnce(home: string): Promise<Dump> {
  const world = new World()
  growingTree(home, world.home, () => 0).grow(1)
  await world.sweep()
  const dump = world.dump()
  world.remove()
  return dump
}

async function sweepInSteps(home: string, steps: number, seed: number): Promise<Dump> {
  const world = new World()
  const tree = growingTree(home, world.home, randomFrom(seed))
  for (let step = 0; step < steps; step++) {
    await world.sweep()
    tree.grow((step + 1) / steps)
  }
  await world.sweep()
  const dump = world.dump()
  expect((await world.sweep()).counts).toMatchObject({ new: 0, appended: 0, changed: 0, missing: 0 })
  expect(differences(world.dump(), dump)).toEqual([])
  expect(world.verify().problems).toEqual([])
  world.remove()
  return dump
}

const CLIENTS = readdirSync(join(import.meta.dirname, 'fixtures', 'agents'))
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => name.slice(0, -'.tgz'.length))

for (const client of CLIENTS) {
  const directory = unpackAgent(client)
  describe(client, () => {
    test.each(readdirSync(directory).sort())('%s', async (scenario) => {
      const home = join(directory, scenario)
      const seed = Number(process.env['RECOLLECT_TEST_SEED'] ?? 7)
      const whole = comparable(await sweepAtOnce(home))
      expect(
        differences(comparable(await sweepInSteps(home, stepsOf(scenario), seed)), whole),
        `seed ${seed}`,
      ).toEqual([])
    })
  })
}
