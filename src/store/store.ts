// What a store can do. One implementation today (SQLite); the contract suite in test/contract/ is what makes another
// one possible. Reading queries are not here: they live in query/, on the read handle.
import type { Outcome } from '../model.ts'
import type { Batch, Cursor, CursorMark } from './batch.ts'
import type { Database } from './database.ts'
import type { Broken } from './references.ts'
import type { Salvage } from './salvage.ts'

/** What one call of `write` changed. */
export interface WriteReport {
  newEventCount: number
  changedEventCount: number
  /** Those that were written to, with their numbers in the cache. */
  sessions: Map<string, number>
}

export interface SessionPlace {
  sessionUid: string
  cwd: string | null
  gitRemote: string | null
}

export interface Store {
  /** What tells whether a source changed. */
  mark(path: string): CursorMark | undefined
  /** Of all sources, or those at and below some paths; one of them twice where these overlap. */
  marks(scope?: readonly string[]): Iterable<CursorMark>
  /** Of a file, under all names it was read by, in the order of these. */
  marksOf(file: Pick<CursorMark, 'device' | 'inode' | 'bornAt'>): CursorMark[]
  /** All that is known of where one source stands. */
  cursor(path: string): Cursor | undefined
  /**
   * Commits batches with their cursors: all of a batch or nothing of it. With `isMore` the commit is left to the call after
   * it, so that many batches share one; its report tells of all of them. A call that throws undoes what was not committed.
   */
  write(batches: readonly Batch[], isMore?: boolean): WriteReport
  /** Notes that a source has another name now, without reading it. */
  moveSource(path: string, newPath: string): void
  /** Notes that sources are gone, or (null) there again. A session of which every source is gone is the sole copy. */
  markMissing(paths: readonly string[], at: number | null): void
  /** After the sources of a sweep are read: what needs more than one source to be known. */
  settle(place: (session: SessionPlace) => Place): number
  /**
   * Sessions whose digest is missing, older than their events, or made by other rules, and whose events are here. In
   * pieces, at least one, which may be empty.
   */
  undigested(ruleVersion: string, fingerprintPrefix: string): Iterable<string[]>
  /** Writes digests, then the watermark `analyzed_at`, in one transaction. */
  writeDigests(rows: readonly DigestRow[]): void
  /**
   * Drops the raw of sessions for good, after finishing what a kill interrupted. One caller at a time: the sweep lock.
   * With `isMore` the bytes may stay in the files until the next call.
   */
  evict(orders: readonly EvictOrder[], now: number, isMore?: boolean): EvictReport
  /** Handles for query/. */
  read(): ReadHandle
  verify(): VerifyReport
  /** Takes out what is damaged and has its sources read again by the next sweep. One caller at a time: the sweep lock. */
  repair(hooks: RepairHooks): Promise<RepairReport>
  /** After the sources were read again: bodies that did not come back are marked as lost for good. Returns how many. */
  markLost(): number
  close(): void
}

/** A digest with its parts that are compared over sessions; the texts are JSON. */
export interface DigestRow {
  sessionUid: string
  flavor: string
  repo: string | null
  domain: string | null
  outcome: Outcome
  startedAt: number | null
  endedAt: number | null
  ruleVersion: string
  digest: string
  /** The digest of the events up to `earlierSeq`, kept when those were evicted; it is what later digests are added to. */
  earlierSeq: number
  earlier: string | null
  failures: {
    fingerprint: string
    tool: string
    sample: string
    count: number
    firstAt: number | null
    lastAt: number | null
    seqs: string
    resolvedBy: string | null
  }[]
  signals: { signal: string; subject: string; count: number; seqs: string }[]
  /** How far the events are digested, to go on from there; null to leave what is kept. */
  fold: Fold | null
}

export interface Fold {
  rules: number
  firstSeq: number
  lastSeq: number
  state: string
}

/** `forgotten` takes Tier 2 along; `hard_cap` is a loss, and logged as one. */
export interface EvictOrder {
  uid: string
  reason: 'age' | 'soft_cap' | 'hard_cap' | 'forgotten'
  /** What it is expected to free. */
  bytes: number
}

export interface EvictReport {
  /** One per session whose raw is gone now, with what was expected to be freed. */
  receipts: { uid: string; at: number; bytes: number }[]
  /** False when a reader held up the last of it: bytes that nothing points at stay until the next run. */
  isErased: boolean
}

/** Repository and domain of a session. */
export interface Place {
  repo: string | null
  domain: string | null
}

export interface ReadHandle {
  memory: Database
  cache: Database
  /** The redacted body behind a `payload_ref`; undefined when it was evicted, or is lost or damaged. */
  payload(ref: string): string | undefined
}

export interface RepairHooks {
  /** What was saved of damaged databases before the store was opened. */
  salvaged: Salvage[]
  /** The full-text index was begun anew; in the same transaction. */
  fillIndex(): void
  /** So many bytes of payloads were looked at since the last time. */
  onRead(bytes: number): Promise<void>
}

export interface RepairReport {
  /** Bodies that could not be read. */
  bodyCount: number
  /** Full-text indexes that were begun anew. */
  indexCount: number
  /** Rows that did not agree with others. */
  mended: Broken[]
  /** Databases of which only the readable rows are left. */
  salvaged: Salvage[]
}

export interface VerifyReport {
  eventCount: number
  payloadCount: number
  segmentBytes: number
  /** Bodies that a repair found lost for good: named, and no problem any more. */
  lostBodyCount: number
  /** Sessions whose eviction was cut off, or is under way: of them anything may be missing. */
  leavingCount: number
  problems: string[]
}
