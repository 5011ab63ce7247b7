// A sweep whose power is cut: what it had ended with is there, and from whatever else it left the next one makes the memory
// that an undisturbed sweep makes. Cuts the file system (programs/cut-disk.mjs), so it takes root and a mount namespace of
// its own: `npm run test:sweep-power-cut`. Payloads, cache.db and memory.db are flushed apart; only here is seen whether
// that is done in time.
import { execFileSync } from 'node:child_process'
import { appendFileSync, cpSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CutDisk } from './programs/cut-disk.mjs'
import { filesBelow } from './setup/collect.ts'
import { type Dump, differences } from './setup/dump.ts'
import { randomFrom } from './setup/growing.ts'
import { addLongSession, mixedHome } from './setup/mixed-home.ts'
import { FLUSHES, flushesOf, runUntil, someOf, stopAt, traced } from './setup/stopping.ts'
import { cli, temporary, World } from './setup/sweeping.ts'

const CUTS = Number(process.env['RECOLLECT_TEST_POWER_CUTS'] ?? 0)
const TIMEOUT = 120_000 + CUTS * 60_000

describe.skipIf(CUTS === 0).each(['ext4', 'xfs'] as const)('a power cut, %s', (type) => {
  let disk: CutDisk
  let home: string
  let long: string
  let undisturbed: Dump
  let workMs: number

  beforeAll(async () => {
    disk = new CutDisk(temporary('disk'), type)
    home = mixedHome()
    long = addLongSession(home)
    // On such a disk too: its flushes take their time.
    const world = emptyWorld()
    workMs = (await runUntil(world.env, ['sweep'])).workMs
    undisturbed = dumpOf(world)
    disk.unmount()
  })

  afterAll(() => disk?.remove())

  /** A memory on an empty disk, which is sure to have the key. */
  function emptyWorld(): World {
    disk.make()
    const world = new World(home, disk.path)
    execFileSync('sync', ['-f', disk.path])
    return world
  }

  const sweep = (world: World): Promise<unknown> => runUntil(world.env, ['sweep'])

  /** A sweep; after so much work the power goes, and then the process. True if it came to that. */
  async function sweepUntil(world: World, workMs: number): Promise<boolean> {
    const { isStopped } = await runUntil(world.env, ['sweep'], workMs, (kill) => {
      disk.cut()
      kill()
    })
    return isStopped
  }

  /** Looked at in a copy: this process keeps databases open for a while after it has closed them, and a disk with them. */
  function looking<T>(world: World, look: (copy: World) => T): T {
    const copy = new World(home)
    cpSync(world.memory, copy.memory, { recursive: true })
    const seen = look(copy)
    copy.remove()
    return seen
  }

  const dumpOf = (world: World): Dump => looking(world, (copy) => copy.dump())
  const problemsOf = (world: World): unknown => looking(world, (copy) => copy.verify().problems)

  function expectSame(world: World, wanted: Dump, hint: string): void {
    expect(differences(dumpOf(world), wanted), hint).toEqual([])
    expect(cli(world.env, 'verify'), hint).toMatchObject({ code: 0 })
  }

  it('is one: what no flush has written is gone', () => {
    const world = emptyWorld()
    traced(world.env, ['sweep'], `inject=${FLUSHES.join()}:retval=0`)
    const bytes = (): number => filesBelow(disk.path).reduce((sum, path) => sum + statSync(path).size, 0)
    const before = bytes()
    disk.cut()
    disk.remount()
    expect(bytes()).toBeLessThan(before)
    disk.unmount()
  })

  it(
    'after a sweep leaves all that the sweep has made',
    async () => {
      const lines = readFileSync(long)
      const half = lines.indexOf(10, lines.length / 2) + 1
      try {
        truncateSync(long, half)
        const other = new World(home)
        await sweep(other)
        const world = emptyWorld()
        await sweep(world)
        disk.cut()
        disk.remount()
        expectSame(world, other.dump(), 'first half')
        appendFileSync(long, lines.subarray(half))
        await sweep(world)
        disk.cut()
        disk.remount()
        expectSame(world, undisturbed, 'grown')
        disk.unmount()
      } finally {
        writeFileSync(long, lines)
      }
    },
    TIMEOUT,
  )

  it(
    `at ${CUTS} random moments leaves what the next sweep completes`,
    async () => {
      const seed = Number(process.env['RECOLLECT_TEST_SEED'] ?? Date.now() % 1e6)
      const random = randomFrom(seed)
      for (let cuts = 0; cuts < CUTS; ) {
        const world = emptyWorld()
        // Some memories are cut many times over before they are whole; each time it is let go on for a little longer.
        for (
          let patience = 1;
          await sweepUntil(world, workMs * (0.2 + random()) * patience);
          patience *= 1.1
        ) {
          cuts++
          disk.remount()
          if (random() < 0.2) expect(problemsOf(world), `seed ${seed}`).toEqual([])
        }
        expectSame(world, undisturbed, `seed ${seed}, after ${cuts} cuts`)
        disk.unmount()
      }
    },
    TIMEOUT,
  )

  // A flush that is not done: all that waits for it is lost, and nothing that did not.
  it(
    `at ${CUTS} of its flushes leaves what the next sweep completes`,
    async () => {
      const flushes = flushesOf(emptyWorld().env, ['sweep'])
      disk.unmount()
      let cuts = 0
      for (const flush of someOf(flushes, CUTS)) {
        const hint = `cut at ${flush.name} ${flush.number}`
        const world = emptyWorld()
        if (stopAt(world.env, ['sweep'], flush)) cuts++
        disk.cut()
        disk.remount()
        expect(problemsOf(world), hint).toEqual([])
        await sweep(world)
        expectSame(world, undisturbed, hint)
        disk.unmount()
      }
      console.log(`${type}: cut at ${cuts} of ${flushes.length} flushes`)
      expect(cuts).toBeGreaterThan(Math.min(CUTS, flushes.length) / 2)
    },
    TIMEOUT,
  )
})
