// What a store can do, in three parts: what a sweep writes (`ingest`), what keeps it in bounds and in order (`archive`), and
// what it can be asked (`reader`). One implementation today (SQLite); the contract suite in test/contract/ is what makes
// another one possible.
import type { RecollectError } from '../errors.ts'
import type { EventKind, Outcome, Role } from '../model.ts'
import type { Batch, PreparedEvent } from './batch.ts'
import type { Reader } from './reader/index.ts'
import type { Broken } from './references.ts'
import type { Salvage } from './salvage.ts'

export interface Store {
  readonly ingest: Ingest
  readonly archive: Archive
  readonly reader: Reader
  /** Of the cache's database, for errors that name no place themselves. */
  readonly path: string
  close(): void
}

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
  /** It was on another machine: its directories are not ours. */
  isElsewhere?: boolean
}

/** What a sweep writes: what sources told, where reading goes on, and the digests. */
export interface Ingest {
  /**
   * Commits batches with their cursors: all of a batch or nothing of it. With `isMore` the commit is left to the call after
   * it, so that many batches share one; its report tells of all of them. A call that throws undoes what was not committed.
   */
  write(batches: readonly Batch[], isMore?: boolean): WriteReport
  /** Puts the bodies of what was written on the disk, which the commit would do one by one. To be awaited before anything else. */
  flush(): Promise<void>
  /**
   * What this machine is called, and whose sessions these are; an empty user keeps the pseudonym. With a key, another machine:
   * sessions that are new from now on are that one's.
   */
  nameHost(name: string, user: string, key?: string): void
  /** Notes that a source has another name now, without reading it. */
  moveSource(path: string, newPath: string): void
  /** Notes that sources are gone, or (null) there again. A session of which every source is gone is the sole copy. */
  markMissing(paths: readonly string[], at: number | null): void
  /** Notes which files sources are now: they were touched, and say nothing new. */
  markTouched(sources: readonly TouchedSource[]): void
  /** Readies a session of which something was evicted for being read in again from the beginning. */
  startOver(uid: string): void
  /** After the sources of a sweep are read: what needs more than one source to be known. */
  settle(place: (session: SessionPlace) => Place): number
  /**
   * Sessions whose digest is missing, older than their events, or made by other rules, and whose events are here. In
   * pieces, at least one, which may be empty.
   */
  undigested(ruleVersion: string, fingerprintPrefix: string): Iterable<string[]>
  /** Writes digests, then the watermark `analyzed_at`, in one transaction. */
  writeDigests(rows: readonly DigestRow[]): void
  /** How far a session is digested, to go on from there; in the transaction that is open, if one is. */
  keepFold(uid: string, fold: Fold): void
  /** What a version of the price list says of models, as JSON by name. */
  keepPrices(list: string, listed: ReadonlyMap<string, string>): void
  /** Indexes events that no source can tell again and that are not in the full-text index. */
  indexUntold(textOf: (event: UnindexedEvent) => IndexedText | undefined): void
}

export interface TouchedSource {
  path: string
  device: number
  inode: number
  bornAt: number
  modifiedAt: number
}

export interface UnindexedEvent {
  kind: EventKind
  role: Role
  summary: string
  /** Undefined where it cannot be read. */
  body: string | undefined
}

export interface IndexedText {
  heading: PreparedEvent['heading']
  text: string
}

/** Keeps the store in bounds and in order. One caller at a time: the sweep lock. */
export interface Archive {
  /**
   * Drops the raw of sessions for good, after finishing what a kill interrupted. With `isMore` the bytes may stay in the
   * files until the next call.
   */
  evict(orders: readonly EvictOrder[], now: number, isMore?: boolean): EvictReport
  /** Receipts were written with what was expected to be freed; this is what really was. */
  noteFreed(freed: readonly { uid: string; at: number; bytes: number }[]): void
  /** Gives back what lies idle. Not on a full disk: eviction needs the room. */
  compact(): void
  /** What the cache's database will occupy once what is deleted is erased, about. */
  bytesOnceErased(): number
  /** A pinned session keeps its raw whatever the caps say. */
  pin(uid: string, now: number): void
  /** False when it was not pinned. */
  unpin(uid: string): boolean
  /** Logs what concerns no single session, unless that was done within the last `pauseMs`. */
  logOnce(name: string, at: number, pauseMs: number, detail: Record<string, unknown>): void
  verify(): VerifyReport
  /** Takes out what is damaged and has its sources read again by the next sweep. */
  repair(hooks: RepairHooks): Promise<RepairReport>
  /** After the sources were read again: bodies that did not come back are marked as lost for good. Returns how many. */
  markLost(): number
  /** After much was written: gives idle pages back and empties the logs. Returns what a full disk kept from it. */
  settleLogs(): RecollectError[]
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
  /** What it is called where nobody named it, and what that was made of; null keeps what is known. */
  madeTitle: string | null
  madeSource: string | null
  /** Which kind of conversation beside the work it is. */
  helper: string | null
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
