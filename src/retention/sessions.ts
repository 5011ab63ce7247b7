// What retention needs to know of the sessions: what each holds in the cache, when it was analyzed, what is pinned, and
// which are gone.
import { statSync } from 'node:fs'
import { errnoOf } from '../errors.ts'
import type { ReadHandle } from '../store/store.ts'
import type { RawSession } from './plan.ts'

/** Rows of an event outside the index and its body, measured; only the proportion between sessions matters. */
const EVENT_BYTES = 300
/** Of these, what stands in indexes that are in no order (keys of events, hashes of payloads), measured. */
const SCATTERED_BYTES = 61
const BLOCK = 4096
/** What is kept of a source whatever goes: where reading goes on. */
const SOURCE_BYTES = 4096
/** What the database occupies without a session in it. */
const EMPTY_DATABASE_BYTES = 256 << 10

interface CachedRow {
  session_uid: string
  segment_size: number
  held: number
}

interface MemoryRow {
  session_uid: string
  last_at: number | null
  ingested_at: number | null
  analyzed_at: number | null
  is_pinned: number
  is_sole_copy: number
}

/** What the cache holds of sessions, and what is known of them. */
export interface Holdings {
  rows: CachedRow[]
  facts: ReadonlyMap<string, MemoryRow>
  /** Sessions that cannot be read again as a whole. */
  soleCopies: ReadonlySet<string>
  sourceCount: number
}

/** What is known of sessions does not change while some go; what the cache holds does: payloads move to those that share them. */
export function holdings(handle: ReadHandle, before?: Holdings): Holdings {
  const rows = handle.cache
    .prepare(
      `SELECT session_uid, segment_size, next_seq - 1 - evicted_seq AS held FROM cached
       WHERE next_seq - 1 > evicted_seq OR segment_size > 0`,
    )
    .all() as unknown as CachedRow[]
  if (before) return { ...before, rows }
  const { count } = handle.cache.prepare('SELECT count(*) AS count FROM sources').get() as { count: number }
  const facts = new Map(memoryRows(handle).map((row) => [row.session_uid, row]))
  const soleCopies = unreadableAgain(handle)
  for (const row of facts.values()) if (row.is_sole_copy === 1) soleCopies.add(row.session_uid)
  return { rows, facts, soleCopies, sourceCount: count }
}

/** Sessions of which a file is gone, one of several included. Looked at now: the agent may have deleted it since the last sweep. */
function unreadableAgain(handle: ReadHandle): Set<string> {
  const rows = handle.cache
    .prepare(
      `SELECT s.path, s.missing_at, c.session_uid FROM source_sessions w JOIN sources s ON s.path = w.path
       JOIN cached c ON c.id = w.session WHERE c.next_seq - 1 > c.evicted_seq ORDER BY s.path`,
    )
    .all() as unknown as { path: string; missing_at: number | null; session_uid: string }[]
  const uids = new Set<string>()
  let last = { path: '', isGone: false }
  for (const { path, missing_at, session_uid } of rows) {
    if (path !== last.path) last = { path, isGone: missing_at !== null || isGone(path) }
    if (last.isGone) uids.add(session_uid)
  }
  return uids
}

/** A file that may not be looked at is not gone. */
function isGone(path: string): boolean {
  try {
    statSync(path)
    return false
  } catch (error) {
    return errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR'
  }
}

/** A session, what of its bytes is a file and what are rows, and which of these lie scattered in pages that other sessions fill as well. */
export interface HeldSession extends RawSession {
  fileBytes: number
  rowBytes: number
  scatteredBytes: number
}

/**
 * Every session with raw in the cache. `databaseBytes` is shared out among them by events and payload: deleting rows
 * gives back pages, and whose pages they are is not recorded.
 */
export function rawSessions(
  { rows, facts, soleCopies, sourceCount }: Holdings,
  databaseBytes: number,
  isAnalysisTried: (uid: string) => boolean,
): HeldSession[] {
  const weigh = (row: CachedRow): number => row.segment_size + row.held * EVENT_BYTES
  const sharedBytes = Math.max(0, databaseBytes - EMPTY_DATABASE_BYTES - sourceCount * SOURCE_BYTES)
  const total = rows.reduce((sum, row) => sum + weigh(row), 0) || 1
  return rows.map((row) => {
    const known = facts.get(row.session_uid)
    const { ingested_at = null, analyzed_at = null, last_at = null, is_pinned = 0 } = known ?? {}
    const fileBytes = blocksOf(row.segment_size)
    const rowBytes = Math.floor((sharedBytes * weigh(row)) / total)
    return {
      uid: row.session_uid,
      bytes: fileBytes + rowBytes,
      fileBytes,
      rowBytes,
      ingestedAt: ingested_at ?? 0,
      lastAt: last_at,
      // A digest made before the last of the raw came in does not cover it.
      analyzedAt: analyzed_at !== null && analyzed_at >= (ingested_at ?? 0) ? analyzed_at : null,
      isPinned: is_pinned === 1,
      isSoleCopy: soleCopies.has(row.session_uid),
      isAnalysisTried: isAnalysisTried(row.session_uid),
      scatteredBytes: Math.min(row.held * SCATTERED_BYTES, Math.floor(rowBytes / 2)),
    }
  })
}

export const blocksOf = (size: number): number => Math.ceil(size / BLOCK) * BLOCK

function memoryRows(handle: ReadHandle): MemoryRow[] {
  return handle.memory
    .prepare(
      `SELECT s.session_uid, coalesce(s.ended_at, s.started_at) AS last_at, s.ingested_at, s.analyzed_at,
         s.is_sole_copy, p.session_uid IS NOT NULL AS is_pinned
       FROM sessions s LEFT JOIN pins p USING (session_uid)`,
    )
    .all() as unknown as MemoryRow[]
}

/** A pinned session keeps its raw whatever the caps say. */
export function pin(handle: ReadHandle, uid: string, now: number): void {
  handle.memory.prepare('INSERT OR IGNORE INTO pins (session_uid, pinned_at) VALUES (?, ?)').run(uid, now)
}

/** False when it was not pinned. */
export function unpin(handle: ReadHandle, uid: string): boolean {
  return handle.memory.prepare('DELETE FROM pins WHERE session_uid = ?').run(uid).changes !== 0
}

/** Sessions all of whose raw was evicted, or at least some of it. */
export function evictedUids(handle: ReadHandle, howMuch: 'all' | 'in part' = 'all'): Set<string> {
  const all = howMuch === 'all' ? 'AND next_seq - 1 = evicted_seq' : ''
  return uidsOf(handle.cache, `SELECT session_uid FROM cached WHERE evicted_seq > 0 ${all}`)
}

/** Sessions that no sweep may bring back. */
export function forgottenUids(handle: ReadHandle): Set<string> {
  return uidsOf(handle.memory, "SELECT DISTINCT session_uid FROM receipts WHERE reason = 'forgotten'")
}

function uidsOf(database: ReadHandle['cache'], sql: string): Set<string> {
  const rows = database.prepare(sql).all() as unknown as { session_uid: string }[]
  return new Set(rows.map((row) => row.session_uid))
}
