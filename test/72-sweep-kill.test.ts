// A sweep killed at any moment: the next one goes on, and in the end the memory is the one an undisturbed sweep makes.
// Short here; `npm run test:sweep-kill` kills 300 times and more.
import { beforeAll, describe, expect, it } from 'vitest'
import { type Dump, differences } from './setup/dump.ts'
import { randomFrom } from './setup/growing.ts'
import { amountOf, seedOf } from './setup/long.ts'
import { addLongSession, mixedHome } from './setup/mixed-home.ts'
import { FLUSHES, hasStrace, runUntil, stopAt } from './setup/stopping.ts'
import { World } from './setup/sweeping.ts'

const KILLS = amountOf('KILLS', 5, 320)
const IS_MANY = KILLS > 25

let home: string
let undisturbed: Dump
let workMs: number

beforeAll(async () => {
  home = mixedHome()
  if (IS_MANY) addLongSession(home)
  const world = new World(home)
  workMs = (await runUntil(world.env, ['sweep'])).workMs
  undisturbed = world.dump()
  expect(Object.keys(undisturbed.events).length).toBeGreaterThan(10)
})

function expectUndisturbed(world: World, hint: string): void {
  expect(differences(world.dump(), undisturbed), hint).toEqual([])
  expect(world.verify().problems).toEqual([])
}

describe('kill -9', () => {
  it(`at ${KILLS} random moments leaves what the next sweep completes`, async () => {
    const seed = seedOf(72)
    const random = randomFrom(seed)
    let kills = 0
    for (let worlds = 0; kills < KILLS; worlds++) {
      const world = new World(home)
      // Some memories are killed many times over before they are whole; each time it is let go on for a little longer.
      for (let patience = 1; ; patience *= 1.1) {
        const { isStopped } = await runUntil(world.env, ['sweep'], workMs * (0.2 + random()) * patience)
        if (!isStopped) break
        kills++
        if (random() < 0.2) expect(world.verify().problems, `seed ${seed}`).toEqual([])
      }
      expectUndisturbed(world, `seed ${seed}, memory ${worlds}`)
      world.remove()
    }
  })

  // The moments that matter lie between the flushes of the payloads, of memory.db and of cache.db.
  it.skipIf(!hasStrace).each(FLUSHES)(
    'at every flush to the disk by %s leaves what the next sweep completes',
    async (name) => {
      let flushes = 0
      for (let isKilled = true; isKilled; ) {
        const world = new World(home)
        // The first ones one by one; then ever fewer, unless there is time for all of them.
        flushes += IS_MANY ? 1 : Math.max(1, flushes)
        isKilled = stopAt(world.env, ['sweep'], { name, number: flushes })
        await runUntil(world.env, ['sweep'])
        expectUndisturbed(world, `killed at ${name} ${flushes}`)
        world.remove()
      }
      expect(flushes).toBeGreaterThan(3)
    },
  )
})
