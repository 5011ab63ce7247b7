// Very many small files: they are planned and read in slices, with the same result, and memory does not grow with them.
// `npm run bench:many -- --files 1000000` sweeps as many as it is told.
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { ADAPTERS } from '../src/adapters/index.ts'
import { Config } from '../src/config.ts'
import { candidates } from '../src/retention/candidates.ts'
import { policyOf } from '../src/retention/policy.ts'
import type { HeldSession } from '../src/retention/sessions.ts'
import type { CursorMark } from '../src/store/batch.ts'
import { IdSet } from '../src/store/id-set.ts'
import { openStore } from '../src/store/sqlite.ts'
import { EvictedFilter } from '../src/sweep/evicted-filter.ts'
import { plans } from '../src/sweep/plan.ts'
import { addSession, newReport } from '../src/sweep/report.ts'
import { differences } from './setup/dump.ts'
import fc from './setup/properties.ts'
import { World } from './setup/sweeping.ts'

const EVERYWHERE = { isFull: true, seen: [], named: [] }
const idOf = (at: number): string => `${at.toString(16).padStart(8, '0')}-4444-4444-8444-444444444444`

function homeOf(count: number): World {
  const world = new World()
  const directory = join(world.home, '.claude', 'projects', '-w')
  mkdirSync(directory, { recursive: true })
  for (let at = 0; at < count; at++) writeFileSync(pathOf(world, at), lineOf(at))
  return world
}

const pathOf = (world: World, at: number): string =>
  join(world.home, '.claude', 'projects', '-w', `${idOf(at)}.jsonl`)

const lineOf = (at: number): string =>
  `${JSON.stringify({
    type: 'user',
    uuid: `u${at}`,
    parentUuid: null,
    sessionId: idOf(at),
    timestamp: '2026-11-01T00:00:00.000Z',
    message: { role: 'user', content: `hello ${at}` },
  })}\n`

it('slices give what one sweep gives; what moved, is gone or came back is seen across them', async () => {
  const world = homeOf(50)
  const first = await world.sweep({ slice: 7 })
  expect([first.counts.new, first.sourceCount, first.sessions.size]).toEqual([50, 50, 50])
  const whole = new World(world.home)
  await whole.sweep()
  expect(differences(world.dump().events, whole.dump().events)).toEqual([])
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ new: 0, unchanged: 50, missing: 0 })
  const kept = readFileSync(pathOf(world, 3))
  rmSync(pathOf(world, 3))
  rmSync(pathOf(world, 40))
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ unchanged: 48, missing: 2 })
  writeFileSync(pathOf(world, 3), kept)
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ unchanged: 48, changed: 1, missing: 0 })
  const elsewhere = join(world.home, '.claude', 'projects', '-v')
  mkdirSync(elsewhere)
  renameSync(pathOf(world, 45), join(elsewhere, `${idOf(45)}.jsonl`))
  expect((await world.sweep({ slice: 7 })).counts).toMatchObject({ moved: 1, new: 0, missing: 0 })
  expect(world.verify().problems).toEqual([])
})

it('plans 5,000 sources a slice at a time', () => {
  const world = homeOf(5000)
  for (let at = 0; at < 5000; at++) utimesSync(pathOf(world, at), 1e9 + at, 1e9 + at)
  const nothing = { mark: () => undefined, marks: () => [], marksOf: () => [], cursor: () => undefined }
  const report = newReport(true)
  const options = { config: new Config({ env: world.env }), adapters: ADAPTERS, env: world.env }
  const store = openStore(world.paths)
  const gone = new EvictedFilter(store.reader)
  const sizes: number[] = []
  for (const one of plans(nothing, options, EVERYWHERE, gone, report, 1000)) {
    // What is written after the newest were chosen is not left out.
    if (sizes.length === 0) for (let at = 2000; at < 2500; at++) utimesSync(pathOf(world, at), 2e9, 2e9)
    sizes.push(one.tasks.length)
  }
  store.close()
  // The newest come with those that were found before it was known how many there are.
  const [first = 0, ...others] = sizes
  expect(first).toBeLessThanOrEqual(2000)
  expect(Math.max(...others)).toBeLessThanOrEqual(1000)
  expect(first + others.reduce((sum, one) => sum + one, 0)).toBe(5000)
  expect(report.counts.new).toBe(5000)
})

it('counts problems, and keeps the first thousand', async () => {
  const world = homeOf(1)
  for (let at = 1; at <= 1200; at++) symlinkSync(pathOf(world, 0), pathOf(world, at))
  const report = await world.sweep()
  expect([report.problemCount, report.problems.length]).toEqual([1200, 1000])
})

it('holds any row numbers, also those of a damaged table', () => {
  const integers = fc.oneof(fc.integer({ min: 0, max: 200_000 }), fc.maxSafeInteger())
  fc.assert(
    fc.property(fc.array(integers), fc.array(integers), (some, others) => {
      const ids = new IdSet()
      for (const id of [...some, ...some]) ids.add(id)
      expect(ids.size).toBe(new Set(some).size)
      for (const id of [...some, ...others]) expect(ids.has(id)).toBe(some.includes(id))
    }),
  )
})

/** Bytes of objects that are still of use. */
function heldNow(): number {
  setFlagsFromString('--expose-gc')
  ;(runInNewContext('gc') as () => void)()
  return process.memoryUsage().heapUsed
}

/** How often garbage is collected because somebody asked for it. */
function countCollections(): { stop: () => Promise<number> } {
  let count = 0
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as unknown as { detail: { flags: number; kind: number } }[])
      if (detail.flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) count++
  })
  observer.observe({ entryTypes: ['gc'] })
  const stop = async (): Promise<number> => {
    await new Promise((done) => setTimeout(done, 100))
    observer.disconnect()
    return count
  }
  return { stop }
}

it('a sweep of files of one line holds nothing of each, and leaves no garbage lying about', async () => {
  const COUNT = 3500
  const world = homeOf(COUNT)
  const held = new Map<number, number>()
  const collections = countCollections()
  await world.sweep({
    onProgress: ({ doneSources }) => {
      if ((doneSources === 1000 || doneSources === COUNT) && !held.has(doneSources))
        held.set(doneSources, heldNow())
    },
  })
  // Two for what is held, and one of 7,000 sources and digests at 16 kB each.
  expect(await collections.stop()).toBeGreaterThanOrEqual(3)
  const perFile = ((held.get(COUNT) as number) - (held.get(1000) as number)) / (COUNT - 1000)
  // What the report tells of each of the first 20,000.
  expect(perFile).toBeLessThan(1500)
})

/** What is still held once all is done, beyond what was before. */
function heldAfter(work: () => unknown): number {
  const before = heldNow()
  const result = work()
  const held = heldNow() - before
  // Until here.
  expect(result).toBeDefined()
  return held
}

describe('memory does not grow with the number of', () => {
  const COUNT = 200_000
  /** A list of as many paths takes some 25 MB. */
  const BOUND = 4 << 20

  it('files that are gone', () => {
    const world = homeOf(0)
    const mark = (at: number): CursorMark => ({
      path: `/nowhere/${idOf(at)}.jsonl`,
      flavor: 'claude',
      adapterVersion: 1,
      device: 1,
      inode: at,
      bornAt: 1,
      size: 1,
      modifiedAt: 1,
      companions: '',
      missingAt: null,
    })
    function* marks(): Generator<CursorMark> {
      for (let at = 0; at < COUNT; at++) yield mark(at)
    }
    const known = { mark: () => undefined, marks, marksOf: () => [], cursor: () => undefined }
    const report = newReport(true)
    const options = { config: new Config({ env: world.env }), adapters: ADAPTERS, env: world.env }
    const store = openStore(world.paths)
    const slices = plans(known, options, EVERYWHERE, new EvictedFilter(store.reader), report, 1000)
    const held = heldAfter(() => {
      // All but the last slice, while the planner is still at it.
      while (report.counts.missing < COUNT) slices.next()
      return slices
    })
    store.close()
    expect(report.counts.missing).toBe(COUNT)
    expect(held).toBeLessThan(BOUND)
  })

  it('sessions that were read', () => {
    const report = newReport(true)
    const held = heldAfter(() => {
      for (let id = 1; id <= COUNT; id++)
        for (const again of [id, Math.ceil(id / 2)]) addSession(report, `claude:${idOf(again)}`, again)
      return report
    })
    expect([report.sessions.size, report.sessionUids.length]).toEqual([COUNT, 20_000])
    expect(held).toBeLessThan(BOUND)
  })

  it('sessions that may be evicted', () => {
    function* all(): Generator<HeldSession> {
      for (let at = COUNT; at > 0; at--)
        yield {
          uid: `claude:${idOf(at)}`,
          bytes: 4096,
          fileBytes: 4096,
          rowBytes: 0,
          scatteredBytes: 0,
          ingestedAt: at,
          lastAt: at,
          analyzedAt: at,
          isPinned: false,
          isSoleCopy: false,
          isAnalysisTried: false,
        }
    }
    const policy = policyOf(new Config({ env: {} }))
    let first: readonly HeldSession[] = []
    const held = heldAfter(() => {
      first = candidates(all(), policy, COUNT, 1000).sessions
      return first
    })
    expect(first.map((one) => one.lastAt).slice(0, 3)).toEqual([1, 2, 3])
    expect(first).toHaveLength(1000)
    expect(held).toBeLessThan(BOUND)
  })
})
