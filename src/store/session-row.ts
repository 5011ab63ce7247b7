// A session while it is written to: its row in the cache, and the payloads that are not on disk yet.
import { EVENT_KINDS, type EventKind } from '../model.ts'
import type { Packing } from './payload-packing.ts'
import { FLAG, NO_TURN, NOT_OWN, type Row } from './rows.ts'

export interface CachedSession {
  id: number
  nextSeq: number
  segmentSize: number
  eventCount: number
  turnCount: number
  retryCount: number
  errorCount: number
  /** Earliest event since the session was settled. */
  lowAt: number | null
  /** The event written last: most often the parent of the next. */
  lastKey: Uint8Array | null
  /** Its flags; null where they may have changed since. */
  lastFlags: number | null
  /** The last that was evicted. */
  evictedSeq: number
  /** Seqs of its evicted events, by key; null where none are. */
  gone: ReadonlyMap<string, number> | null
  /** Payloads waiting to be written to the session's segment; null for none. */
  packing: Packing | null
}

export const cachedSession = (row: Record<string, number>): CachedSession => ({
  id: row['id'] as number,
  nextSeq: row['next_seq'] as number,
  segmentSize: row['segment_size'] as number,
  eventCount: row['event_count'] as number,
  turnCount: row['turn_count'] as number,
  retryCount: row['retry_count'] as number,
  errorCount: row['error_count'] as number,
  lowAt: row['low_at'] as number | null,
  lastKey: null,
  lastFlags: null,
  evictedSeq: row['evicted_seq'] as number,
  gone: null,
  packing: null,
})

export function countEvent(session: CachedSession, kind: EventKind, flags: number, step: 1 | -1): void {
  if (!(flags & FLAG.repeated)) session.eventCount += step
  if (flags & NOT_OWN) return
  if (kind === 'user_msg' && !(flags & NO_TURN)) session.turnCount += step
  if (kind === 'retry') session.retryCount += step
  if (kind === 'error') session.errorCount += step
}

type Counted = Pick<Row, 'kind' | 'flags'>

/** An event that is counted becomes another, or counts otherwise from now on. */
export function countChange(session: CachedSession, before: Counted, after: Counted): void {
  countEvent(session, EVENT_KINDS[before.kind] as EventKind, before.flags, -1)
  countEvent(session, EVENT_KINDS[after.kind] as EventKind, after.flags, 1)
}

export const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)
