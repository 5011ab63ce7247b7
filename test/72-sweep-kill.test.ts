// A sweep killed at any moment: the next one goes on, and in the end the memory is the one an undisturbed sweep makes.
// Short here; `npm run test:sweep-kill` kills 300 times and more.
import { execFileSync, spawn } from 'node:child_process'
import { performance } from 'node:perf_hooks'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Dump, differences } from './setup/dump.ts'
import { randomFrom } from './setup/growing.ts'
import { addLongSession, mixedHome } from './setup/mixed-home.ts'
import { cliPath, World } from './setup/sweeping.ts'

const KILLS = Number(process.env['RECOLLECT_TEST_KILLS'] ?? 25)
const TIMEOUT = 60_000 + KILLS * 10_000

let home: string
let undisturbed: Dump
let sweepMs: number

beforeAll(async () => {
  home = mixedHome()
  if (KILLS > 25) addLongSession(home)
  const world = new World(home)
  const start = performance.now()
  expect(await run(world, undefined)).toBe('ended')
  sweepMs = performance.now() - start
  undisturbed = world.dump()
  expect(Object.keys(undisturbed.events).length).toBeGreaterThan(10)
})

/** One sweep, ended by SIGKILL after a while. */
function run(world: World, afterMs: number | undefined): Promise<'ended' | 'killed'> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [cliPath, 'sweep'], { env: world.env, stdio: 'ignore' })
    const timer = afterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), afterMs)
    child.on('error', reject)
    child.on('exit', (code, signal) => {
      clearTimeout(timer)
      if (signal === 'SIGKILL') resolve('killed')
      else if (code === 0 || code === 4) resolve('ended')
      else reject(new Error(`exit ${code}`))
    })
  })
}

function expectUndisturbed(world: World, hint: string): void {
  expect(differences(world.dump(), undisturbed), hint).toEqual([])
  expect(world.verify().problems).toEqual([])
}

describe('kill -9', () => {
  it(
    `at ${KILLS} random moments leaves what the next sweep completes`,
    async () => {
      const seed = Number(process.env['RECOLLECT_TEST_SEED'] ?? Date.now() % 1e6)
      const random = randomFrom(seed)
      let kills = 0
      for (let worlds = 0; kills < KILLS; worlds++) {
        const world = new World(home)
        // Some memories are killed many times over before they are whole.
        while ((await run(world, sweepMs * (0.2 + random()))) === 'killed') {
          kills++
          if (random() < 0.2) expect(world.verify().problems, `seed ${seed}`).toEqual([])
        }
        expectUndisturbed(world, `seed ${seed}, memory ${worlds}`)
        world.remove()
      }
    },
    TIMEOUT,
  )

  const hasStrace = (() => {
    try {
      execFileSync('strace', ['-V'], { stdio: 'ignore' })
      return true
    } catch {
      return false
    }
  })()

  // The moments that matter lie between the flushes of the payloads, of memory.db and of cache.db.
  // strace counts each kind of them by itself: payloads are flushed by fdatasync, all else by fsync.
  it.skipIf(!hasStrace).each(['fdatasync', 'fsync'])(
    'at every flush to the disk by %s leaves what the next sweep completes',
    async (name) => {
      let flushes = 0
      for (let isKilled = true; isKilled; ) {
        const world = new World(home)
        flushes += Math.max(1, Math.ceil((flushes * (KILLS > 25 ? 0 : 1)) / 4))
        const inject = `inject=${name}:signal=KILL:when=${flushes}`
        try {
          execFileSync(
            'strace',
            ['-f', '-qq', '-o', '/dev/null', '-e', inject, process.execPath, cliPath, 'sweep'],
            {
              env: { PATH: process.env['PATH'] ?? '', ...world.env },
              stdio: 'ignore',
            },
          )
          isKilled = false
        } catch (error) {
          isKilled =
            (error as { signal?: string }).signal === 'SIGKILL' ||
            (error as { status?: number }).status === 137
          if (!isKilled && (error as { status?: number }).status !== 4) throw error
        }
        expect(await run(world, undefined)).toBe('ended')
        expectUndisturbed(world, `killed at ${name} ${flushes}`)
        world.remove()
      }
      expect(flushes).toBeGreaterThan(3)
    },
    TIMEOUT,
  )
})
