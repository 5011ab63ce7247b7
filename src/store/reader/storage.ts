// Questions about what the memory holds and what has gone from it.
import { type Database, firstColumn, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { holdingQuestions } from '../holdings.ts'
import { TITLE } from '../titles.ts'

export interface Receipt {
  session_uid: string
  evicted_at: string
  /** `evicting` and `erasing` while it is under way. */
  state: 'evicting' | 'erasing' | 'evicted'
  reason: 'age' | 'soft_cap' | 'hard_cap' | 'forgotten'
  /** What left the disk. */
  bytes: number
  hash: string
  event_count: number
  first_seq: number
  last_seq: number
  /** The events were read in again since. */
  is_restored: boolean
}

type StoredReceipt = Omit<Receipt, 'evicted_at' | 'is_restored'> & { at: number }

const toReceipt = ({ at, ...found }: StoredReceipt): Omit<Receipt, 'is_restored'> => ({
  ...found,
  evicted_at: new Date(at).toISOString(),
})

/** Of some sessions, oldest first. A session that was read in again has its receipts still. */
export function receiptsOf({ memory, cache }: Databases, uids: readonly string[]): Receipt[] {
  const list = JSON.stringify(uids)
  const found = rows<StoredReceipt>(
    memory,
    'SELECT r.* FROM json_each(?) j CROSS JOIN receipts r ON r.session_uid = j.value ORDER BY r.at',
    list,
  )
  if (found.length === 0) return []
  const cached = rows<{ uid: string; seq: number }>(
    cache,
    'SELECT c.session_uid AS uid, c.evicted_seq AS seq FROM json_each(?) j CROSS JOIN cached c ON c.session_uid = j.value',
    list,
  )
  const goneUntil = new Map(cached.map(({ uid, seq }) => [uid, seq]))
  return found.map((one) => ({
    ...toReceipt(one),
    is_restored: one.state === 'evicted' && one.last_seq > (goneUntil.get(one.session_uid) ?? one.last_seq),
  }))
}

const newestReceipts = ({ memory }: Databases, limit: number): Omit<Receipt, 'is_restored'>[] =>
  rows<StoredReceipt>(memory, 'SELECT * FROM receipts ORDER BY at DESC LIMIT ?', limit).map(toReceipt)

const countOf = (database: Database, what: string): number =>
  row<{ n: number }>(database, `SELECT count(*) AS n FROM ${what}`)?.n ?? 0

const countReceipts = ({ memory }: Databases): number => countOf(memory, 'receipts')

/** Sessions that went before they were analyzed. */
const countLosses = ({ memory }: Databases): number => countOf(memory, "receipts WHERE reason = 'hard_cap'")

/** An eviction was interrupted. */
const hasUnfinished = ({ memory }: Databases): boolean =>
  row(memory, "SELECT 1 FROM receipts WHERE state <> 'evicted' LIMIT 1") !== undefined

const lastEvictionAt = ({ memory }: Databases): number =>
  row<{ at: number | null }>(memory, "SELECT max(at) AS at FROM receipts WHERE reason <> 'forgotten'")?.at ??
  0

export interface Pin {
  session_uid: string
  title: string | null
  first_prompt: string
  pinned_at: number
}

/** Newest first. */
const pins = ({ memory }: Databases): Pin[] =>
  rows(
    memory,
    `SELECT p.session_uid, ${TITLE} AS title, coalesce(substr(d.digest ->> '$.first_prompt', 1, 200), '') AS first_prompt,
       p.pinned_at
     FROM pins p LEFT JOIN sessions s USING (session_uid) LEFT JOIN digests d USING (session_uid)
     ORDER BY p.pinned_at DESC`,
  )

const uidsOf = (database: Database, sql: string): Set<string> => new Set(firstColumn<string>(database, sql))

const pinned = ({ memory }: Databases): Set<string> => uidsOf(memory, 'SELECT session_uid AS uid FROM pins')

/** How much of a session's raw was evicted. */
function evictedPart({ cache }: Databases, uid: string): 'all' | 'some' | 'none' {
  const found = row<{ isAll: number }>(
    cache,
    'SELECT next_seq - 1 = evicted_seq AS isAll FROM cached WHERE session_uid = ? AND evicted_seq > 0',
    uid,
  )
  return found === undefined ? 'none' : found.isAll === 1 ? 'all' : 'some'
}

const hasEvicted = ({ cache }: Databases): boolean =>
  row(cache, 'SELECT 1 FROM cached WHERE evicted_seq > 0 LIMIT 1') !== undefined

/** Whether no sweep may bring it back. */
const isForgotten = ({ memory }: Databases, uid: string): boolean =>
  row(memory, "SELECT 1 FROM receipts WHERE session_uid = ? AND reason = 'forgotten' LIMIT 1", uid) !==
  undefined

const hasForgotten = ({ memory }: Databases): boolean =>
  row(memory, "SELECT 1 FROM receipts WHERE reason = 'forgotten' LIMIT 1") !== undefined

/** Sessions that no sweep may bring back. */
const forgotten = ({ memory }: Databases): Set<string> =>
  uidsOf(memory, "SELECT DISTINCT session_uid AS uid FROM receipts WHERE reason = 'forgotten'")

/** Never less than the bodies occupy in blocks of this size, and far cheaper to know than a look at each file. */
const segmentBytes = ({ cache }: Databases, block: number): number =>
  row<{ bytes: number }>(
    cache,
    'SELECT coalesce(sum((segment_size + ?1 - 1) / ?1 * ?1), 0) AS bytes FROM cached',
    block,
  )?.bytes ?? 0

/** Whether a session that is not pinned was read in before one time and was last active before another. */
const hasAged = (
  { memory }: Databases,
  ingestedBefore: number,
  activeBefore: number,
  withSoleCopies: boolean,
): boolean =>
  row(
    memory,
    `SELECT 1 FROM sessions WHERE evicted_at IS NULL AND analyzed_at IS NOT NULL AND ingested_at < ?
     AND coalesce(ended_at, started_at, ingested_at) < ? AND is_sole_copy <= ?
     AND session_uid NOT IN (SELECT session_uid FROM pins) LIMIT 1`,
    ingestedBefore,
    activeBefore,
    withSoleCopies ? 1 : 0,
  ) !== undefined

/** When something that concerns no single session was first logged. */
const firstLoggedAt = ({ memory }: Databases, name: string): number | null =>
  row<{ at: number | null }>(
    memory,
    "SELECT min(at) AS at FROM events_log WHERE session_uid = '' AND name = ?",
    name,
  )?.at ?? null

/** Something was logged that events.jsonl does not have. */
const hasUnlogged = ({ memory }: Databases): boolean =>
  row(
    memory,
    `SELECT 1 FROM events_log e WHERE NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.session_uid = e.session_uid
     AND d.at = e.at AND d.name = e.name AND d.sink = 'log') LIMIT 1`,
  ) !== undefined

export interface Forgettable {
  eventCount: number
  /** The agent's own file, which stays. */
  sourcePath: string | null
  decisionCount: number
  noteCount: number
}

const forgettable = ({ memory }: Databases, uid: string): Forgettable | undefined =>
  row(
    memory,
    `SELECT event_count AS eventCount, source_path AS sourcePath,
       (SELECT count(*) FROM decisions d WHERE d.session_uid = s.session_uid) AS decisionCount,
       (SELECT count(*) FROM notes n WHERE n.session_uid = s.session_uid) AS noteCount
     FROM sessions s WHERE session_uid = ?`,
    uid,
  )

const IN_CACHE = 'next_seq - 1 > evicted_seq'
/** An eviction that was cut off has taken the rows, and not said so yet. */
const EXPECTED = `event_count > 0 AND evicted_at IS NULL
  AND session_uid NOT IN (SELECT session_uid FROM receipts WHERE state <> 'evicted')`

export interface Absent {
  uid: string
  /** Where it was read from. */
  path: string | null
}

/** A session whose events should be in the cache and are not; undefined for any other. */
function absent({ memory, cache }: Databases, uid: string): Absent | undefined {
  if (row(cache, `SELECT 1 FROM cached WHERE session_uid = ? AND ${IN_CACHE}`, uid) !== undefined)
    return undefined
  return row(
    memory,
    `SELECT session_uid AS uid, source_path AS path FROM sessions WHERE session_uid = ? AND ${EXPECTED}`,
    uid,
  )
}

/** All of them. */
function allAbsent({ memory, cache }: Databases): Absent[] {
  // As good as always all are there: then nothing is compared one by one.
  if (countOf(cache, `cached WHERE ${IN_CACHE}`) >= countOf(memory, `sessions WHERE ${EXPECTED}`)) return []
  const here = uidsOf(cache, `SELECT session_uid AS uid FROM cached WHERE ${IN_CACHE}`)
  return rows<Absent>(
    memory,
    `SELECT session_uid AS uid, source_path AS path FROM sessions WHERE ${EXPECTED}`,
  ).filter(({ uid }) => !here.has(uid))
}

/** What SQLite finds wrong with databases that are not larger than this. */
const quickCheck = ({ memory, cache }: Databases, maxBytes: number): string[] =>
  [memory, cache].flatMap((database) => problemsIn(database, maxBytes))

function problemsIn(database: Database, maxBytes: number): string[] {
  try {
    const size = row<{ bytes: number }>(
      database,
      'SELECT page_count * page_size AS bytes FROM pragma_page_count(), pragma_page_size()',
    )
    if ((size?.bytes ?? 0) > maxBytes) return []
    const found = rows<{ quick_check: string }>(database, 'PRAGMA quick_check(5)')
    return found.map((one) => one.quick_check).filter((text) => text !== 'ok')
  } catch (error) {
    return [(error as Error).message]
  }
}

export const storageQuestions = {
  receiptsOf,
  newestReceipts,
  countReceipts,
  countLosses,
  hasUnfinished,
  lastEvictionAt,
  pins,
  pinned,
  evictedPart,
  hasEvicted,
  isForgotten,
  hasForgotten,
  forgotten,
  segmentBytes,
  ...holdingQuestions,
  hasAged,
  firstLoggedAt,
  hasUnlogged,
  forgettable,
  absent,
  allAbsent,
  quickCheck,
}
