// How well the memory understands what it reads, per flavor: sources, gaps, records nobody described, secrets taken out.
import type { ReadHandle } from '../store/store.ts'

export interface FlavorCoverage {
  flavor: string
  sessions: number
  events: number
  sources: number
  source_bytes: number
  read_bytes: number
  missing_sources: number
  gaps: number
  gap_bytes: number
  pending_gaps: number
  /** 1 when every byte read was understood. */
  coverage: number
  last_ingested_at: string | null
  last_active_at: string | null
  unknown_records: { name: string; count: number }[]
  redactions: Record<string, number>
}

export interface GapRow {
  path: string
  file: string
  offset: number
  length: number
  reason: string
  detail: string
  is_pending: boolean
}

export interface Coverage {
  flavors: FlavorCoverage[]
  gaps: GapRow[]
  gap_count: number
  /** Sessions whose digest is missing or older than their events. */
  undigested: number
  /** What retention had to report: losses, and caps that are passed. */
  log: { session_uid: string; at: string; name: string; detail: string }[]
}

const MAX_GAPS = 200
/** A cursor stands behind the last record: the end of its line is nothing that waits to be read. */
const READ_BYTES = 'sum(CASE WHEN size - offset = 1 THEN size ELSE offset END)'
const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

export function coverageOf(handle: ReadHandle): Coverage {
  const flavors = flavorRows(handle)
  const gaps = handle.cache
    .prepare(
      `SELECT path, file, offset, length, reason, detail, is_pending FROM gaps ORDER BY length DESC LIMIT ${MAX_GAPS}`,
    )
    .all() as unknown as (Omit<GapRow, 'is_pending'> & { is_pending: number })[]
  const log = handle.memory
    .prepare('SELECT session_uid, at, name, detail FROM events_log ORDER BY at DESC LIMIT 100')
    .all() as unknown as { session_uid: string; at: number; name: string; detail: string }[]
  return {
    flavors,
    gaps: gaps.map((gap) => ({ ...gap, is_pending: gap.is_pending === 1 })),
    gap_count: flavors.reduce((sum, row) => sum + row.gaps, 0),
    undigested: countOf(
      handle.memory,
      'SELECT count(*) AS count FROM sessions WHERE event_count > 0 AND (analyzed_at IS NULL OR analyzed_at < ingested_at)',
    ),
    log: log.map((row) => ({ ...row, at: iso(row.at) as string })),
  }
}

const countOf = (database: ReadHandle['cache'], sql: string): number =>
  (database.prepare(sql).get() as { count: number }).count

type SourceSum = Pick<FlavorCoverage, 'sources' | 'source_bytes' | 'read_bytes' | 'missing_sources'> & {
  flavor: string
}
type GapSum = { flavor: string; gaps: number; gap_bytes: number; pending_gaps: number }

function flavorRows(handle: ReadHandle): FlavorCoverage[] {
  const sessions = handle.memory
    .prepare(
      `SELECT flavor, count(*) AS sessions, sum(event_count) AS events, max(ingested_at) AS ingested, max(ended_at) AS active
       FROM sessions GROUP BY flavor ORDER BY sessions DESC`,
    )
    .all() as unknown as {
    flavor: string
    sessions: number
    events: number
    ingested: number | null
    active: number | null
  }[]
  const sources = byFlavor<SourceSum>(
    handle,
    `SELECT flavor, count(*) AS sources, sum(size) AS source_bytes, ${READ_BYTES} AS read_bytes,
       sum(missing_at IS NOT NULL) AS missing_sources FROM sources GROUP BY flavor`,
  )
  const gaps = byFlavor<GapSum>(
    handle,
    `SELECT s.flavor, count(*) AS gaps, sum(g.length) AS gap_bytes, sum(g.is_pending) AS pending_gaps
     FROM gaps g JOIN sources s USING (path) GROUP BY s.flavor`,
  )
  return sessions.map((row) => {
    const source = sources.get(row.flavor)
    const gap = gaps.get(row.flavor)
    const read = source?.read_bytes ?? 0
    return {
      flavor: row.flavor,
      sessions: row.sessions,
      events: row.events,
      sources: source?.sources ?? 0,
      source_bytes: source?.source_bytes ?? 0,
      read_bytes: read,
      missing_sources: source?.missing_sources ?? 0,
      gaps: gap?.gaps ?? 0,
      gap_bytes: gap?.gap_bytes ?? 0,
      pending_gaps: gap?.pending_gaps ?? 0,
      coverage: read === 0 ? 1 : Math.max(0, 1 - (gap?.gap_bytes ?? 0) / read),
      last_ingested_at: iso(row.ingested),
      last_active_at: iso(row.active),
      unknown_records: unknownOf(handle, row.flavor),
      redactions: redactionsOf(handle, row.flavor),
    }
  })
}

function byFlavor<T extends { flavor: string }>(handle: ReadHandle, sql: string): Map<string, T> {
  return new Map((handle.cache.prepare(sql).all() as unknown as T[]).map((row) => [row.flavor, row]))
}

function unknownOf(handle: ReadHandle, flavor: string): { name: string; count: number }[] {
  return handle.cache
    .prepare(
      `SELECT u.name, sum(u.count) AS count FROM unknown_records u JOIN sources s USING (path)
       WHERE s.flavor = ? GROUP BY u.name ORDER BY count DESC LIMIT 50`,
    )
    .all(flavor) as unknown as { name: string; count: number }[]
}

function redactionsOf(handle: ReadHandle, flavor: string): Record<string, number> {
  const rows = handle.memory
    .prepare(
      `SELECT r.key AS rule, sum(r.value) AS count FROM sessions s, json_each(s.redactions) r
       WHERE s.flavor = ? AND s.redactions <> '{}' GROUP BY r.key ORDER BY count DESC`,
    )
    .all(flavor) as unknown as { rule: string; count: number }[]
  return Object.fromEntries(rows.map((row) => [row.rule, row.count]))
}

/** What of one session's sources could not be understood. */
export function gapsOf(handle: ReadHandle, uid: string): GapRow[] {
  const rows = handle.cache
    .prepare(
      `SELECT g.path, g.file, g.offset, g.length, g.reason, g.detail, g.is_pending FROM cached c
       JOIN source_sessions w ON w.session = c.id JOIN gaps g ON g.path = w.path
       WHERE c.session_uid = ? ORDER BY g.path, g.file, g.offset LIMIT ${MAX_GAPS}`,
    )
    .all(uid) as unknown as (Omit<GapRow, 'is_pending'> & { is_pending: number })[]
  return rows.map((gap) => ({ ...gap, is_pending: gap.is_pending === 1 }))
}
