// Eviction on real files: the bytes are gone, what is shared stays, nothing is lost without a word, and evicted sessions
// stay evicted until there is news of them.

import { appendFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { getDigest } from '../src/digest/patterns.ts'
import { sessionEvents } from '../src/query/events.ts'
import { receiptsOf } from '../src/query/receipts.ts'
import { search, searchSessions } from '../src/query/search.ts'
import { getSession } from '../src/query/sessions.ts'
import type { RetentionEvent } from '../src/retention/apply.ts'
import { isDue } from '../src/retention/due.ts'
import { forget } from '../src/retention/forget.ts'
import { policyOf } from '../src/retention/policy.ts'
import { allocatedBytes } from '../src/retention/usage.ts'
import { databasesOf } from '../src/store/databases.ts'
import { openForReading, storePaths } from '../src/store/reading.ts'
import { startOver } from '../src/store/start-over.ts'
import { type MadeSession, Memory, makeSession, wordsFound, writeLines } from './setup/raw-memory.ts'
import { cli } from './setup/sweeping.ts'

const DAY = 86_400_000
let memory: Memory
beforeEach(() => {
  memory = new Memory()
})
afterEach(() => memory.remove())

const eventsOf = (one: MadeSession) => memory.with((store) => [...sessionEvents(store.reader, one.uid)])
const bodiesOf = (one: MadeSession): (string | undefined)[] =>
  memory.with((store) => {
    const handle = store.reader
    return [...sessionEvents(handle, one.uid)].map((event) => handle.payload(event.payload_ref as string))
  })
/** Caps as a share of what the sessions occupy; the ballast adapts itself to the caps. */
const capAt = (share: number): void => {
  rmSync(join(memory.cache, 'ballast'), { force: true })
  const cap = Math.floor(allocatedBytes(memory.cache) * share)
  memory.caps({ raw_soft_cap_bytes: cap, raw_hard_cap_bytes: cap })
}
const goneOf = (made: readonly MadeSession[], steps: readonly { uid: string }[]): MadeSession[] =>
  made.filter((one) => steps.some((step) => step.uid === one.uid))

/** Which of its receipts say that it is here again, whether its digest answers for it, and what a search says of it. */
const toldGone = (one: MadeSession) =>
  memory.with((store) => {
    const handle = store.reader
    const [found] = searchSessions(handle, one.words[0] as string, { session: one.uid })
    const receipts = receiptsOf(handle, one.uid)
    const fromDigest = found?.hits.filter((hit) => hit.is_evicted).length
    return [receipts.map((receipt) => receipt.is_restored), fromDigest, found?.evicted?.reason]
  })

describe('an evicted session', () => {
  it('leaves next to no word of itself in any file of the cache, which shrinks by what the receipts say', async () => {
    const made = await memory.fill(40, 12, 4)
    memory.analyze(made)
    const all = made.flatMap((one) => one.words)
    // What the index shortens cannot be found; nearly all can, or this test would show nothing.
    expect(wordsFound(memory.cache, all).length).toBeGreaterThan(all.length * 0.9)
    memory.with((store) => store.archive.compact())
    capAt(0.5)
    const before = allocatedBytes(memory.cache)
    const report = await memory.retain()
    const gone = goneOf(made, report.steps)
    expect(gone.length).toBeGreaterThan(3)
    expect(gone.length).toBeLessThan(made.length)
    expect(gone).toEqual(made.slice(0, gone.length))
    // SQLite may leave old copies of a few cells in unused parts of pages; only what is forgotten has the file written anew.
    const words = gone.flatMap((one) => one.words)
    expect(wordsFound(memory.cache, words).length).toBeLessThanOrEqual(words.length / 1000)
    expect(allocatedBytes(memory.cache)).toBeLessThanOrEqual(policyOf(memory.config).rawSoftCapBytes)
    expect(report.usageAfterBytes).toBe(allocatedBytes(memory.cache))
    expect(memory.problems()).toEqual([])

    const receipts = memory.rows('SELECT * FROM receipts')
    expect(receipts.map((row) => row['session_uid']).sort()).toEqual(gone.map((one) => one.uid).sort())
    expect(receipts.every((row) => row['state'] === 'evicted' && row['reason'] === 'soft_cap')).toBe(true)
    expect(receipts.every((row) => /^sha256:[0-9a-f]{64}$/.test(row['hash'] as string))).toBe(true)
    expect(receipts.map((row) => row['event_count'])).toEqual(gone.map((one) => one.lines.length))
    expect(before).toBeGreaterThan(report.usageAfterBytes)

    const kept = made.slice(gone.length)
    for (const one of kept) expect(eventsOf(one)).toHaveLength(one.lines.length)
    memory.with((store) => {
      const handle = store.reader
      for (const one of kept) {
        const hits = search(handle, one.words.at(-1) as string)
        expect(hits.map((hit) => hit.session_uid)).toEqual([one.uid])
      }
      for (const one of gone) {
        // The first prompt stands in the digest; the rest is gone.
        expect(search(handle, one.words[0] as string)).toMatchObject([
          { session_uid: one.uid, is_evicted: true, kind: 'user_msg' },
        ])
        expect(search(handle, one.words.at(-1) as string)).toEqual([])
        const session = getSession(handle, one.uid)
        expect(session?.evicted_at).not.toBeNull()
        expect(session?.cost.output_tokens).toBe(24 * 2)
      }
    })
  })

  it('frees what its receipts say, to within 5 %, and what was planned, to within 20 %', async () => {
    const made = await memory.fill(30, 12, 3)
    memory.analyze(made)
    // The first time also gives back what lay idle; the second shows the sessions alone.
    capAt(0.9)
    await memory.retain()
    const noted = (): number =>
      memory.rows('SELECT coalesce(sum(bytes), 0) AS sum FROM receipts')[0]?.['sum'] as number
    const [before, notedBefore] = [allocatedBytes(memory.cache), noted()]
    capAt(0.4)
    const report = await memory.retain()
    const freed = before - allocatedBytes(memory.cache)
    expect(report.steps.length).toBeGreaterThan(3)
    expect(Math.abs(noted() - notedBefore - freed) / freed).toBeLessThan(0.05)
    const planned = report.steps.reduce((sum, step) => sum + step.bytes, 0)
    expect(Math.abs(planned - freed) / freed).toBeLessThan(0.2)
  })

  it('is what age makes of an analyzed one, unless it is pinned', async () => {
    const made = await memory.fill(4, 2)
    const [aged, pinned, unread, later] = made as [MadeSession, MadeSession, MadeSession, MadeSession]
    memory.analyze([aged, pinned, later])
    memory.with((store) => store.archive.pin(pinned.uid, 1))
    const now = Date.now() + 46 * DAY
    memory.with((store) => {
      const set = 'UPDATE sessions SET ended_at = ?1 WHERE session_uid = ?2'
      databasesOf(store.reader)
        .memory.prepare(set)
        .run(now - 45 * DAY, later.uid)
    })
    expect((await memory.retain({ now: now - 46 * DAY })).steps).toEqual([])
    const report = await memory.retain({ now })
    expect(report.steps).toMatchObject([{ uid: aged.uid, reason: 'age' }])
    for (const one of [pinned, unread, later]) expect(eventsOf(one)).toHaveLength(8)
    memory.with((store) => expect(store.archive.unpin(pinned.uid)).toBe(true))
    expect((await memory.retain({ now })).steps).toMatchObject([{ uid: pinned.uid, reason: 'age' }])
    expect((await memory.retain({ now })).steps).toEqual([])
  })

  it('leaves to others what they share with it', async () => {
    const home = memory.env['HOME'] as string
    const parent = makeSession(home, 6)
    const fork = makeSession(home, 2, parent.lines.slice(0, 12))
    for (const one of [parent, fork]) writeLines(one)
    await memory.sweep()
    const bodies = bodiesOf(fork)
    const copied = eventsOf(fork).filter((event) => event.is_inherited)
    expect(copied.length).toBe(12)
    memory.unanalyze()
    memory.analyze([parent])
    memory.caps({ raw_max_age_days: 0 })
    const report = await memory.retain({ now: Date.now() + 1000 })
    expect(report.steps.map((step) => step.uid)).toEqual([parent.uid])
    expect(bodiesOf(fork)).toEqual(bodies)
    expect(eventsOf(fork).filter((event) => event.is_inherited)).toEqual(copied)
    expect(memory.problems()).toEqual([])
    // Of the parent's own words those go that the fork has not copied.
    const sharedText = parent.lines.slice(0, 12).join('\n')
    const own = parent.words.filter((word) => !sharedText.includes(word))
    expect(own.length).toBeGreaterThan(100)
    expect(wordsFound(memory.cache, own)).toEqual([])
    memory.analyze([fork])
    await memory.retain({ now: Date.now() + 1000 })
    expect(wordsFound(memory.cache, [...parent.words, ...fork.words])).toEqual([])
    expect(memory.rows('SELECT parent_uid FROM edges WHERE session_uid = ?', fork.uid)).toEqual([
      { parent_uid: parent.uid },
    ])
  })
})

describe('the next sweep', () => {
  const evictAll = async (made: readonly MadeSession[]): Promise<void> => {
    memory.analyze(made)
    memory.caps({ raw_max_age_days: 0 })
    await memory.retain({ now: Date.now() + 1000 })
    memory.caps({})
  }
  /** Its first 12 events are gone, 8 came after that. */
  const partlyEvicted = async (): Promise<MadeSession> => {
    const one = makeSession(memory.env['HOME'] as string, 5)
    writeLines(one, 0, 12)
    await memory.sweep()
    await evictAll([one])
    writeLines(one, 12)
    await memory.sweep()
    return one
  }

  it('leaves an evicted session alone while its source has no news', async () => {
    const made = await memory.fill(3, 3)
    await evictAll(made)
    expect((await memory.sweep()).newEventCount).toBe(0)
    for (const one of made) utimesSync(one.path, new Date(), new Date())
    const report = await memory.sweep()
    expect(report.newEventCount).toBe(0)
    expect(report.counts.unchanged).toBe(3)
    expect(memory.rows('SELECT 1 FROM sessions WHERE evicted_at IS NOT NULL')).toHaveLength(3)
    // The new time is noted, so that the file need not be opened by every sweep from now on.
    memory.with((store) => {
      for (const one of made)
        expect(store.reader.sources.mark(one.path)?.modifiedAt).toBe(statSync(one.path).mtimeMs)
      databasesOf(store.reader).cache.exec('UPDATE sources SET adapter_version = 0')
    })
    expect((await memory.sweep()).counts.unchanged).toBe(3)
  })

  it('takes in only what came after, and goes on numbering', async () => {
    const home = memory.env['HOME'] as string
    const one = makeSession(home, 5)
    writeLines(one, 0, 12)
    await memory.sweep()
    await evictAll([one])
    writeLines(one, 12)
    const report = await memory.sweep()
    expect(report.newEventCount).toBe(8)
    expect(eventsOf(one).map((event) => event.seq)).toEqual([13, 14, 15, 16, 17, 18, 19, 20])
    memory.with((store) => {
      const session = getSession(store.reader, one.uid)
      expect(session?.evicted_at).toBeNull()
      expect(session?.cost.turns).toBe(5)
      expect(receiptsOf(store.reader, one.uid)).toMatchObject([
        { first_seq: 1, last_seq: 12, event_count: 12 },
      ])
    })
    expect(memory.problems()).toEqual([])
    // What came in is not covered by a digest from before: it must not go with it.
    memory.caps({ raw_max_age_days: 0 })
    memory.with((store) =>
      databasesOf(store.reader).memory.exec('UPDATE sessions SET analyzed_at = ingested_at - 1'),
    )
    expect((await memory.retain({ now: Date.now() + 1000 })).steps).toEqual([])
    await evictAll([one])
    memory.with((store) => {
      expect(receiptsOf(store.reader, one.uid).map((row) => [row.first_seq, row.last_seq])).toEqual([
        [1, 12],
        [13, 20],
      ])
    })
  })

  it('brings everything back, under its old numbers, when asked to read all again', async () => {
    const made = await memory.fill(3, 3)
    const before = made.map((one) => [eventsOf(one), bodiesOf(one)])
    await evictAll(made)
    expect(made.map((one) => eventsOf(one).length)).toEqual([0, 0, 0])
    expect(made.map(toldGone)).toEqual(made.map(() => [[false], 1, 'age']))
    await memory.sweep({ full: true })
    expect(made.map((one) => [eventsOf(one), bodiesOf(one)])).toEqual(before)
    expect(made.map(toldGone)).toEqual(made.map(() => [[true], 0, undefined]))
    expect(memory.problems()).toEqual([])
  })

  it('is told to be gone only as far as it is', async () => {
    const one = await partlyEvicted()
    expect(toldGone(one)).toEqual([[false], 1, 'age'])
    const show = () => cli(memory.env, 'show', one.uid).stdout
    const exported = () => cli(memory.env, 'export', one.uid, '--format', 'md').stdout
    expect(show()).toMatch(/evicted +events 1–12 on (?!.*read in again)/)
    expect(exported()).toContain('events 1 to 12 were evicted')
    await memory.sweep({ full: true })
    expect(eventsOf(one).map((event) => event.seq)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
    expect(bodiesOf(one).every((body) => body !== undefined)).toBe(true)
    memory.with((store) => {
      expect(getSession(store.reader, one.uid)).toMatchObject({ cost: { turns: 5 } })
      expect(getDigest(store.reader, one.uid)).toMatchObject({ event_count: 20, frozen: null })
    })
    expect(memory.problems()).toEqual([])
    expect(toldGone(one)).toEqual([[true], 0, undefined])
    expect(show().replace(/\s+/g, ' ')).toMatch(/evicted events 1–12 on .*read in again since/)
    expect(exported()).not.toContain('evicted')
  })

  it('reads a session again that a killed sweep had readied for it', async () => {
    const one = await partlyEvicted()
    memory.with((store) => startOver(databasesOf(store.reader).cache, one.uid))
    expect((await memory.sweep()).newEventCount).toBe(20)
    expect(eventsOf(one).map((event) => event.seq)).toEqual(Array.from({ length: 20 }, (_, at) => at + 1))
    expect(memory.problems()).toEqual([])
    await evictAll([one])
    // As many as there are events, however often they came and went: a number follows from the place.
    expect(memory.rows('SELECT length(keys) / 8 AS count FROM kept_keys')).toEqual([{ count: 20 }])
  })

  it('rebuilds a cache that was removed, and evicts again', async () => {
    const made = await memory.fill(3, 3)
    await evictAll(made)
    rmSync(memory.cache, { recursive: true })
    await memory.sweep()
    expect(made.map((one) => eventsOf(one).length)).toEqual([12, 12, 12])
    await evictAll(made)
    expect(memory.rows('SELECT 1 FROM receipts')).toHaveLength(6)
  })

  it('evicts by itself when a cap is passed, and does nothing about it otherwise', async () => {
    const made = await memory.fill(6, 6)
    memory.analyze(made)
    expect((await memory.sweep()).retention).toBeUndefined()
    memory.caps({ raw_soft_cap_bytes: '100kB' })
    expect((await memory.sweep({ trigger: 'hook' })).retention?.steps).toHaveLength(6)
    memory.caps({})
    const more = await memory.fill(2, 2)
    memory.caps({ raw_soft_cap_bytes: '100kB' })
    memory.analyze([...made, ...more])
    // A hook waits for the cadence, a sweep that was asked for does not.
    expect((await memory.sweep({ trigger: 'hook' })).retention).toBeUndefined()
    // Nor does it wait for a year because the clock once was ahead by that.
    const shift = (days: number): void =>
      memory.with((store) =>
        databasesOf(store.reader).memory.exec(`UPDATE receipts SET at = at + ${days * DAY}`),
      )
    const isDueNow = (): boolean =>
      memory.with((store) =>
        isDue(store.reader, storePaths(memory.home), policyOf(memory.config), 'hook', Date.now()),
      )
    expect(isDueNow()).toBe(false)
    shift(365)
    expect(isDueNow()).toBe(true)
    shift(-365)
    memory.caps({ raw_soft_cap_bytes: '100kB', cadence: 'on-hook' })
    expect((await memory.sweep({ trigger: 'hook' })).retention?.steps).toHaveLength(2)
  })
})

describe('above the hard cap', () => {
  it('analysis is tried first, and what it saves is not lost', async () => {
    const made = await memory.fill(8, 6)
    // What lies idle would go first, and with it perhaps all that is too much.
    memory.with((store) => store.archive.compact())
    capAt(0.5)
    const asked: string[] = []
    const events: RetentionEvent[] = []
    const report = await memory.retain({
      analyzeNow: (uids) => {
        asked.push(...uids)
        memory.analyze(uids.map((uid) => ({ uid })))
      },
      onEvent: (event) => events.push(event),
    })
    expect(asked.length).toBeGreaterThan(0)
    expect(asked).toEqual(made.slice(0, asked.length).map((one) => one.uid))
    expect(report.steps.every((step) => step.reason === 'soft_cap')).toBe(true)
    expect(events).toEqual([])
    expect(memory.rows('SELECT 1 FROM events_log')).toEqual([])
  })

  it('what has to be lost un-analyzed is the oldest, and each loss is logged and told', async () => {
    const made = await memory.fill(8, 6)
    // What lies idle would go first, and might be enough.
    memory.with((store) => store.archive.compact())
    capAt(0.6)
    const events: RetentionEvent[] = []
    const report = await memory.retain({
      analyzeNow: () => undefined,
      onEvent: (event) => events.push(event),
    })
    const lost = report.steps.map((step) => step.uid)
    expect(lost.length).toBeGreaterThan(0)
    expect(lost).toEqual(made.slice(0, lost.length).map((one) => one.uid))
    expect(events.map((event) => [event.name, event.sessionUid])).toEqual(
      lost.map((uid) => ['session_memory.data_loss', uid]),
    )
    const log = memory.rows(
      "SELECT session_uid, detail FROM events_log WHERE name = 'session_memory.data_loss'",
    )
    expect(log.map((row) => row['session_uid']).sort()).toEqual([...lost].sort())
    expect(JSON.parse(log[0]?.['detail'] as string)).toMatchObject({ events: 24, last_seq: 24 })
  })

  it('with all of it pinned it stays, and is told', async () => {
    const made = await memory.fill(3, 3)
    memory.with((store) => {
      for (const one of made) store.archive.pin(one.uid, 1)
    })
    memory.caps({ raw_soft_cap_bytes: 1, raw_hard_cap_bytes: 1, distilled_cap_bytes: 1 })
    const report = await memory.retain()
    expect(report.steps).toEqual([])
    expect(report.events.map((event) => event.name)).toEqual([
      'session_memory.over_hard_cap',
      'session_memory.distilled_over_cap',
    ])
    await memory.retain()
    expect(memory.rows('SELECT 1 FROM events_log')).toHaveLength(2)
  })
})

describe('a forgotten session', () => {
  it('is gone from both tiers, word for word, and no sweep brings it back', async () => {
    const [gone, kept] = (await memory.fill(2, 4)) as [MadeSession, MadeSession]
    const title = 'qzwxvkjhplmn'
    appendFileSync(
      gone.path,
      `${JSON.stringify({ type: 'custom-title', customTitle: title, sessionId: gone.uid.slice(7) })}\n`,
    )
    await memory.sweep()
    expect(wordsFound(memory.home, [`.....${title.slice(0, 9)}`])).toHaveLength(1)
    memory.with((store) => {
      const paths = storePaths(memory.home)
      expect(forget({ store, paths }, gone.uid).isErased).toBe(true)
    })
    const isGone = (): void => {
      expect(wordsFound(memory.home, [...gone.words, `.....${title.slice(0, 9)}`])).toEqual([])
      for (const table of ['sessions', 'usage', 'edges'])
        expect(memory.rows(`SELECT 1 FROM ${table} WHERE session_uid = ?`, gone.uid)).toEqual([])
      const inCache = memory.with((store) =>
        databasesOf(store.reader).cache.prepare('SELECT session_uid FROM cached').all(),
      )
      expect(inCache).toEqual([{ session_uid: kept.uid }])
      expect(memory.rows('SELECT reason, hash FROM receipts')).toEqual([{ reason: 'forgotten', hash: '' }])
      expect(eventsOf(kept).length).toBe(16)
      expect(memory.problems()).toEqual([])
    }
    isGone()
    appendFileSync(gone.path, `${gone.lines.at(-1)?.replace(/"uuid":"[0-9a-f]{4}/, '"uuid":"0000')}\n`)
    await memory.sweep()
    await memory.sweep({ full: true })
    isGone()
    rmSync(memory.cache, { recursive: true })
    await memory.sweep()
    isGone()
  })
})

describe('a reader in the way', () => {
  it('sees what it began to see, and delays only the last of the erasing', async () => {
    const made = await memory.fill(6, 6)
    memory.analyze(made)
    const reader = openForReading(storePaths(memory.home))
    databasesOf(reader).cache.exec('BEGIN')
    const count = (): unknown => databasesOf(reader).cache.prepare('SELECT count(*) AS n FROM events').get()
    const before = count()
    const report = memory.with((store) => {
      databasesOf(store.reader).cache.exec('PRAGMA busy_timeout = 50')
      return store.archive.evict([{ uid: (made[0] as MadeSession).uid, reason: 'age', bytes: 1 }], 5)
    })
    expect(report.isErased).toBe(false)
    expect(count()).toEqual(before)
    expect(memory.rows('SELECT state FROM receipts')).toEqual([{ state: 'erasing' }])
    databasesOf(reader).cache.exec('COMMIT')
    reader.close()
    await memory.sweep()
    expect(memory.rows("SELECT 1 FROM receipts WHERE state <> 'evicted'")).toEqual([])
    expect(wordsFound(memory.cache, (made[0] as MadeSession).words)).toEqual([])
    expect(statSync(memory.cache).isDirectory()).toBe(true)
  })
})
