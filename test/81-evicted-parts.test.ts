// Sessions that were evicted while their files grew, were touched, copied or read again one by one: nothing is counted
// twice and nothing is lost, so that counts, tokens and digests are those of a memory that read the whole at once.

import { cpSync, mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { getDigest } from '../src/digest/patterns.ts'
import { getSession } from '../src/query/sessions.ts'
import { databasesOf } from '../src/store/databases.ts'
import { openStore } from '../src/store/sqlite.ts'
import { accountOf } from './setup/account.ts'
import { filesBelow } from './setup/collect.ts'
import { differences } from './setup/dump.ts'
import { unpackAgent } from './setup/fixtures.ts'
import { growingTree, randomFrom } from './setup/growing.ts'
import { IS_LONG } from './setup/long.ts'
import { type MadeSession, Memory, makeSession, writeLines } from './setup/raw-memory.ts'
import { World } from './setup/sweeping.ts'

type Random = () => number

function evictSome(world: World, random: Random): void {
  const store = openStore(world.paths)
  const here = databasesOf(store.reader).cache.prepare(
    'SELECT session_uid AS uid FROM cached WHERE next_seq - 1 > evicted_seq',
  )
  const some = (here.all() as unknown as { uid: string }[]).filter(() => random() < 0.5)
  store.archive.evict(
    some.map(({ uid }) => ({ uid, reason: 'age' as const, bytes: 1 })),
    Date.now(),
  )
  store.close()
}

/** What befalls files without changing what they say; a copy is born anew, and forks are told from their origin by that. */
function disturb(world: World, random: Random, mayCopy: boolean): void {
  for (const path of filesBelow(world.home)) {
    if (!path.endsWith('.jsonl') || random() < 0.6) continue
    if (mayCopy && random() < 0.5) {
      cpSync(path, `${path}.new`)
      renameSync(`${path}.new`, path)
    } else utimesSync(path, new Date(), new Date())
  }
  const store = openStore(world.paths)
  const { cache } = databasesOf(store.reader)
  for (const { path } of cache.prepare('SELECT path FROM sources').all() as unknown as { path: string }[])
    if (random() < 0.2)
      cache.prepare('UPDATE sources SET adapter_version = 0 WHERE path = ? AND adapter_version > 0').run(path)
  store.close()
}

/** Each file at once, in the order they were begun: a fork is written whole. */
function arrivingTree(from: string, to: string) {
  const beganAt = (path: string): string =>
    /"timestamp":"([^"]+)"/.exec(readFileSync(path, 'utf8'))?.[1] ?? ''
  const files = filesBelow(from).sort((a, b) => (beganAt(a) < beganAt(b) ? -1 : 1))
  let done = 0
  return {
    grow(share: number): void {
      for (const file of files.slice(done, Math.ceil(files.length * share))) {
        const path = join(to, relative(from, file))
        mkdirSync(dirname(path), { recursive: true })
        cpSync(file, path)
        done++
      }
    },
  }
}

const SEED = process.env['RECOLLECT_TEST_SEED']

describe('what is counted of evicted sessions', () => {
  const scenarios = [
    ...['fork', 'subagent', 'subagent_parallel', 'kill_resume'].map((name) => ['claude', name]),
    ...['fork', 'subagent', 'resume'].map((name) => ['codex', name]),
    ...['fork', 'subagent', 'resume'].map((name) => ['grok', name]),
  ] as [string, string][]
  const seeds = SEED === undefined ? [7919, ...(IS_LONG ? [4 * 7919] : [])] : [Number(SEED)]

  it.each(scenarios)('is what it would be, had they stayed: %s, %s', async (client, scenario) => {
    const from = join(unpackAgent(client), scenario)
    const isFork = client === 'claude' && scenario === 'fork'
    for (const seed of seeds) {
      const random = randomFrom(seed)
      const world = new World()
      const tree = isFork ? arrivingTree(from, world.home) : growingTree(from, world.home, random)
      for (const share of [0.1, 0.2, 0.3, 0.4, 0.6, 1, 1, 1]) {
        await world.sweep()
        evictSome(world, random)
        disturb(world, random, !isFork)
        tree.grow(share)
      }
      await world.sweep()
      // Files that are copied here tell nothing by their birth: what was evicted before it was decided who copied is read again.
      if (isFork) await world.sweep()
      const fresh = new World(world.home)
      await fresh.sweep()
      expect(differences(accountOf(world), accountOf(fresh)), `seed ${seed}`).toEqual([])
      expect(world.verify().problems).toEqual([])
      await world.sweep({ full: true })
      expect(differences(accountOf(world), accountOf(fresh)), `seed ${seed}, read again`).toEqual([])
      fresh.remove()
      world.remove()
    }
  })
})

describe('a session whose files do not hold all of it any more', () => {
  let memory: Memory
  beforeEach(() => {
    memory = new Memory()
  })
  afterEach(() => memory.remove())

  const evict = ({ uid }: MadeSession): void =>
    memory.with((store) => void store.archive.evict([{ uid, reason: 'age', bytes: 1 }], Date.now()))
  const inSession =
    ({ uid }: MadeSession, more: object = {}) =>
    (line: string): string =>
      JSON.stringify({ ...JSON.parse(line), sessionId: uid.slice('claude:'.length), ...more })
  /** A session of five turns, not written yet, and its sub-agent's file of two. */
  const withHelper = (): { one: MadeSession; helper: string } => {
    const one = makeSession(memory.env['HOME'] as string, 5)
    const helper = join(dirname(one.path), one.uid.slice('claude:'.length), 'subagents', 'agent-a1.jsonl')
    mkdirSync(dirname(helper), { recursive: true })
    const spoken = makeSession(memory.env['HOME'] as string, 2).lines
    const lines = spoken.map(inSession(one, { agentId: 'a1', isSidechain: true }))
    writeFileSync(helper, `${lines.join('\n')}\n`)
    return { one, helper }
  }
  const counts = ({ uid }: MadeSession) =>
    memory.with((store) => {
      const handle = store.reader
      const { cost } = getSession(handle, uid) ?? {}
      return [cost?.turns, cost?.output_tokens, getDigest(handle, uid)?.event_count]
    })

  it('loses nothing when its file was rewritten without its beginning', async () => {
    const one = makeSession(memory.env['HOME'] as string, 5)
    writeLines(one, 0, 12)
    await memory.sweep()
    evict(one)
    writeFileSync(one.path, '')
    writeLines(one, 8)
    await memory.sweep()
    const whole = [5, 2 * 10, 20]
    expect(counts(one)).toEqual(whole)
    evict(one)
    writeFileSync(one.path, '')
    writeLines(one, 12)
    await memory.sweep({ full: true })
    expect(counts(one)).toEqual(whole)
    expect(memory.problems()).toEqual([])
  })

  it('keeps its digest, when its cache was deleted and one of its files is gone', async () => {
    const { one, helper } = withHelper()
    writeLines(one)
    await memory.sweep()
    const whole = counts(one)
    expect(whole).toEqual([5, 2 * 14, 28])
    rmSync(helper)
    await memory.sweep()
    rmSync(memory.cache, { recursive: true })
    await memory.sweep()
    expect(counts(one)).toEqual(whole)
    await memory.sweep({ full: true })
    expect(counts(one)).toEqual(whole)
    expect(memory.problems()).toEqual([])
    // Rules of another time make it again only where all is here.
    memory.with((store) => databasesOf(store.reader).memory.exec("UPDATE digests SET rule_version = '0'"))
    expect([(await memory.sweep()).digestedCount, counts(one)]).toEqual([0, whole])
    // What is said after that is told, of what is here.
    writeLines({ ...one, lines: makeSession(memory.env['HOME'] as string, 1).lines.map(inSession(one)) })
    await memory.sweep()
    expect(counts(one)).toEqual([6, 2 * 16, 24])
  })

  it('counts what is left once, when a file is gone and the other is read again', async () => {
    const { one, helper } = withHelper()
    writeLines(one, 0, 12)
    await memory.sweep()
    evict(one)
    writeLines(one, 12)
    await memory.sweep()
    const whole = counts(one)
    expect(whole).toEqual([5, 2 * 14, 28])
    rmSync(helper)
    await memory.sweep({ full: true })
    expect(counts(one)).toEqual(whole)
    expect(memory.problems()).toEqual([])
  })
})
