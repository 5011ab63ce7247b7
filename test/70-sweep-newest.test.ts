// A first sweep begins with what is newest, and tells it as it comes in: whoever asks meanwhile, or ends it early, has that.
import { existsSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { sweepLine } from '../src/cli/sweep-line.ts'
import { Config } from '../src/config.ts'
import { statusOf } from '../src/doctor/status.ts'
import { DAY } from '../src/model.ts'
import { runningSweep } from '../src/store/sweep-lock.ts'
import { assistant, text, user, write } from './setup/claude.ts'
import { dumpStore } from './setup/dump.ts'
import { cli, World } from './setup/sweeping.ts'

const COUNT = 12
const idOf = (day: number): string => `${String(day).padStart(8, '0')}-1111-4111-8111-111111111111`

/** One session for each of the last days; the older the day, the earlier its path. */
function worldOf(): World {
  const world = new World()
  for (let day = 0; day < COUNT; day++) {
    const sessionId = idOf(day)
    const path = join(
      world.home,
      '.claude',
      'projects',
      `-p${String(COUNT - day).padStart(2, '0')}`,
      `${sessionId}.jsonl`,
    )
    const fields = { sessionId }
    write(path, [
      user('u', null, `prompt of day ${day}`, fields),
      assistant('a', 'u', [text('done')], fields),
    ])
    const at = Date.now() / 1000 - (day * DAY) / 1000
    utimesSync(path, at, at)
  }
  return world
}

/** What a reader finds while it goes on: only what is committed. */
function remembered(world: World, isDigested = true): string[] {
  if (!existsSync(world.paths.memoryPath)) return []
  const where = isDigested ? 'WHERE analyzed_at IS NOT NULL' : ''
  return world.read(({ memory }) =>
    memory
      .prepare(`SELECT session_uid FROM sessions ${where} ORDER BY 1`)
      .all()
      .map((row) => String(row['session_uid'])),
  )
}

const days = (...numbers: number[]): string[] => numbers.map((day) => `claude:${idOf(day)}`)

afterEach(() => vi.restoreAllMocks())

describe('a first sweep', () => {
  it('keeps the newest when it is ended early, and the next one reads the rest', async () => {
    const world = worldOf()
    const ended = new AbortController()
    const report = await world.sweep({
      signal: ended.signal,
      onProgress: ({ doneSources }) => {
        if (doneSources === 5) ended.abort()
      },
    })
    expect(report.interrupted).toBe(true)
    expect(remembered(world, false)).toEqual(days(0, 1, 2, 3, 4))
    await world.sweep()
    expect(remembered(world)).toHaveLength(COUNT)
    world.remove()
  })

  it('begins with the newest of all, also where more are found than are planned at a time', async () => {
    const world = worldOf()
    const ended = new AbortController()
    const first = await world.sweep({
      slice: 3,
      signal: ended.signal,
      onProgress: ({ doneSources }) => {
        if (doneSources === 3) ended.abort()
      },
    })
    expect(first.interrupted).toBe(true)
    expect(remembered(world, false)).toEqual(days(0, 1, 2))
    const { counts } = await world.sweep({ slice: 3 })
    expect(counts).toMatchObject({ new: COUNT - 3, unchanged: 3, missing: 0 })
    expect(remembered(world)).toHaveLength(COUNT)
    world.remove()
  })

  it('makes sessions of what it has read while it reads on', async () => {
    const world = worldOf()
    // A clock by which every look takes a second: what is due after seconds is due here after a few sessions.
    let now = performance.now()
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 1000))
    const seen: string[][] = []
    await world.sweep({ onProgress: () => seen.push(remembered(world)) })
    const meanwhile = seen.find((uids) => uids.length > 0) ?? []
    expect(meanwhile.length).toBeLessThan(COUNT)
    expect(meanwhile).toEqual(days(...meanwhile.keys()))
    vi.restoreAllMocks()
    expect(remembered(world)).toHaveLength(COUNT)
    // And the memory is the one that a sweep in one go makes.
    const other = new World(world.home)
    await other.sweep()
    expect(dumpStore(other.paths, world.base)).toEqual(world.dump())
    other.remove()
    world.remove()
  })
})

describe('how far a sweep is', () => {
  it('stands in its lock as long as it runs', async () => {
    const world = worldOf()
    const config = new Config({ env: world.env })
    let at: ReturnType<typeof runningSweep> = null
    await world.sweep({
      onProgress: () => {
        at ??= runningSweep(world.memory)
      },
    })
    expect(at).toMatchObject({ pid: process.pid, totalSources: COUNT, doneSources: 0 })
    expect(runningSweep(world.memory)).toBeNull()
    expect(statSync(join(world.memory, 'sweep.lock')).size).toBe(0)
    expect((await statusOf(config, world.env)).sweep).toBeNull()
    world.remove()
  })

  it('is not believed of a sweep that was killed', async () => {
    const world = worldOf()
    await world.sweep()
    const left = {
      pid: process.pid,
      startedAt: 1,
      doneBytes: 1,
      totalBytes: 2 ** 30,
      doneSources: 0,
      totalSources: 9,
    }
    const path = join(world.memory, 'sweep.lock')
    // Its process is there (as another one may be under the same number), its lock is not.
    writeFileSync(path, JSON.stringify(left))
    expect(runningSweep(world.memory)).toBeNull()
    writeFileSync(path, JSON.stringify({ ...left, pid: 2 ** 22 + 1 }))
    expect(runningSweep(world.memory)).toBeNull()
    expect(cli(world.env, 'sessions').stderr).toBe('')
    expect(readFileSync(path, 'utf8')).not.toBe('')
    world.remove()
  })

  it('is said in one line, where it is worth one', () => {
    expect(sweepLine(null)).toBeUndefined()
    expect(sweepLine({ doneBytes: 99, totalBytes: 100, doneSources: 1, totalSources: 2 })).toBeUndefined()
    const line = sweepLine({ doneBytes: 25e6, totalBytes: 1e8, doneSources: 3, totalSources: 40 })
    expect(line).toBe(
      'a sweep is under way, the newest files first: 25 % read (3 of 40 files, 25.0 MB of 100.0 MB)',
    )
  })
})
