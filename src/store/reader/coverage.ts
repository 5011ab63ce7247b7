// Questions about how well the memory understands what it reads.
import { row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { OWN_SOURCES } from '../own-sources.ts'

export interface FlavorSum {
  flavor: string
  sessions: number
  events: number
  ingested: number | null
  active: number | null
}

/** Most sessions first. */
const flavors = ({ memory }: Databases): FlavorSum[] =>
  rows(
    memory,
    `SELECT flavor, count(*) AS sessions, sum(event_count) AS events, max(ingested_at) AS ingested, max(ended_at) AS active
     FROM sessions GROUP BY flavor ORDER BY sessions DESC`,
  )

/** The same without sub-agents, helper conversations and what is only named. */
const ownFlavors = ({ memory }: Databases): FlavorSum[] =>
  rows(
    memory,
    `SELECT flavor, count(*) AS sessions, sum(event_count) AS events, max(ended_at) AS active, max(ingested_at) AS ingested
     FROM sessions WHERE relation <> 'subagent' AND helper IS NULL AND (event_count > 0 OR evicted_at IS NOT NULL)
     GROUP BY flavor ORDER BY sessions DESC, flavor`,
  )

export interface SourceSum {
  flavor: string
  sources: number
  source_bytes: number
  read_bytes: number
  missing_sources: number
}

/** A cursor stands behind the last record: the end of its line is nothing that waits to be read. */
const READ_BYTES = 'sum(CASE WHEN size - offset = 1 THEN size ELSE offset END)'

const sources = ({ cache }: Databases): SourceSum[] =>
  rows(
    cache,
    `SELECT flavor, count(*) AS sources, sum(size) AS source_bytes, ${READ_BYTES} AS read_bytes,
       sum(missing_at IS NOT NULL) AS missing_sources FROM sources GROUP BY flavor`,
  )

export interface GapSum {
  flavor: string
  gaps: number
  gap_bytes: number
  pending_gaps: number
}

const gapSums = ({ cache }: Databases): GapSum[] =>
  rows(
    cache,
    `SELECT s.flavor, count(*) AS gaps, sum(g.length) AS gap_bytes, sum(g.is_pending) AS pending_gaps
     FROM gaps g JOIN sources s USING (path) GROUP BY s.flavor`,
  )

export interface GapRow {
  path: string
  file: string
  offset: number
  length: number
  reason: string
  detail: string
  is_pending: boolean
}

const GAP = 'g.path, g.file, g.offset, g.length, g.reason, g.detail, g.is_pending'
const OF_SESSION = `FROM cached c JOIN source_sessions w ON w.session = c.id JOIN gaps g ON g.path = w.path
  WHERE c.session_uid = ?`

const toGap = (gap: Omit<GapRow, 'is_pending'> & { is_pending: number }): GapRow => ({
  ...gap,
  is_pending: gap.is_pending === 1,
})

/** The longest. */
const gaps = ({ cache }: Databases, limit: number): GapRow[] =>
  rows<Parameters<typeof toGap>[0]>(
    cache,
    `SELECT ${GAP} FROM gaps g ORDER BY g.length DESC LIMIT ?`,
    limit,
  ).map(toGap)

/** What of one session's sources could not be understood. */
const gapsOf = ({ cache }: Databases, uid: string, limit: number): GapRow[] =>
  rows<Parameters<typeof toGap>[0]>(
    cache,
    `SELECT ${GAP} ${OF_SESSION} ORDER BY g.path, g.file, g.offset LIMIT ?`,
    uid,
    limit,
  ).map(toGap)

/** The same, counted. */
const gapReasons = ({ cache }: Databases, uid: string): { reason: string; count: number; bytes: number }[] =>
  rows(
    cache,
    `SELECT g.reason, count(*) AS count, sum(g.length) AS bytes ${OF_SESSION} GROUP BY g.reason ORDER BY g.reason`,
    uid,
  )

export interface GapGroup {
  flavor: string
  reason: string
  n: number
  bytes: number
  /** One of the files. */
  path: string
}

/** Those that more reading would not close, most frequent first. */
const lastingGaps = ({ cache }: Databases): GapGroup[] =>
  rows(
    cache,
    `SELECT s.flavor, g.reason, count(*) AS n, sum(g.length) AS bytes, min(g.path) AS path FROM gaps g
     JOIN sources s USING (path) WHERE NOT g.is_pending GROUP BY s.flavor, g.reason ORDER BY n DESC`,
  )

/** Records of a flavor that no adapter describes, most frequent first. */
const unknownOf = ({ cache }: Databases, flavor: string, limit: number): { name: string; count: number }[] =>
  rows(
    cache,
    `SELECT u.name, sum(u.count) AS count FROM unknown_records u JOIN sources s USING (path)
     WHERE s.flavor = ? GROUP BY u.name ORDER BY count DESC LIMIT ?`,
    flavor,
    limit,
  )

export interface UnknownRecords {
  flavor: string
  name: string
  n: number
  /** The sessions they are in; null for a file that tells none. */
  uids: (string | null)[]
}

/** The same of all flavors, with where they are. */
const unknown = ({ cache }: Databases): UnknownRecords[] =>
  rows<Omit<UnknownRecords, 'uids'> & { uids: string }>(
    cache,
    `SELECT s.flavor, u.name, sum(u.count) AS n, json_group_array(DISTINCT s.session_uid) AS uids
     FROM unknown_records u JOIN sources s USING (path) GROUP BY s.flavor, u.name ORDER BY n DESC`,
  ).map((found) => ({ ...found, uids: JSON.parse(found.uids) as (string | null)[] }))

/** Secrets taken out of a flavor's sessions, by rule, most frequent first. */
const redactionsOf = ({ memory }: Databases, flavor: string): { rule: string; count: number }[] =>
  rows(
    memory,
    `SELECT r.key AS rule, sum(r.value) AS count FROM sessions s, json_each(s.redactions) r
     WHERE s.flavor = ? AND s.redactions <> '{}' GROUP BY r.key ORDER BY count DESC`,
    flavor,
  )

/** Sessions whose digest is missing or older than their events; `here`: whose events are here. */
const countUndigested = ({ memory }: Databases, which: 'all' | 'here'): number =>
  row<{ n: number }>(
    memory,
    `SELECT count(*) AS n FROM sessions WHERE event_count > 0 AND (analyzed_at IS NULL OR analyzed_at < ingested_at)
     ${which === 'here' ? 'AND evicted_at IS NULL' : ''}`,
  )?.n ?? 0

export interface LogRow {
  session_uid: string
  at: number
  name: string
  detail: string
}

/** What retention had to report, newest first. */
const log = ({ memory }: Databases, limit: number): LogRow[] =>
  rows(memory, 'SELECT session_uid, at, name, detail FROM events_log ORDER BY at DESC LIMIT ?', limit)

/** How many bytes a session's own sources have, and how many of these could not be understood. */
const understood = ({ cache }: Databases, uid: string): { size: number; gaps: number } =>
  row<{ size: number; gaps: number }>(
    cache,
    `SELECT coalesce(sum(size), 0) AS size, coalesce(sum((SELECT sum(length) FROM gaps g WHERE g.path = s.path)), 0) AS gaps
     FROM (${OWN_SOURCES}) s`,
    uid,
  ) ?? { size: 0, gaps: 0 }

export const coverageQuestions = {
  flavors,
  ownFlavors,
  sources,
  gapSums,
  gaps,
  gapsOf,
  gapReasons,
  lastingGaps,
  unknownOf,
  unknown,
  redactionsOf,
  countUndigested,
  log,
  understood,
}
