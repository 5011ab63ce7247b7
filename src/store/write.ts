// The write path of the SQLite store. Order, and what a kill leaves at each step:
//   1. payload chunks appended and flushed   left over bytes at the end of segments, cut off by the next append
//   2. memory.db committed                   usage, facts and edges that will be written again: all are upserts
//   3. cache.db committed (events + cursor)  the batch is done; before this the cursor has not moved, so it is read again

import { fromSqlite } from '../errors.ts'
import { EVENT_KINDS } from '../model.ts'
import { type Batch, type PreparedEvent, type PreparedSupersede, payloadOf } from './batch.ts'
import { saveCursor } from './cursors.ts'
import type { Database } from './database.ts'
import { keptSeqs, nameOf } from './evicted-seqs.ts'
import { MemoryWriter, type Span } from './memory.ts'
import { Packing } from './payload-packing.ts'
import { writeNames } from './pending-links.ts'
import { PendingWords } from './pending-words.ts'
import {
  columnsOf,
  type EventIds,
  FLAG,
  flagsOf,
  hangsAnew,
  idsOf,
  isSame,
  type Row,
  sameBytes,
} from './rows.ts'
import { SegmentWriter, segmentPath } from './segments.ts'
import { type CachedSession, cachedSession, countChange, countEvent, latest } from './session-row.ts'
import { writeSpent } from './shown-tokens.ts'
import { noteTold, type Told, type Trail, Trails } from './source-trails.ts'
import { cacheStatements } from './statements.ts'
import type { WriteReport } from './store.ts'
import { Superseded } from './superseded.ts'

/** Where events of one session in one source go. */
interface Place {
  uid: string
  session: CachedSession
  trail: Trail
  span: Span
}

export class CacheWriter {
  readonly #cache: Database
  readonly #memory: MemoryWriter
  readonly #blobDirectory: string
  readonly #goneOf: (uid: string, untilSeq: number) => ReadonlyMap<string, number>
  readonly #sessions = new Map<string, CachedSession>()
  readonly #sql: ReturnType<typeof cacheStatements>
  readonly #words: PendingWords
  readonly #superseded: Superseded
  readonly #trails: Trails
  #spans = new Map<string, Span>()
  #report = newReport()
  #lastPath = ''
  /** Of the events that are new with a batch. */
  #firstId: number | undefined

  constructor(cache: Database, memory: Database, blobDirectory: string) {
    this.#cache = cache
    this.#memory = new MemoryWriter(memory)
    this.#goneOf = (uid, untilSeq) => keptSeqs(memory, uid, untilSeq)
    this.#blobDirectory = blobDirectory
    this.#sql = cacheStatements(cache)
    this.#words = new PendingWords(this.#sql.words)
    this.#superseded = new Superseded(cache)
    this.#trails = new Trails(cache)
  }

  write(batches: readonly Batch[], isMore: boolean): WriteReport {
    try {
      // The cache transaction is opened first and committed last: rows refer to chunks that are flushed before either commit.
      if (!this.#cache.isTransaction) {
        this.#cache.exec('BEGIN IMMEDIATE')
        this.#memory.begin()
      }
      for (const batch of batches) {
        this.#writeBatch(batch)
        this.#memory.write(batch)
      }
      return isMore ? this.#report : this.#commit()
    } catch (error) {
      this.#rollBack()
      throw fromSqlite(error, 'cannot write to the memory', this.#cache.location() ?? ':memory:')
    }
  }

  /** Step 1, without waiting for the disk at each file. Nothing may be written meanwhile. */
  async flush(): Promise<void> {
    const segments = new SegmentWriter()
    try {
      for (const [uid, session] of this.#sessions) {
        if (segments.isFull) await segments.flushAside()
        this.#append(uid, session, segments)
      }
      await segments.flushAside()
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  #commit(): WriteReport {
    this.#words.write()
    this.#saveSessions()
    this.#memory.commit(this.#spans)
    this.#cache.exec('COMMIT')
    const report = this.#report
    this.#spans = new Map()
    this.#report = newReport()
    return report
  }

  /** What was handed out in memory (ids, seqs, sizes) belongs to the transaction that is gone. */
  #rollBack(): void {
    if (this.#cache.isTransaction) this.#cache.exec('ROLLBACK')
    this.#memory.rollBack()
    this.#sessions.clear()
    this.#words.clear()
    this.#firstId = undefined
    this.#spans = new Map()
    this.#report = newReport()
  }

  isFrom(host: string): void {
    this.#memory.host = host
  }

  /** Settling and eviction change rows behind our back. */
  forget(): void {
    this.#sessions.clear()
    this.#memory.forget()
  }

  #session(uid: string): CachedSession {
    const known = this.#sessions.get(uid)
    if (known) return known
    let row = this.#sql.session.get(uid)
    if (!row) {
      this.#sql.newSession.run(uid)
      row = this.#sql.session.get(uid)
    }
    const session = cachedSession(row as Record<string, number>)
    if (session.evictedSeq > 0) session.gone = this.#goneOf(uid, session.evictedSeq)
    this.#sessions.set(uid, session)
    return session
  }

  #writeBatch(batch: Batch): void {
    const { path, sessionUid } = batch.cursor
    if (path !== this.#lastPath) for (const { packing } of this.#sessions.values()) packing?.close()
    this.#lastPath = path
    if (batch.start === 'fresh') {
      this.#sql.clearUnknown.run(path)
      this.#trails.clear(path)
    }
    if (batch.start !== 'later') this.#sql.clearGaps.run(path, batch.start === 'fresh' ? 1 : 0)
    this.#writeEvents(batch)
    if (this.#words.isFull) this.#words.write()
    // Also a session that only got facts, usage or a longer file has to be settled.
    for (const { sessionUid } of [...batch.facts, ...batch.usage, ...batch.limits]) {
      this.#report.sessions.set(sessionUid, this.#session(sessionUid).id)
    }
    for (const facts of batch.facts) this.#trails.facts.note(path, this.#session(facts.sessionUid).id, facts)
    if (sessionUid !== null && !batch.isForgotten) this.#session(sessionUid)
    writeNames(batch.names, this.#sql.name, (uid) => this.#session(uid).id)
    writeSpent(batch.usage, this.#sql.spent, (uid, key) => {
      const session = this.#session(uid)
      return [session.id, this.#seqOf(key, session)]
    })
    for (const { file, offset, length, reason, detail, isPending } of batch.gaps)
      this.#sql.gap.run(path, file ?? '', offset, length, reason, detail, isPending ? 1 : 0)
    for (const [name, count] of Object.entries(batch.unknown)) this.#sql.unknown.run(path, name, count)
    for (const [uid, counts] of Object.entries(batch.findings))
      this.#writeFindings(this.#session(uid).id, 0, counts)
    saveCursor(batch.cursor, this.#sql.cursor)
  }

  #writeEvents(batch: Batch): void {
    const { path } = batch.cursor
    const trails: Told = new Map()
    const supersedes = batch.supersedes.values()
    let supersede = supersedes.next().value
    let at: Place | undefined
    for (let index = 0; index <= batch.events.length; index++) {
      for (; supersede && supersede.eventCount <= index; supersede = supersedes.next().value)
        this.#supersede(supersede, path, trails)
      const event = batch.events[index]
      if (!event) break
      // Almost always the same session as before.
      if (at?.uid !== event.sessionUid) at = this.#placeOf(event.sessionUid, path, trails)
      const { session, trail, span } = at
      const seq = this.#writeEvent(event, session, idsOf(batch, index), batch, trail)
      noteTold(trail, seq, event.kind)
      // An event given out again does not move the end.
      trail.lastSeq = Math.max(trail.lastSeq ?? 0, seq)
      trail.lastAt = latest(trail.lastAt, event.ts)
      if (event.ts === null) continue
      // A fork begins where its own part does.
      if (!event.isInherited) span.firstAt = Math.min(span.firstAt ?? event.ts, event.ts)
      span.lastAt = Math.max(span.lastAt ?? event.ts, event.ts)
    }
    for (const [session, trail] of trails) this.#trails.save(path, session, trail)
    if (this.#firstId !== undefined) this.#noteKin(this.#firstId)
    this.#firstId = undefined
  }

  /** For all new events of a batch at once: hardly any has a key that another session has too. */
  #noteKin(firstId: number): void {
    const pairs = this.#sql.kin.all(firstId) as unknown as { first: number; second: number }[]
    for (const { first, second } of pairs) this.#sql.shared.run(first, second)
  }

  #placeOf(uid: string, path: string, trails: Told): Place {
    const session = this.#session(uid)
    const span = this.#spans.get(uid) ?? { firstAt: null, lastAt: null }
    this.#spans.set(uid, span)
    this.#report.sessions.set(uid, session.id)
    return { uid, session, trail: this.#trails.within(trails, path, session.id), span }
  }

  #writeFindings(session: number, seq: number, counts: Record<string, number>): void {
    for (const [rule, count] of Object.entries(counts)) this.#sql.finding.run(session, seq, rule, count)
  }

  /** Returns the event's seq. */
  #writeEvent(
    event: PreparedEvent,
    session: CachedSession,
    ids: EventIds,
    batch: Batch,
    { lastSeq: last }: Trail,
  ): number {
    const goneSeq = session.gone?.get(nameOf(ids.key))
    // It stays evicted, and counted as it was then.
    if (goneSeq !== undefined) return goneSeq
    const seq = session.nextSeq
    if (this.#sql.newKey.run(ids.key, session.id, seq).changes === 0) {
      const known = this.#sql.event.get(ids.key, session.id) as unknown as Row
      const told = this.#trails.withOthers(event, known, session.id, batch.cursor.path)
      if (this.#replaceEvent(known, told, ids, batch, session)) this.#report.changedEventCount++
      return known.seq
    }
    session.nextSeq++
    const parentSeq =
      event.link === 'before' ? last : event.link === 'key' ? this.#parentSeq(ids.parentKey, session) : null
    const flags = flagsOf(event) | (event.isSidechain ? this.#superseded.flagsBelow(session, parentSeq) : 0)
    session.lastKey = ids.key
    session.lastFlags = flags
    if (event.ts !== null) session.lowAt = Math.min(session.lowAt ?? event.ts, event.ts)
    this.#storePayload(event, ids, batch, session)
    const { lastInsertRowid } = this.#sql.insert.run(
      session.id,
      seq,
      ids.key,
      parentSeq,
      parentSeq === null && event.link === 'key' ? ids.parentKey : null,
      event.hasCall ? ids.call : null,
      flags,
      ids.payload,
      ...columnsOf(event),
    )
    for (const file of event.files) this.#sql.touched.run(session.id, file, seq)
    if (event.findings) this.#writeFindings(session.id, seq, event.findings)
    const id = Number(lastInsertRowid)
    this.#firstId ??= id
    this.#indexWords(id, event, batch)
    this.#report.newEventCount++
    countEvent(session, event.kind, flags, 1)
    return seq
  }

  /** False when nothing about it is new. */
  #replaceEvent(
    known: Row,
    event: PreparedEvent,
    ids: EventIds,
    batch: Batch,
    session: CachedSession,
  ): boolean {
    const hangs = hangsAnew(known, event, ids)
    if (hangs) {
      const parentSeq = this.#seqOf(ids.parentKey, session)
      this.#sql.hang.run(parentSeq, parentSeq === null ? ids.parentKey : null, known.id)
      this.#superseded.settle(session.id)
      session.lastFlags = null
    }
    // What a repair took out (`repair.ts`) comes back with its source.
    const isLost = this.#sql.hasPayload.get(known.payload) === undefined
    if (!isLost && isSame(known, event, ids)) {
      const hasWords = this.#words.has(known.id) || this.#sql.hasWords.get(known.id) !== undefined
      if (!hasWords) this.#indexWords(known.id, event, batch)
      return hangs
    }
    const flags = (known.flags & (FLAG.superseded | FLAG.copied | FLAG.repeated)) | flagsOf(event)
    const keepsBody = event.isIncomplete && !isLost
    if (!keepsBody) this.#storePayload(event, ids, batch, session)
    this.#sql.unfold.run(session.id, known.seq)
    countChange(session, known, { kind: EVENT_KINDS.indexOf(event.kind), flags })
    this.#sql.update.run(flags, keepsBody ? known.payload : ids.payload, ...columnsOf(event), known.id)
    for (const file of event.files) this.#sql.touched.run(session.id, file, known.seq)
    if (keepsBody) return true
    this.#sql.clearFindings.run(session.id, known.seq)
    if (event.findings) this.#writeFindings(session.id, known.seq, event.findings)
    if (!this.#words.delete(known.id)) this.#sql.unword.run(known.id)
    this.#indexWords(known.id, event, batch)
    return true
  }

  #indexWords(id: number, { heading, textAt, textLength }: PreparedEvent, batch: Batch): void {
    this.#words.add(id, { heading, bytes: batch.texts.subarray(textAt, textAt + textLength) })
  }

  #parentSeq(key: Uint8Array, session: CachedSession): number | null {
    // The one before it has the seq before the one just taken.
    if (session.lastKey !== null && sameBytes(session.lastKey, key)) return session.nextSeq - 2
    return this.#seqOf(key, session)
  }

  #seqOf(key: Uint8Array, { id, gone }: CachedSession): number | null {
    const row = this.#sql.seqOf.get(key, id) as Pick<Row, 'seq'> | undefined
    return row?.seq ?? gone?.get(nameOf(key)) ?? null
  }

  #storePayload(event: PreparedEvent, ids: EventIds, batch: Batch, session: CachedSession): void {
    session.packing ??= new Packing(session.segmentSize)
    const { chunk, at } = session.packing.next
    const { changes } = this.#sql.newPayload.run(ids.payload, session.id, chunk, at, event.payloadLength)
    if (changes === 0) this.#sql.borrow.run(session.id, ids.payload)
    else session.packing.add(payloadOf(event, batch))
  }

  #append(uid: string, session: CachedSession, segments: SegmentWriter): void {
    if (!session.packing) return
    session.segmentSize = session.packing.write(segmentPath(this.#blobDirectory, uid), segments)
    session.packing = null
  }

  #saveSessions(): void {
    const segments = new SegmentWriter()
    for (const [uid, session] of this.#sessions) this.#append(uid, session, segments)
    segments.flush()
    for (const session of this.#sessions.values()) {
      this.#sql.saveSession.run(
        session.nextSeq,
        session.segmentSize,
        session.eventCount,
        session.turnCount,
        session.retryCount,
        session.errorCount,
        session.lowAt,
        session.id,
      )
    }
    // Kept small: a sweep over thousands of sessions must not hold them all.
    if (this.#sessions.size > 64) this.#sessions.clear()
  }

  #supersede(item: PreparedSupersede, path: string, trails: Told): void {
    const session = this.#session(item.sessionUid)
    session.lastFlags = null
    for (const key of item.keys) {
      const row = this.#sql.event.get(key, session.id) as unknown as Row | undefined
      if (!row) {
        const goneSeq = session.gone?.get(nameOf(key))
        if (goneSeq !== undefined) this.#memory.noteRepeated(item, goneSeq, session.evictedSeq)
        continue
      }
      // An end that another file shows is one, whatever follows in this one.
      if (item.toldAs && this.#trails.othersOf(row.seq, session.id, path).length > 0) continue
      this.#sql.unfold.run(session.id, row.seq)
      const flags = row.flags | FLAG.superseded | (item.isRepetition ? FLAG.repeated : 0)
      countChange(session, row, { kind: row.kind, flags })
      this.#sql.supersedeOne.run(flags, row.id)
    }
    if (item.sinceKey !== null) this.#supersedeRange(item.sinceKey, session, path, trails)
    if (!item.isRepetition) this.#superseded.settle(session.id)
  }

  #supersedeRange(key: Uint8Array, session: CachedSession, path: string, trails: Told): void {
    const sinceSeq = this.#seqOf(key, session)
    const since = this.#sql.event.get(key, session.id) as unknown as Row | undefined
    const { lastSeq, lastAt } = this.#trails.within(trails, path, session.id)
    if (sinceSeq === null || lastSeq === null) return
    this.#sql.unfold.run(session.id, sinceSeq)
    // By time as well: an event that came late is numbered late.
    this.#sql.supersedeRange.run(
      FLAG.superseded,
      session.id,
      sinceSeq,
      lastSeq,
      FLAG.sidechain,
      since?.ts ?? null,
      lastAt,
    )
  }
}

const newReport = (): WriteReport => ({ newEventCount: 0, changedEventCount: 0, sessions: new Map() })
