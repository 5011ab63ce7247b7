// What the cache holds of each session, read a page at a time: there may be a million of them.
import { prepared } from './database.ts'
import type { Databases } from './databases.ts'
import { IdSet } from './id-set.ts'

/** Rows of an event outside the index and its body, measured; only the proportion between sessions matters. */
const EVENT_BYTES = 300
const AT_ONCE = 1000
const IS_HELD = '(next_seq - 1 > evicted_seq OR segment_size > 0)'
const HELD = 'id, session_uid AS uid, segment_size AS segmentSize, next_seq - 1 - evicted_seq AS eventCount'

/** A session with raw in the cache, by its number there. */
export interface HeldRow {
  id: number
  uid: string
  segmentSize: number
  eventCount: number
}

export const weightOf = ({ segmentSize, eventCount }: HeldRow): number =>
  segmentSize + eventCount * EVENT_BYTES

/** What all of them weigh together, and how many sources there are. */
export function holdingSums({ cache }: Databases): { weight: number; sourceCount: number } {
  return cache
    .prepare(
      `SELECT (SELECT coalesce(sum(segment_size + (next_seq - 1 - evicted_seq) * ${EVENT_BYTES}), 0) FROM cached
         WHERE ${IS_HELD}) AS weight, (SELECT count(*) FROM sources) AS sourceCount`,
    )
    .get() as { weight: number; sourceCount: number }
}

export function* heldRows({ cache }: Databases): Generator<HeldRow> {
  const page = cache.prepare(
    `SELECT ${HELD} FROM cached WHERE id > ? AND ${IS_HELD} ORDER BY id LIMIT ${AT_ONCE}`,
  )
  for (let last = -1, count = AT_ONCE; count === AT_ONCE; ) {
    const rows = page.all(last) as unknown as HeldRow[]
    yield* rows
    count = rows.length
    last = rows.at(-1)?.id ?? last
  }
}

export function heldRow({ cache }: Databases, uid: string): HeldRow | undefined {
  const row = prepared(cache, `SELECT ${HELD} FROM cached WHERE session_uid = ? AND ${IS_HELD}`).get(uid)
  return row as HeldRow | undefined
}

/** What is known of a session, whatever the cache holds of it. */
export interface KnownFacts {
  lastAt: number | null
  ingestedAt: number | null
  analyzedAt: number | null
  isPinned: 0 | 1
  isSoleCopy: 0 | 1
}

export function knownFacts({ memory }: Databases, uid: string): KnownFacts | undefined {
  const row = prepared(
    memory,
    `SELECT coalesce(ended_at, started_at) AS lastAt, ingested_at AS ingestedAt, analyzed_at AS analyzedAt,
       is_sole_copy AS isSoleCopy, EXISTS (SELECT 1 FROM pins p WHERE p.session_uid = s.session_uid) AS isPinned
     FROM sessions s WHERE session_uid = ?`,
  ).get(uid)
  return row as KnownFacts | undefined
}

interface SourceRow {
  path: string
  missingAt: number | null
}

const SOURCES = 'FROM source_sessions w CROSS JOIN sources s ON s.path = w.path'

/** Sessions, by number, of which some file is not there; `isGone` looks. */
export function withoutSource({ cache }: Databases, isGone: (path: string) => boolean): IdSet {
  const page = cache.prepare(
    `SELECT w.path, w.session, s.missing_at AS missingAt ${SOURCES} CROSS JOIN cached c ON c.id = w.session
     WHERE (w.path, w.session) > (?, ?) AND c.next_seq - 1 > c.evicted_seq
     ORDER BY w.path, w.session LIMIT ${AT_ONCE}`,
  )
  const ids = new IdSet()
  let last = { path: '', session: -1, isGone: false }
  for (let count = AT_ONCE; count === AT_ONCE; ) {
    const rows = page.all(last.path, last.session) as unknown as (SourceRow & { session: number })[]
    for (const { path, session, missingAt } of rows) {
      const isSame = path === last.path
      last = { path, session, isGone: isSame ? last.isGone : missingAt !== null || isGone(path) }
      if (last.isGone) ids.add(session)
    }
    count = rows.length
  }
  return ids
}

/** The same of one session. */
export function isWithoutSource(
  { cache }: Databases,
  { id, eventCount }: HeldRow,
  isGone: (path: string) => boolean,
): boolean {
  if (eventCount === 0) return false
  const rows = prepared(cache, `SELECT w.path, s.missing_at AS missingAt ${SOURCES} WHERE w.session = ?`).all(
    id,
  )
  return (rows as unknown as SourceRow[]).some(({ path, missingAt }) => missingAt !== null || isGone(path))
}

export const holdingQuestions = { holdingSums, heldRows, heldRow, knownFacts, withoutSource, isWithoutSource }
