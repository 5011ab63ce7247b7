// What sessions share with one that goes, and what cannot be read: nothing goes that need not, and nothing that was known
// is replaced by less.

import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { digestAll, digestChanged } from '../src/digest/index.ts'
import { syncFiles } from '../src/hub/files.ts'
import { allocatedBytes } from '../src/retention/usage.ts'
import { databasesOf } from '../src/store/databases.ts'
import { Outbox } from '../src/store/notes.ts'
import { storePaths } from '../src/store/reading.ts'
import { openStore } from '../src/store/sqlite.ts'
import { type MadeSession, Memory, makeSession, writeLines } from './setup/raw-memory.ts'
import { batchesOf, event, uuid } from './setup/scripted.ts'

let memory: Memory
let home: string
beforeEach(() => {
  memory = new Memory()
  home = memory.env['HOME'] as string
})
afterEach(() => memory.remove())

const digestOf = (uid: string): Record<string, unknown> =>
  JSON.parse(memory.rows('SELECT digest FROM digests WHERE session_uid = ?', uid)[0]?.['digest'] as string)

describe('an eviction by budget', () => {
  /** Results that do not compress: what a session shares is most of it. */
  const large = (one: MadeSession): MadeSession => ({
    ...one,
    lines: one.lines.map((line) =>
      line.replace(
        /("tool_result".*?"content":")[^"]*/,
        (_, head: string) => head + randomBytes(75_000).toString('base64'),
      ),
    ),
  })

  it.each([0.75, 0.62])(
    'takes an origin and its fork, and no others for what moved: to %d',
    async (share) => {
      const origin = large(makeSession(home, 60))
      const fork = makeSession(home, 1, origin.lines)
      const others = Array.from({ length: 12 }, () => large(makeSession(home, 8)))
      for (const one of [origin, fork, ...others]) {
        writeLines(one)
        await memory.sweep()
      }
      memory.analyze([origin, fork, ...others])
      const before = allocatedBytes(memory.cache)
      memory.caps({ raw_soft_cap_bytes: Math.floor(before * share), raw_hard_cap_bytes: before * 2 })
      const { steps, usageAfterBytes } = await memory.retain()
      expect(steps.map((step) => step.uid)).toEqual([origin.uid, fork.uid])
      expect(usageAfterBytes).toBeLessThanOrEqual(before * share)
    },
  )
})

describe('a fork of a session that is gone', () => {
  it('counts only its own, also where its facts were gathered before that was known', () => {
    const store = openStore(storePaths(join(memory.root, 'other')))
    const lines = (session: string, count: number) =>
      batchesOf(
        join(memory.root, session),
        Array.from({ length: count }, (_, at) => event(session, uuid(`k${at}`), { kind: 'user_msg' })),
      )
    const place = () => ({ repo: '', domain: '' })
    store.ingest.write(lines('a', 300))
    store.ingest.settle(place)
    digestChanged(store, { buckets: {} })
    const [origin] = databasesOf(store.reader)
      .memory.prepare('SELECT session_uid AS uid FROM sessions')
      .all() as {
      uid: string
    }[]
    store.archive.evict([{ uid: origin?.uid as string, reason: 'age', bytes: 1 }], Date.now())
    const { sessions } = store.ingest.write(lines('b', 400))
    digestAll(store, [...sessions.keys()], { buckets: {} })
    store.ingest.settle(place)
    digestChanged(store, { buckets: {} })
    const digests = databasesOf(store.reader)
      .memory.prepare('SELECT digest FROM digests ORDER BY session_uid')
      .all()
    expect(digests.map((row) => JSON.parse((row as { digest: string }).digest).event_count)).toEqual([
      300, 100,
    ])
    store.close()
  })

  it('is known though the write before failed', () => {
    const store = openStore(storePaths(join(memory.root, 'other')))
    const write = (session: string, keys: readonly string[]) =>
      batchesOf(
        join(memory.root, session),
        keys.map((key) => event(session, key)),
      )
    store.ingest.write(write('a', [uuid('k1'), 'k2']))
    const failing = write('z', ['z1', 'z2'])
    Object.assign(failing.at(-1)?.events.at(-1) as object, { summary: {} })
    expect(() => store.ingest.write(failing, true)).toThrow()
    store.ingest.write(write('b', [uuid('k1'), 'k3']))
    expect(databasesOf(store.reader).cache.prepare('SELECT count(*) AS n FROM shared').get()).toMatchObject({
      n: 1,
    })
    store.close()
  })
})

describe('a digest', () => {
  it('stays where the cache was deleted and not all of a fork is left to read', async () => {
    const origin = makeSession(home, 10)
    writeLines(origin)
    await memory.sweep()
    const fork = makeSession(home, 5, origin.lines)
    const id = fork.uid.slice('claude:'.length)
    const helper = join(dirname(fork.path), id, 'subagents', 'agent-a1.jsonl')
    mkdirSync(dirname(helper), { recursive: true })
    const asHelper = (line: string): string =>
      JSON.stringify({ ...JSON.parse(line), sessionId: id, agentId: 'a1', isSidechain: true })
    writeFileSync(helper, `${makeSession(home, 2).lines.map(asHelper).join('\n')}\n`)
    writeLines(fork)
    await memory.sweep()
    const told = () => [
      memory.rows('SELECT event_count, turn_count FROM sessions WHERE session_uid = ?', fork.uid)[0],
      digestOf(fork.uid)['event_count'],
    ]
    const whole = told()
    rmSync(helper)
    await memory.sweep()
    rmSync(memory.cache, { recursive: true })
    await memory.sweep()
    expect(told()).toEqual(whole)
  })

  it('stays where bodies can no longer be read, which is told', async () => {
    const [one] = await memory.fill(1, 30)
    await memory.sweep()
    const before = digestOf(one?.uid as string)
    const blobs = join(memory.cache, 'blobs')
    const names = readdirSync(blobs, { recursive: true }).map(String)
    const segment = join(blobs, names.find((name) => name.endsWith('.seg')) as string)
    writeFileSync(segment, readFileSync(segment).fill(7, 20))
    memory.with((store) => databasesOf(store.reader).cache.exec('DELETE FROM folds'))
    memory.unanalyze()
    const { problems, digestedCount } = await memory.sweep()
    expect(digestedCount).toBe(0)
    expect(problems).toMatchObject([
      { code: 'CORRUPT', path: one?.uid, hint: expect.stringContaining('--repair') },
    ])
    expect(problems[0]?.reason).toContain('cannot be read')
    expect(digestOf(one?.uid as string)).toEqual(before)
  })
})

describe('a hub file of a forgotten session', () => {
  it('that cannot be removed is told once', async () => {
    const [one] = await memory.fill(1, 2)
    await memory.sweep()
    const directory = join(memory.root, 'hub')
    mkdirSync(directory)
    memory.with((store) => {
      const notes = { reader: store.reader, outbox: new Outbox(databasesOf(store.reader).memory) }
      syncFiles(notes, directory)
      store.archive.evict([{ uid: one?.uid as string, reason: 'forgotten', bytes: 1 }], 1)
      // A directory in the way cannot be removed as a file, by root neither.
      const path = join(directory, readdirSync(directory)[0] as string)
      rmSync(path)
      mkdirSync(join(path, 'x'), { recursive: true })
      const { removed, problems } = syncFiles(notes, directory)
      expect([removed, problems.map((problem) => problem.message)]).toEqual([
        0,
        [expect.stringContaining('cannot remove')],
      ])
    })
  })
})
