// Files that grow while they are swept: whatever the steps, the memory ends up the same as after one sweep of the whole.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Dump } from './setup/dump.ts'
import { differences, withoutSeq } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { growingTree, randomFrom } from './setup/growing.ts'
import { World } from './setup/sweeping.ts'

const STEPS = 20

/** Where several files make up a session, the order in which events were first seen may differ. */
export function comparable(dump: Dump): Dump {
  const fileCount = new Map<unknown, number>()
  for (const { session_uid: uid } of dump.sources) fileCount.set(uid, (fileCount.get(uid) ?? 0) + 1)
  const isOne = (uid: string): boolean => (fileCount.get(uid) ?? 0) <= 1
  const entries = Object.entries(dump.events)
  const one = Object.fromEntries(entries.filter(([uid]) => isOne(uid)))
  const several = Object.fromEntries(entries.filter(([uid]) => !isOne(uid)))
  return { ...dump, events: { ...one, ...withoutSeq(several) } }
}

async function sweepAtOnce(home: string): Promise<Dump> {
  const world = new World()
  growingTree(home, world.home, () => 0).grow(true)
  await world.sweep()
  const dump = world.dump()
  world.remove()
  return dump
}

async function sweepInSteps(home: string, seed: number): Promise<Dump> {
  const world = new World()
  const tree = growingTree(home, world.home, randomFrom(seed))
  for (let step = 0; step < STEPS; step++) {
    await world.sweep()
    tree.grow(step === STEPS - 1)
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
      expect(differences(comparable(await sweepInSteps(home, seed)), whole), `seed ${seed}`).toEqual([])
    })
  })
}
