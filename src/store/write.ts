// The write path of the SQLite store. Order, and what a kill leaves at each step:
//   1. payload chunks appended and flushed   left over bytes at the end of segments, cut off by the next append
//   2. memory.db committed                   usage, facts and edges that will be written again: all are upserts
//   3. cache.db committed (events + cursor)  the batch is done; before this the cursor has not moved, so it is read again

import { EVENT_KINDS, type EventKind } from '../model.ts'
import type { Batch, PreparedEvent, PreparedSupersede } from './batch.ts'
import { type Database, transaction } from './database.ts'
import { MemoryWriter, type Span } from './memory.ts'
import { type EventIds, FLAG, flagsOf, idsOf, isSame, ROLES, type Row, sameBytes } from './rows.ts'
import { appendChunks, CHUNK_BYTES, compressChunk, segmentPath } from './segments.ts'
import { cacheStatements } from './statements.ts'
import type { WriteReport } from './store.ts'
import { indexText } from './words.ts'

interface CachedSession {
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
  /** Payloads waiting to be written to the session's segment. */
  pending: { hash: Uint8Array; bytes: Uint8Array }[]
}

/** How far a source has come in each session it speaks of: what comes next without a link hangs on the last event. */
interface Trail {
  lastSeq: number | null
  lastAt: number | null
}
type Trails = Map<number, Trail>

export class CacheWriter {
  readonly #cache: Database
  readonly #memory: MemoryWriter
  readonly #blobDirectory: string
  readonly #sessions = new Map<string, CachedSession>()
  /** Payloads of this transaction that are not in the table yet. */
  readonly #pendingHashes = new Set<string>()
  readonly #sql: ReturnType<typeof cacheStatements>

  constructor(cache: Database, memory: Database, blobDirectory: string) {
    this.#cache = cache
    this.#memory = new MemoryWriter(memory)
    this.#blobDirectory = blobDirectory
    this.#sql = cacheStatements(cache)
  }

  write(batches: readonly Batch[]): WriteReport {
    const report: WriteReport = { newEventCount: 0, changedEventCount: 0, sessionUids: new Set() }
    try {
      // The cache transaction is opened first and committed last: rows refer to chunks that are flushed before either commit.
      transaction(this.#cache, () => {
        const spans = new Map<string, Span>()
        for (const batch of batches) this.#writeBatch(batch, report, spans)
        this.#flushPayloads()
        this.#memory.write(batches, spans)
      })
    } catch (error) {
      // What was handed out in memory (ids, seqs, sizes) belongs to the transaction that is gone.
      this.#sessions.clear()
      this.#pendingHashes.clear()
      throw error
    }
    return report
  }

  /** Settling and eviction change rows behind our back. */
  forget(): void {
    this.#sessions.clear()
  }

  #session(uid: string): CachedSession {
    const known = this.#sessions.get(uid)
    if (known) return known
    const row = (this.#sql.session.get(uid) ?? this.#sql.newSession.get(uid)) as Record<string, number>
    const session: CachedSession = {
      id: row['id'] as number,
      nextSeq: row['next_seq'] as number,
      segmentSize: row['segment_size'] as number,
      eventCount: row['event_count'] as number,
      turnCount: row['turn_count'] as number,
      retryCount: row['retry_count'] as number,
      errorCount: row['error_count'] as number,
      lowAt: row['low_at'] as number | null,
      lastKey: null,
      pending: [],
    }
    this.#sessions.set(uid, session)
    return session
  }

  #writeBatch(batch: Batch, report: WriteReport, spans: Map<string, Span>): void {
    const { path, sessionUid } = batch.cursor
    if (batch.start === 'fresh') {
      this.#sql.clearUnknown.run(path)
      this.#sql.clearTrails.run(path)
    }
    if (batch.start !== 'later') this.#sql.clearGaps.run(path, batch.start === 'fresh' ? 1 : 0)
    this.#writeEvents(batch, report, spans)
    // Also a session that only got facts, usage or a longer file has to be settled.
    for (const { sessionUid } of [...batch.facts, ...batch.usage]) {
      report.sessionUids.add(sessionUid)
      this.#session(sessionUid)
    }
    if (sessionUid !== null) this.#session(sessionUid)
    for (const { file, offset, length, reason, detail, isPending } of batch.gaps)
      this.#sql.gap.run(path, file ?? '', offset, length, reason, detail, isPending ? 1 : 0)
    for (const [name, count] of Object.entries(batch.unknown)) this.#sql.unknown.run(path, name, count)
    for (const [uid, counts] of Object.entries(batch.findings))
      this.#writeFindings(this.#session(uid).id, 0, counts)
    this.#saveCursor(batch)
  }

  #writeEvents(batch: Batch, report: WriteReport, spans: Map<string, Span>): void {
    const { path } = batch.cursor
    const trails: Trails = new Map()
    const supersedes = batch.supersedes.values()
    let supersede = supersedes.next().value
    for (let at = 0; at <= batch.events.length; at++) {
      for (; supersede && supersede.eventCount <= at; supersede = supersedes.next().value)
        this.#supersede(supersede, path, trails)
      const event = batch.events[at]
      if (!event) break
      const session = this.#session(event.sessionUid)
      const trail = this.#trail(path, session.id, trails)
      const seq = this.#writeEvent(event, idsOf(batch, at), batch.payloads, trail.lastSeq, report)
      // An event given out again does not move the end.
      trail.lastSeq = Math.max(trail.lastSeq ?? 0, seq)
      trail.lastAt = latest(trail.lastAt, event.ts)
      report.sessionUids.add(event.sessionUid)
      const span = spans.get(event.sessionUid) ?? { firstAt: null, lastAt: null }
      spans.set(event.sessionUid, span)
      if (event.ts === null) continue
      span.firstAt = Math.min(span.firstAt ?? event.ts, event.ts)
      span.lastAt = Math.max(span.lastAt ?? event.ts, event.ts)
    }
    for (const [session, { lastSeq, lastAt }] of trails)
      this.#sql.saveTrail.run(path, session, lastSeq, lastAt)
  }

  #trail(path: string, session: number, trails: Trails): Trail {
    const known = trails.get(session) ?? (this.#sql.trail.get(path, session) as Trail | undefined)
    const trail = known ?? { lastSeq: null, lastAt: null }
    trails.set(session, trail)
    return trail
  }

  #writeFindings(session: number, seq: number, counts: Record<string, number>): void {
    for (const [rule, count] of Object.entries(counts)) this.#sql.finding.run(session, seq, rule, count)
  }

  /** Returns the event's seq. `last`: the seq of the event before it in its source. */
  #writeEvent(
    event: PreparedEvent,
    ids: EventIds,
    payloads: Uint8Array,
    last: number | null,
    report: WriteReport,
  ): number {
    const session = this.#session(event.sessionUid)
    const others = this.#rowsWithKey(ids.key, session.id)
    const known = others?.find((row) => row.session === session.id)
    if (known) {
      if (this.#replaceEvent(known, event, ids, payloads, session)) report.changedEventCount++
      return known.seq
    }
    const seq = session.nextSeq++
    const flags = flagsOf(event)
    const parentSeq =
      event.link === 'before' ? last : event.link === 'key' ? this.#parentSeq(ids.parentKey, session) : null
    session.lastKey = ids.key
    if (event.ts !== null) session.lowAt = Math.min(session.lowAt ?? event.ts, event.ts)
    this.#storePayload(event, ids, payloads, session)
    const { lastInsertRowid } = this.#sql.insert.run(
      session.id,
      seq,
      ids.key,
      parentSeq,
      parentSeq === null && event.link === 'key' ? ids.parentKey : null,
      event.ts,
      EVENT_KINDS.indexOf(event.kind),
      ROLES.indexOf(event.role),
      event.tool,
      event.hasCall ? ids.call : null,
      event.summary,
      flags,
      event.agent,
      event.exitCode,
      event.durationMs,
      ids.payload,
    )
    for (const file of event.files) this.#sql.touched.run(session.id, file, seq)
    if (event.findings) this.#writeFindings(session.id, seq, event.findings)
    this.#indexWords(Number(lastInsertRowid), event)
    report.newEventCount++
    for (const other of others ?? [])
      this.#sql.shared.run(Math.min(other.session, session.id), Math.max(other.session, session.id))
    countEvent(session, event.kind, flags, 1)
    return seq
  }

  /** Usually none, and none is the cheapest to find out. */
  #rowsWithKey(key: Uint8Array, session: number): Row[] | undefined {
    const first = this.#sql.findKey.get(key) as Row | undefined
    if (!first) return undefined
    return first.session === session ? [first] : (this.#sql.findKey.all(key) as unknown as Row[])
  }

  /** False when nothing about it is new. */
  #replaceEvent(
    known: Row,
    event: PreparedEvent,
    ids: EventIds,
    payloads: Uint8Array,
    session: CachedSession,
  ): boolean {
    const hangs = known.is_root === 1 && event.link === 'key'
    if (hangs) {
      const parentSeq = this.#seqOf(ids.parentKey, session.id)
      this.#sql.hang.run(parentSeq, parentSeq === null ? ids.parentKey : null, known.id)
    }
    if (isSame(known, event, ids)) return hangs
    const flags = (known.flags & (FLAG.superseded | FLAG.copied)) | flagsOf(event)
    this.#storePayload(event, ids, payloads, session)
    this.#sql.unfold.run(session.id, known.seq)
    countEvent(session, EVENT_KINDS[known.kind] as EventKind, known.flags, -1)
    countEvent(session, event.kind, flags, 1)
    this.#sql.update.run(
      EVENT_KINDS.indexOf(event.kind),
      ROLES.indexOf(event.role),
      event.ts,
      event.summary,
      event.tool,
      event.agent,
      event.exitCode,
      event.durationMs,
      flags,
      ids.payload,
      known.id,
    )
    for (const file of event.files) this.#sql.touched.run(session.id, file, known.seq)
    this.#sql.clearFindings.run(session.id, known.seq)
    if (event.findings) this.#writeFindings(session.id, known.seq, event.findings)
    this.#sql.unword.run(known.id)
    this.#indexWords(known.id, event)
    return true
  }

  #indexWords(id: number, event: PreparedEvent): void {
    if (event.text === '') return
    const text = indexText(event.text)
    const { heading } = event
    this.#sql.words.run(
      id,
      heading === 'prompt' ? text : '',
      heading === 'answer' ? text : '',
      heading === 'work' ? text : '',
    )
  }

  #parentSeq(key: Uint8Array, session: CachedSession): number | null {
    // The one before it has the seq before the one just taken.
    if (session.lastKey !== null && sameBytes(session.lastKey, key)) return session.nextSeq - 2
    return this.#seqOf(key, session.id)
  }

  #seqOf(key: Uint8Array, session: number): number | null {
    return (this.#sql.seqOf.get(key, session) as { seq: number } | undefined)?.seq ?? null
  }

  #storePayload(event: PreparedEvent, ids: EventIds, payloads: Uint8Array, session: CachedSession): void {
    const name = Buffer.from(ids.payload).toString('latin1')
    if (this.#pendingHashes.has(name) || this.#sql.payload.get(ids.payload)) return
    this.#pendingHashes.add(name)
    session.pending.push({
      hash: ids.payload,
      bytes: payloads.subarray(event.payloadAt, event.payloadAt + event.payloadLength),
    })
  }

  /** Packs what waits into chunks, writes them, and points the payload rows at them. */
  #flushPayloads(): void {
    for (const [uid, session] of this.#sessions) {
      if (session.pending.length > 0) {
        const chunks: Buffer[] = []
        let chunkOffset = session.segmentSize
        for (const group of groupBySize(session.pending)) {
          let at = 0
          for (const { hash, bytes } of group) {
            this.#sql.newPayload.run(hash, session.id, chunkOffset, at, bytes.length)
            at += bytes.length
          }
          const chunk = compressChunk(Buffer.concat(group.map((one) => one.bytes)))
          chunks.push(chunk)
          chunkOffset += chunk.length
        }
        session.segmentSize = appendChunks(segmentPath(this.#blobDirectory, uid), session.segmentSize, chunks)
        session.pending = []
      }
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
    this.#pendingHashes.clear()
    // Kept small: a sweep over thousands of sessions must not hold them all.
    if (this.#sessions.size > 64) this.#sessions.clear()
  }

  #supersede(item: PreparedSupersede, path: string, trails: Trails): void {
    const session = this.#session(item.sessionUid)
    for (const key of item.keys) {
      const seq = this.#seqOf(key, session.id)
      if (seq === null) continue
      this.#sql.unfold.run(session.id, seq)
      this.#sql.supersedeOne.run(FLAG.superseded, key, session.id)
    }
    if (item.sinceKey === null) return
    const since = this.#sql.seqOf.get(item.sinceKey, session.id) as Pick<Row, 'seq' | 'ts'> | undefined
    const { lastSeq, lastAt } = this.#trail(path, session.id, trails)
    if (!since || lastSeq === null) return
    this.#sql.unfold.run(session.id, since.seq)
    // By time as well: an event that came late is numbered late.
    this.#sql.supersedeRange.run(
      FLAG.superseded,
      session.id,
      since.seq,
      lastSeq,
      FLAG.sidechain,
      since.ts,
      lastAt,
    )
  }

  #saveCursor({ cursor }: Batch): void {
    this.#sql.cursor.run(
      cursor.path,
      cursor.flavor,
      cursor.adapterVersion,
      cursor.device,
      cursor.inode,
      cursor.bornAt,
      cursor.size,
      cursor.modifiedAt,
      cursor.headHash,
      cursor.headLength,
      cursor.tailHash,
      cursor.offset,
      cursor.state,
      cursor.companions,
      cursor.generation,
      cursor.sessionUid,
      cursor.missingAt,
    )
  }
}

const latest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.max(a, b)

function countEvent(session: CachedSession, kind: EventKind, flags: number, step: 1 | -1): void {
  session.eventCount += step
  if (flags & (FLAG.inherited | FLAG.copied)) return
  if (kind === 'user_msg' && !(flags & FLAG.sidechain)) session.turnCount += step
  if (kind === 'retry') session.retryCount += step
  if (kind === 'error') session.errorCount += step
}

function* groupBySize<T extends { bytes: Uint8Array }>(items: readonly T[]): Generator<T[]> {
  let group: T[] = []
  let size = 0
  for (const item of items) {
    group.push(item)
    size += item.bytes.length
    if (size < CHUNK_BYTES) continue
    yield group
    group = []
    size = 0
  }
  if (group.length > 0) yield group
}
