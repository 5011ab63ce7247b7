// A sweep whose power is cut: what it had ended with is there, and from whatever else it left the next one makes the memory
// that an undisturbed sweep makes. Cuts the file system (programs/cut-disk.mjs), so it takes root and a mount namespace of
// its own: `npm run test:sweep-power-cut`. Payloads, cache.db and memory.db are flushed apart; only here is seen whether
// that is done in time.
import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, cpSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CutDisk } from './programs/cut-disk.mjs'
import { filesBelow } from './setup/collect.ts'
import { type Dump, differences } from './setup/dump.ts'
import { randomFrom } from './setup/growing.ts'
import { addLongSession, mixedHome } from './setup/mixed-home.ts'
import { cli, cliPath, temporary, World } from './setup/sweeping.ts'

const CUTS = Number(process.env['RECOLLECT_TEST_POWER_CUTS'] ?? 0)
const TIMEOUT = 120_000 + CUTS * 60_000
/** Payloads are flushed by the first, databases and directories by the second. strace counts each by itself. */
const FLUSHES = ['fdatasync', 'fsync']

describe.skipIf(CUTS === 0).each(['ext4', 'xfs'] as const)('a power cut, %s', (type) => {
  let disk: CutDisk
  let home: string
  let long: string
  let undisturbed: Dump
  let sweepMs: number

  beforeAll(async () => {
    disk = new CutDisk(temporary('disk'), type)
    home = mixedHome()
    long = addLongSession(home)
    // On such a disk too: its flushes take their time.
    const world = emptyWorld()
    const start = performance.now()
    expect(await sweep(world)).toBe('ended')
    sweepMs = performance.now() - start
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

  /** One sweep; after a while the power goes, and then the process. */
  function sweep(world: World, afterMs?: number): Promise<'ended' | 'cut'> {
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [cliPath, 'sweep'], { env: world.env, stdio: 'ignore' })
      let isCut = false
      const cut = (): void => {
        isCut = true
        disk.cut()
        child.kill('SIGKILL')
      }
      const timer = afterMs === undefined ? undefined : setTimeout(cut, afterMs)
      child.on('error', reject)
      child.on('exit', (code) => {
        clearTimeout(timer)
        if (isCut) resolve('cut')
        else if (code === 0 || code === 4) resolve('ended')
        else reject(new Error(`exit ${code}`))
      })
    })
  }

  /** A sweep under strace, which does something at flushes. True if that killed it. */
  function sweepTraced(world: World, what: string, output = '/dev/null'): boolean {
    const traced = ['-f', '-qq', '-o', output, '-e', what, process.execPath, cliPath, 'sweep']
    try {
      execFileSync('strace', traced, {
        env: { PATH: process.env['PATH'] ?? '', ...world.env },
        stdio: 'ignore',
      })
      return false
    } catch (error) {
      const { signal, status } = error as { signal?: string; status?: number }
      if (signal === 'SIGKILL' || status === 137) return true
      if (status === 4) return false
      throw error
    }
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
    sweepTraced(world, `inject=${FLUSHES.join()}:retval=0`)
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
        expect(await sweep(other)).toBe('ended')
        const world = emptyWorld()
        expect(await sweep(world)).toBe('ended')
        disk.cut()
        disk.remount()
        expectSame(world, other.dump(), 'first half')
        appendFileSync(long, lines.subarray(half))
        expect(await sweep(world)).toBe('ended')
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
        // Some memories are cut many times over before they are whole.
        while ((await sweep(world, sweepMs * (0.2 + random()))) === 'cut') {
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

  /** All flushes of a sweep: which call, and the how manieth of its kind. */
  function flushesOfSweep(): [string, number][] {
    const trace = join(temporary('trace'), 'flushes')
    sweepTraced(emptyWorld(), `trace=${FLUSHES.join()}`, trace)
    disk.unmount()
    const calls = readFileSync(trace, 'utf8').match(/f(?:data)?sync(?=\()/g) ?? []
    return FLUSHES.flatMap((name) =>
      calls.filter((call) => call === name).map((_, at): [string, number] => [name, at + 1]),
    )
  }

  // Killed on entering the flush, which is then not done: all that waits for it is lost, and nothing that did not.
  it(
    `at ${CUTS} of its flushes leaves what the next sweep completes`,
    async () => {
      const flushes = flushesOfSweep()
      const step = Math.max(1, flushes.length / CUTS)
      let cuts = 0
      // Others each time.
      for (let at = Math.random() * step; at < flushes.length; at += step) {
        const [name, number] = flushes[Math.floor(at)] as [string, number]
        const hint = `cut at ${name} ${number}`
        const world = emptyWorld()
        if (sweepTraced(world, `inject=${name}:signal=KILL:when=${number}`)) cuts++
        disk.cut()
        disk.remount()
        expect(problemsOf(world), hint).toEqual([])
        expect(await sweep(world)).toBe('ended')
        expectSame(world, undisturbed, hint)
        disk.unmount()
      }
      console.log(`${type}: cut at ${cuts} of ${flushes.length} flushes`)
      expect(cuts).toBeGreaterThan(Math.min(CUTS, flushes.length) / 2)
    },
    TIMEOUT,
  )
})
