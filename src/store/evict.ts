// Drops the raw bytes of sessions, for good. Order, and what a kill leaves at each step:
//   1. receipt `evicting` in memory.db        nothing of it is gone yet; the next run goes on from here
//   2. shared payloads moved to a survivor    copies at the end of its segment, or rows that point there already
//   3. segment unlinked, directory flushed    rows whose bodies are gone; a reader is told `evicted`
//   4. rows and words deleted               all at once, or fewer rows; the rest goes next time
//   5. receipt `erasing`, `evicted_at`        nothing to be read any more; words may still stand in old index pages
//   6. index written anew, free pages given back, of what is forgotten the whole file    the same, until the log is cut as well
//   7. receipt `evicted`                      done
// 3 comes before 4, for all sessions, because an unlink also works on a full disk and gives the deletion room to write.
import { createHash } from 'node:crypto'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { dirname } from 'node:path'
import { errnoOf, fromSystem } from '../errors.ts'
import { syncDirectory } from '../files/directory.ts'
import { type Database, prepared, transaction } from './database.ts'
import { dropRows } from './drop-rows.ts'
import { eraseDeleted, stepsFor } from './erase.ts'
import { keepKeys } from './evicted-keys.ts'
import { forgetInCache, forgetInMemory } from './forget.ts'
import { CONCLUDED } from './forks.ts'
import { type Kept, keptPayloads, movePayloads } from './payload-handover.ts'
import { removeSegment, segmentPath } from './segments.ts'
import type { EvictOrder, EvictReport } from './store.ts'

interface OpenReceipt {
  session_uid: string
  at: number
  state: 'evicting' | 'erasing'
  reason: string
  bytes: number
}

interface Cached {
  id: number
  session_uid: string
  next_seq: number
  evicted_seq: number
}

interface Ordered {
  order: EvictOrder
  session: Cached | undefined
}

export class Evictor {
  readonly #cache: Database
  readonly #memory: Database
  readonly #blobDirectory: string

  constructor(cache: Database, memory: Database, blobDirectory: string) {
    this.#cache = cache
    this.#memory = memory
    this.#blobDirectory = blobDirectory
  }

  /** Also finishes what an earlier run left: with no orders, only that. */
  evict(orders: readonly EvictOrder[], now: number, isMore: boolean): EvictReport {
    this.#dropSegments(orders, now)
    const open = this.#open()
    if (open.length === 0) return { receipts: [], isErased: true }
    const going = open.filter((receipt) => receipt.state === 'evicting')
    if (going.length > 0) {
      dropRows(
        this.#cache,
        this.#allCached(going).map((session) => session.id),
      )
      this.#settleMemory(going)
    }
    const receipts = going.map(({ session_uid, at, bytes }) => ({ uid: session_uid, at, bytes }))
    // Where room is scarce it is needed at once.
    if (isMore && stepsFor(this.#cache).isAmple) return { receipts, isErased: false }
    const isForgetting = open.some((receipt) => receipt.reason === 'forgotten')
    const isErased = isForgetting
      ? eraseDeleted(this.#cache, 'words', 'file') && eraseDeleted(this.#memory, 'digest_words', 'file')
      : eraseDeleted(this.#cache, 'words')
    if (isErased) this.#setState(open, 'evicted')
    return { receipts, isErased }
  }

  /** Steps 1 to 3. Where there is little room, what a few sessions free is needed before more of them can be marked. */
  #dropSegments(orders: readonly EvictOrder[], now: number): void {
    const marked = this.#allCached(this.#open().filter((receipt) => receipt.state === 'evicting'))
    const ordered = orders.map((order) => ({ order, session: this.#cached(order.uid) }))
    const going = [...marked, ...ordered.flatMap(({ session }) => session ?? [])]
    if (going.length === 0 && orders.length === 0) return
    const kept = keptPayloads(
      this.#cache,
      going.map((session) => session.id),
    )
    const sharedCount = (session: Cached | undefined): number => kept.get(session?.id ?? 0)?.length ?? 0
    const drop = (sessions: readonly Cached[]): void => this.#dropFiles(sessions, kept)
    // What shares nothing frees room at once; the others need some to move what stays.
    const sorted = ordered.sort((a, b) => sharedCount(a.session) - sharedCount(b.session))
    drop(marked.sort((a, b) => sharedCount(a) - sharedCount(b)))
    const { sessions: atOnce } = stepsFor(this.#cache)
    for (let at = 0; at < sorted.length; at += atOnce) {
      const few = sorted.slice(at, at + atOnce)
      this.#mark(few, now)
      drop(few.flatMap(({ session }) => session ?? []))
    }
  }

  #allCached(receipts: readonly OpenReceipt[]): Cached[] {
    return receipts.flatMap((receipt) => this.#cached(receipt.session_uid) ?? [])
  }

  #open(): OpenReceipt[] {
    return this.#memory
      .prepare(
        "SELECT session_uid, at, state, reason, bytes FROM receipts WHERE state <> 'evicted' ORDER BY at, session_uid",
      )
      .all() as unknown as OpenReceipt[]
  }

  /** What is to be lost un-analyzed is written down in the same commit, before it is lost. */
  #mark(orders: readonly Ordered[], now: number): void {
    const insert = this.#memory.prepare(
      `INSERT INTO receipts (session_uid, at, state, reason, bytes, hash, event_count, first_seq, last_seq)
       VALUES (?, ?, 'evicting', ?, ?, ?, ?, ?, ?)`,
    )
    const log = this.#memory.prepare(
      "INSERT OR IGNORE INTO events_log (session_uid, at, name, detail) VALUES (?, ?, 'session_memory.data_loss', ?)",
    )
    const count = this.#cache.prepare('SELECT count(*) AS count FROM events WHERE session = ?')
    const last = this.#memory.prepare('SELECT max(at) AS at FROM receipts WHERE session_uid = ?')
    const buffer = Buffer.allocUnsafe(1 << 20)
    const rows = orders.map(({ order: { uid, reason, bytes }, session: row }) => {
      const eventCount = row ? (count.get(row.id) as { count: number }).count : 0
      // A forgotten session leaves no trace of its content, not even a hash of it.
      const hash = reason === 'forgotten' ? '' : segmentHash(segmentPath(this.#blobDirectory, uid), buffer)
      const [firstSeq, lastSeq] = row ? [row.evicted_seq + 1, row.next_seq - 1] : [0, 0]
      // A clock that stands still or goes back must not make two receipts one.
      const at = Math.max(now, 1 + ((last.get(uid) as { at: number | null }).at ?? 0))
      return { uid, at, reason, bytes, hash, eventCount, firstSeq, lastSeq }
    })
    transaction(this.#memory, () => {
      for (const one of rows) {
        insert.run(
          one.uid,
          one.at,
          one.reason,
          one.bytes,
          one.hash,
          one.eventCount,
          one.firstSeq,
          one.lastSeq,
        )
        const detail = { bytes: one.bytes, hash: one.hash, events: one.eventCount, last_seq: one.lastSeq }
        if (one.reason === 'hard_cap') log.run(one.uid, one.at, JSON.stringify(detail))
        if (one.reason !== 'forgotten') keepKeys(this.#cache, this.#memory, one.uid)
      }
    })
  }

  #cached(uid: string): Cached | undefined {
    return prepared(
      this.#cache,
      'SELECT id, session_uid, next_seq, evicted_seq FROM cached WHERE session_uid = ?',
    ).get(uid) as Cached | undefined
  }

  #dropFiles(sessions: readonly Cached[], kept: ReadonlyMap<number, readonly Kept[]>): void {
    const changed = new Set<string>()
    for (const { id, session_uid } of sessions) {
      movePayloads(this.#cache, this.#blobDirectory, session_uid, kept.get(id) ?? [])
      const path = segmentPath(this.#blobDirectory, session_uid)
      if (removeSegment(path)) changed.add(dirname(path))
    }
    for (const directory of changed) syncDirectory(directory)
  }

  #settleMemory(going: readonly OpenReceipt[]): void {
    const evicted = this.#memory.prepare('UPDATE sessions SET evicted_at = ? WHERE session_uid = ?')
    // An edge concluded from what two sessions share would be taken back when only one of them is left.
    const told = this.#memory.prepare(
      `UPDATE edges SET evidence = evidence || ', since evicted'
       WHERE evidence IN ${CONCLUDED} AND (session_uid = ?1 OR parent_uid = ?1)`,
    )
    const forgotten = going.filter((receipt) => receipt.reason === 'forgotten')
    transaction(this.#cache, () => {
      for (const { session_uid } of forgotten) forgetInCache(this.#cache, session_uid)
    })
    transaction(this.#memory, () => {
      for (const { session_uid, at } of going) {
        evicted.run(at, session_uid)
        told.run(session_uid)
      }
      for (const { session_uid } of forgotten) forgetInMemory(this.#memory, session_uid)
      this.#setStateOf(going, 'erasing')
    })
  }

  #setState(receipts: readonly OpenReceipt[], state: string): void {
    transaction(this.#memory, () => this.#setStateOf(receipts, state))
  }

  #setStateOf(receipts: readonly OpenReceipt[], state: string): void {
    const set = this.#memory.prepare('UPDATE receipts SET state = ? WHERE session_uid = ? AND at = ?')
    for (const { session_uid, at } of receipts) set.run(state, session_uid, at)
  }
}

/** Of the file as it lies there; of nothing when there is none. `buffer` is what it is read into. */
function segmentHash(path: string, buffer: Buffer): string {
  const hash = createHash('sha256')
  let fd: number | undefined
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    for (let count = readSync(fd, buffer); count > 0; count = readSync(fd, buffer))
      hash.update(buffer.subarray(0, count))
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw fromSystem(error, 'cannot read payloads', path, 'read')
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
  return `sha256:${hash.digest('hex')}`
}
