// Eviction, forgetting, repair and migration stopped at their flushes to the disk: what the next run makes of it is what an
// undisturbed one makes, nothing else is lost, and what was forgotten never comes back. Killed here, at a few of them;
// `npm run test:sweep-power-cut` also cuts the file system under them (programs/cut-disk.mjs), at many.

import { execFileSync } from 'node:child_process'
import {
  closeSync,
  cpSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { sessionEvents } from '../src/query/events.ts'
import { databasesOf } from '../src/store/databases.ts'
import { storePaths } from '../src/store/reading.ts'
import { CutDisk } from './programs/cut-disk.mjs'
import { filesBelow } from './setup/collect.ts'
import { breakIndex, overwrite, segmentsOf } from './setup/damage.ts'
import { type Dump, differences, dumpStore } from './setup/dump.ts'
import { unpackAgent, unpackMemory } from './setup/fixtures.ts'
import { Memory, makeSession, wordsFound, writeLines } from './setup/raw-memory.ts'
import { flushesOf, hasStrace, someOf, stopAt } from './setup/stopping.ts'
import { type CliResult, cli, copyTree, temporary, World } from './setup/sweeping.ts'

const CUTS = Number(process.env['RECOLLECT_TEST_POWER_CUTS'] ?? 0)
const STOPS = CUTS || 3
const TIMEOUT = 60_000 + STOPS * 20_000
const GROUNDS = CUTS > 0 ? (['kill', 'ext4', 'xfs'] as const) : (['kill'] as const)

/** Something that is done to a memory, and what has to be so when it was stopped, or had ended, and the power went. */
interface Deed {
  home: string
  /** The memory before. */
  saved: string
  args: string[]
  check(memory: Stopped): void
}

interface Stopped {
  hadEnded: boolean
  run(...args: string[]): CliResult
  /** Looked at in a copy: this process keeps databases open for a while after it has closed them, and a disk with them. */
  look<T>(work: (copy: Memory) => T): T
}

const dumpOf = (memory: Memory): Dump => dumpStore(storePaths(memory.home))

/** What Tier 2 holds beside what a dump has, without the times of our own doing. */
function restOf(memory: Memory) {
  return {
    receipts: memory.rows('SELECT session_uid, state, reason, event_count FROM receipts ORDER BY 1'),
    digests: memory.rows('SELECT session_uid, outcome, rule_version FROM digests ORDER BY 1'),
    decisions: memory.rows('SELECT session_uid, seq, text FROM decisions ORDER BY 1, 2'),
    pins: memory.rows('SELECT session_uid FROM pins ORDER BY 1'),
    words: memory.rows('SELECT id FROM digest_words_docsize ORDER BY 1'),
  }
}

function wholeOf(memory: Memory) {
  const { sessions, ...dump } = dumpOf(memory)
  const isEvicted = (row: Record<string, unknown>) => ({ ...row, evicted_at: row['evicted_at'] !== null })
  return { ...dump, sessions: sessions.map(isEvicted), rest: restOf(memory), problems: memory.problems() }
}

type Whole = ReturnType<typeof wholeOf>

/** Done to a copy and left in peace. */
function undisturbed(home: string, saved: string, ...commands: string[][]): Whole {
  const memory = new Memory(join(temporary('undisturbed'), 'memory'))
  cpSync(saved, memory.home, { recursive: true })
  for (const args of commands) expect([0, 4]).toContain(cli({ ...memory.env, HOME: home }, ...args).code)
  const whole = wholeOf(memory)
  expect(whole.problems).toEqual([])
  memory.remove()
  return whole
}

const expectSame = (memory: Stopped, wanted: Whole): void => {
  expect(differences(memory.look(wholeOf), wanted)).toEqual([])
  expect(memory.run('verify').code).toBe(0)
}

const uidsOf = (memory: Memory): unknown => memory.rows('SELECT session_uid FROM sessions ORDER BY 1')

function bodiesOf(memory: Memory, uids: readonly string[]): (string | undefined)[] {
  return memory.with((store) => {
    const handle = store.reader
    return uids.flatMap((uid) =>
      [...sessionEvents(handle, uid)].map((event) => handle.payload(event.payload_ref as string)),
    )
  })
}

/** A parent and its fork, which share bodies, and two others: one of many events, one that nothing is done to. */
async function sessions() {
  const memory = new Memory()
  const home = memory.env['HOME'] as string
  const parent = makeSession(home, 5)
  const shared = parent.lines.slice(0, 10)
  const fork = makeSession(home, 3, shared)
  const [other, kept] = [makeSession(home, 40), makeSession(home, 5)]
  for (const one of [parent, fork, other, kept]) writeLines(one)
  await memory.sweep()
  const wordsOf = (...some: { words: string[] }[]): string[] =>
    some.flatMap((one) => one.words).filter((word) => !shared.join().includes(word))
  return { memory, home, parent, fork, other, kept, wordsOf }
}

async function eviction(): Promise<Deed> {
  const { memory, home, parent, fork, other, kept, wordsOf } = await sessions()
  memory.unanalyze()
  memory.analyze([parent, other])
  memory.with((store) => {
    databasesOf(store.reader).memory.exec('UPDATE sessions SET ingested_at = 1 WHERE analyzed_at IS NOT NULL')
  })
  const saved = memory.home
  const staying = [fork.uid, kept.uid]
  const [uids, bodies] = [uidsOf(memory), bodiesOf(memory, staying)]
  const wanted = undisturbed(home, saved, ['evict'])
  return {
    home,
    saved,
    args: ['evict'],
    check(stopped) {
      expect(stopped.look(uidsOf)).toEqual(uids)
      expect(stopped.look((copy) => bodiesOf(copy, staying))).toEqual(bodies)
      if (!stopped.hadEnded) expect(stopped.run('evict').code).toBe(0)
      expect(stopped.look((copy) => wordsFound(copy.cache, wordsOf(parent, other)))).toEqual([])
      expectSame(stopped, wanted)
    },
  }
}

async function forgetting(): Promise<Deed> {
  const { memory, home, parent, fork, other, kept, wordsOf } = await sessions()
  const saved = memory.home
  const args = ['forget', parent.uid, '--yes']
  const before = wholeOf(memory)
  const staying = [fork.uid, other.uid, kept.uid]
  const bodies = bodiesOf(memory, staying)
  const wanted = undisturbed(home, saved, args, ['sweep', '--full'])
  const gone = (copy: Memory): void => expect(wordsFound(copy.home, wordsOf(parent))).toEqual([])
  return {
    home,
    saved,
    args,
    check(stopped) {
      expect(stopped.look((copy) => bodiesOf(copy, staying))).toEqual(bodies)
      const isBegun = stopped.look((copy) => copy.rows('SELECT 1 FROM receipts').length > 0)
      if (stopped.hadEnded) stopped.look(gone)
      else if (!isBegun) {
        expect(differences(stopped.look(wholeOf), before)).toEqual([])
        expect(stopped.run(...args).code).toBe(0)
      }
      expect(stopped.run('sweep', '--full').code).toBe(0)
      stopped.look(gone)
      expectSame(stopped, wanted)
    },
  }
}

async function repair(): Promise<Deed> {
  const world = new World()
  copyTree(join(unpackAgent('claude'), 'fork'), world.home)
  copyTree(join(unpackAgent('codex'), 'tools'), world.home)
  await world.sweep()
  const wanted = undisturbed(world.home, world.memory)
  for (const path of segmentsOf(world.memory)) overwrite(path)
  for (const index of ['words', 'digest_words'] as const) breakIndex(world.memory, index)
  const uids = uidsOf(new Memory(world.memory))
  return {
    home: world.home,
    saved: world.memory,
    args: ['sweep', '--repair'],
    check(stopped) {
      expect(stopped.look(uidsOf)).toEqual(uids)
      if (!stopped.hadEnded) expect(stopped.run('sweep', '--repair').code).toBe(0)
      expectSame(stopped, wanted)
    },
  }
}

/** A memory as an early program left it, whose sources are no longer there. */
function migration(): Deed {
  const saved = unpackMemory('schema-9-4')
  const home = temporary('no-home')
  const wanted = undisturbed(home, saved, ['sweep'])
  const eventCount = Object.values(wanted.events).reduce((sum, events) => sum + Object.keys(events).length, 0)
  const { decisions, pins, receipts } = wanted.rest
  const lists = [wanted.sessions, wanted.usage, wanted.rest.digests, decisions, pins, receipts]
  expect([eventCount, ...lists.map((list) => list.length)]).toEqual([287, 14, 43, 14, 1, 1, 1])
  return {
    home,
    saved,
    args: ['sweep'],
    check(stopped) {
      if (!stopped.hadEnded) expect(stopped.run('sweep').code).toBe(0)
      expectSame(stopped, wanted)
    },
  }
}

describe.skipIf(CUTS === 0).each(['ext4', 'xfs'] as const)('a hub on another disk (%s)', (type) => {
  it('does not get the file of a forgotten session back', async () => {
    const disk = new CutDisk(temporary('disk'), type)
    onTestFinished(() => disk.remove())
    disk.make()
    const { memory, parent } = await sessions()
    writeFileSync(join(memory.home, 'config.toml'), `[hub]\ndigests_dir = ${JSON.stringify(disk.path)}\n`)
    const digests = (): string[] => readdirSync(disk.path).filter((name) => name.endsWith('.digest.json'))
    expect(cli(memory.env, 'sweep').code).toBe(0)
    expect(digests()).toHaveLength(4)
    expect(cli(memory.env, 'forget', parent.uid, '--yes').code).toBe(0)
    disk.cut()
    disk.remount()
    expect(digests()).toHaveLength(3)
  })
})

describe.skipIf(!hasStrace).each(GROUNDS)('stopped (%s)', (ground) => {
  const disk = ground === 'kill' ? undefined : new CutDisk(temporary('disk'), ground)
  let base: string
  // Not before: where all of these are skipped, nobody would remove it.
  beforeAll(() => {
    base = disk?.path ?? temporary('kill')
  })
  afterAll(() => disk?.remove())

  function lay({ saved, home }: Deed): { memory: string; env: Record<string, string> } {
    const memory = join(base, 'memory')
    if (disk) disk.make()
    else rmSync(memory, { recursive: true, force: true })
    mkdirSync(memory, { mode: 0o700 })
    cpSync(saved, memory, { recursive: true })
    if (disk) execFileSync('sync', ['-f', base])
    return { memory, env: { HOME: home, RECOLLECT_HOME: memory } }
  }

  /** What no flush has written is gone; or most of it: a system also writes when nobody asked it to, in any order. */
  function losePower(memory: string): void {
    if (!disk) return
    if (Math.random() < 0.5) {
      for (const path of filesBelow(memory).filter(() => Math.random() < 0.5)) {
        const fd = openSync(path, 'r+')
        fdatasyncSync(fd)
        closeSync(fd)
      }
    }
    disk.cut()
    disk.remount()
  }

  function stoppedAt(memory: string, env: Record<string, string>, hadEnded: boolean): Stopped {
    return {
      hadEnded,
      run: (...args) => cli(env, ...args),
      look: (work) => {
        const copy = new Memory(join(temporary('copy'), 'memory'))
        cpSync(memory, copy.home, { recursive: true })
        const seen = work(copy)
        copy.remove()
        rmSync(copy.home, { recursive: true })
        return seen
      },
    }
  }

  describe.each([
    ['an eviction', eviction],
    ['forgetting', forgetting],
    ['a repair', repair],
    ['a migration', migration],
  ])('%s', (name, prepare) => {
    let deed: Deed
    beforeAll(async () => {
      deed = await prepare()
    })

    it(
      'leaves what the next run completes',
      () => {
        const flushes = flushesOf(lay(deed).env, deed.args)
        disk?.unmount()
        let stops = 0
        for (const flush of someOf(flushes, STOPS)) {
          const { memory, env } = lay(deed)
          const isStopped = stopAt(env, deed.args, flush)
          if (isStopped) stops++
          losePower(memory)
          try {
            deed.check(stoppedAt(memory, env, !isStopped))
          } catch (error) {
            throw new Error(`${name}, stopped at ${flush.name} ${flush.number}`, { cause: error })
          }
          disk?.unmount()
        }
        if (CUTS > 0) console.log(`${ground}, ${name}: stopped at ${stops} of ${flushes.length} flushes`)
        expect(stops).toBeGreaterThan(Math.min(STOPS, flushes.length) / 2)
      },
      TIMEOUT,
    )

    it.skipIf(!disk)('is done once it has ended', () => {
      const { memory, env } = lay(deed)
      expect([0, 4]).toContain(cli(env, ...deed.args).code)
      losePower(memory)
      deed.check(stoppedAt(memory, env, true))
      disk?.unmount()
    })
  })
})
