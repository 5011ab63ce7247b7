// The write path of the SQLite store. Order, and what a kill leaves at each step:
//   1. payload chunks appended and flushed   left over bytes at the end of segments, cut off by the next append
//   2. memory.db committed                   usage, facts and edges that will be written again: all are upserts
//   3. cache.db committed (events + cursor)  the batch is done; before this the cursor has not moved, so it is read again

import { EVENT_KINDS, type EventKind, type Role } from '../model.ts'
import { type Batch, ID_BYTES, ID_LAYOUT, type PreparedEvent, type PreparedSupersede } from './batch.ts'
import { type Database, transaction } from './database.ts'
import { MemoryWriter, type Span } from './memory.ts'
import { appendChunks, CHUNK_BYTES, compressChunk, segmentPath } from './segments.ts'
import type { WriteReport } from './store.ts'
import { indexText } from './words.ts'

export const ROLES: readonly Role[] = ['user', 'assistant', 'system', 'tool']
/** `inherited` is the format's own word, `copied` was found by comparing sessions. */
export const FLAG = { sidechain: 1, inherited: 2, superseded: 4, copied: 8 } as const

interface CachedSession {
  id: number
  nextSeq: number
  segmentSize: number
  eventCount: number
  turnCount: number
  retryCount: number
  errorCount: number
  /** The event written last: most often the parent of the next. */
  lastKey: Uint8Array | null
  /** Payloads waiting to be written to the session's segment. */
  pending: { hash: Uint8Array; bytes: Uint8Array }[]
}

interface Row {
  id: number
  session: number
  seq: number
  payload: Uint8Array
  flags: number
  kind: number
}

export class CacheWriter {
  readonly #cache: Database
  readonly #memory: MemoryWriter
  readonly #blobDirectory: string
  readonly #sessions = new Map<string, CachedSession>()
  /** Payloads of this transaction that are not in the table yet. */
  readonly #pendingHashes = new Set<string>()
  readonly #sql: ReturnType<typeof statements>

  constructor(cache: Database, memory: Database, blobDirectory: string) {
    this.#cache = cache
    this.#memory = new MemoryWriter(memory)
    this.#blobDirectory = blobDirectory
    this.#sql = statements(cache)
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
      lastKey: null,
      pending: [],
    }
    this.#sessions.set(uid, session)
    return session
  }

  #writeBatch(batch: Batch, report: WriteReport, spans: Map<string, Span>): void {
    const path = batch.cursor.path
    if (batch.fromOffset === 0) {
      this.#sql.clearUnknown.run(path)
      this.#sql.clearFindings.run(path)
    }
    for (const [at, event] of batch.events.entries()) {
      this.#writeEvent(event, idsOf(batch, at), batch.payloads, report)
      report.sessionUids.add(event.sessionUid)
      const span = spans.get(event.sessionUid) ?? { firstAt: null, lastAt: null }
      spans.set(event.sessionUid, span)
      if (event.ts === null) continue
      span.firstAt = Math.min(span.firstAt ?? event.ts, event.ts)
      span.lastAt = Math.max(span.lastAt ?? event.ts, event.ts)
    }
    // Also a session that only got facts or usage has to be settled.
    for (const { sessionUid } of [...batch.facts, ...batch.usage]) {
      report.sessionUids.add(sessionUid)
      this.#session(sessionUid)
    }
    for (const item of batch.supersedes) this.#supersede(item)
    this.#writeGaps(batch)
    for (const [name, count] of Object.entries(batch.unknown)) this.#sql.unknown.run(path, name, count)
    for (const [uid, counts] of Object.entries(batch.findings)) {
      const { id } = this.#session(uid)
      for (const [rule, count] of Object.entries(counts)) this.#sql.finding.run(path, id, rule, count)
    }
    this.#saveCursor(batch)
  }

  #writeGaps({ cursor: { path }, fromOffset, isFirst, gaps }: Batch): void {
    this.#sql.clearGaps.run(path, fromOffset)
    if (isFirst) this.#sql.clearCompanionGaps.run(path, fromOffset)
    for (const { file, offset, length, reason, detail, isPending } of gaps)
      this.#sql.gap.run(path, file ?? '', offset, length, reason, detail, isPending ? 1 : 0)
  }

  #writeEvent(event: PreparedEvent, ids: EventIds, payloads: Uint8Array, report: WriteReport): void {
    const session = this.#session(event.sessionUid)
    const others = this.#rowsWithKey(ids.key, session.id)
    const known = others?.find((row) => row.session === session.id)
    if (known) {
      if (!sameBytes(known.payload, ids.payload)) {
        this.#replaceEvent(known, event, ids, payloads, session)
        report.changedEventCount++
      }
      return
    }
    const seq = session.nextSeq++
    const flags = (event.isSidechain ? FLAG.sidechain : 0) | (event.isInherited ? FLAG.inherited : 0)
    const parentSeq = event.hasParent ? this.#parentSeq(ids.parentKey, session) : null
    session.lastKey = ids.key
    this.#storePayload(event, ids, payloads, session)
    const { lastInsertRowid } = this.#sql.insert.run(
      session.id,
      seq,
      ids.key,
      parentSeq,
      parentSeq === null && event.hasParent ? ids.parentKey : null,
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
    this.#indexWords(Number(lastInsertRowid), event)
    report.newEventCount++
    for (const other of others ?? [])
      this.#sql.shared.run(Math.min(other.session, session.id), Math.max(other.session, session.id))
    countEvent(session, event.kind, flags, 1)
  }

  /** Usually none, and none is the cheapest to find out. */
  #rowsWithKey(key: Uint8Array, session: number): Row[] | undefined {
    const first = this.#sql.findKey.get(key) as Row | undefined
    if (!first) return undefined
    return first.session === session ? [first] : (this.#sql.findKey.all(key) as unknown as Row[])
  }

  #replaceEvent(
    known: Row,
    event: PreparedEvent,
    ids: EventIds,
    payloads: Uint8Array,
    session: CachedSession,
  ): void {
    this.#storePayload(event, ids, payloads, session)
    countEvent(session, EVENT_KINDS[known.kind] as EventKind, known.flags, -1)
    countEvent(session, event.kind, known.flags, 1)
    this.#sql.update.run(
      EVENT_KINDS.indexOf(event.kind),
      event.ts,
      event.summary,
      event.tool,
      event.exitCode,
      event.durationMs,
      ids.payload,
      known.id,
    )
    this.#sql.unword.run(known.id)
    this.#indexWords(known.id, event)
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
        session.id,
      )
    }
    this.#pendingHashes.clear()
    // Kept small: a sweep over thousands of sessions must not hold them all.
    if (this.#sessions.size > 64) this.#sessions.clear()
  }

  #supersede(item: PreparedSupersede): void {
    const session = this.#session(item.sessionUid)
    for (const key of item.keys) this.#sql.supersedeOne.run(FLAG.superseded, key, session.id)
    if (item.sinceKey === null || item.untilKey === null) return
    const since = this.#seqOf(item.sinceKey, session.id)
    const until = this.#seqOf(item.untilKey, session.id)
    if (since !== null && until !== null)
      this.#sql.supersedeRange.run(FLAG.superseded, session.id, since, until, FLAG.sidechain)
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

function countEvent(session: CachedSession, kind: EventKind, flags: number, step: 1 | -1): void {
  session.eventCount += step
  if (flags & (FLAG.inherited | FLAG.copied)) return
  if (kind === 'user_msg' && !(flags & FLAG.sidechain)) session.turnCount += step
  if (kind === 'retry') session.retryCount += step
  if (kind === 'error') session.errorCount += step
}

type EventIds = Record<keyof typeof ID_LAYOUT, Uint8Array>

function idsOf(batch: Batch, at: number): EventIds {
  const start = at * ID_BYTES
  const part = ([from, to]: readonly [number, number]): Uint8Array =>
    batch.ids.subarray(start + from, start + to)
  return {
    key: part(ID_LAYOUT.key),
    parentKey: part(ID_LAYOUT.parentKey),
    payload: part(ID_LAYOUT.payload),
    call: part(ID_LAYOUT.call),
  }
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
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

function statements(cache: Database) {
  const marks = (count: number): string => Array(count).fill('?').join(',')
  return {
    session: cache.prepare('SELECT * FROM cached WHERE session_uid = ?'),
    newSession: cache.prepare('INSERT INTO cached (session_uid) VALUES (?) RETURNING *'),
    saveSession: cache.prepare(
      `UPDATE cached SET next_seq = ?, segment_size = ?, event_count = ?, turn_count = ?, retry_count = ?, error_count = ?,
       is_settled = 0 WHERE id = ?`,
    ),
    shared: cache.prepare(
      'INSERT INTO shared (first, second) VALUES (?, ?) ON CONFLICT DO UPDATE SET is_settled = 0 WHERE is_settled',
    ),
    finding: cache.prepare(
      `INSERT INTO findings (path, session, rule, count) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = count + excluded.count`,
    ),
    clearFindings: cache.prepare('DELETE FROM findings WHERE path = ?'),
    findKey: cache.prepare('SELECT id, session, seq, payload, flags, kind FROM events WHERE key = ?'),
    insert: cache.prepare(
      `INSERT INTO events (session, seq, key, parent_seq, parent_key, ts, kind, role, tool, call, summary, flags,
       agent, exit_code, duration_ms, payload) VALUES (${marks(16)})`,
    ),
    update: cache.prepare(
      'UPDATE events SET kind = ?, ts = ?, summary = ?, tool = ?, exit_code = ?, duration_ms = ?, payload = ? WHERE id = ?',
    ),
    payload: cache.prepare('SELECT 1 FROM payloads WHERE hash = ?'),
    newPayload: cache.prepare(
      'INSERT INTO payloads (hash, session, chunk, at, length) VALUES (?, ?, ?, ?, ?)',
    ),
    touched: cache.prepare('INSERT OR IGNORE INTO touched (session, path, seq) VALUES (?, ?, ?)'),
    words: cache.prepare('INSERT INTO words (rowid, prompt, answer, work) VALUES (?, ?, ?, ?)'),
    unword: cache.prepare('DELETE FROM words WHERE rowid = ?'),
    cursor: cache.prepare(`INSERT OR REPLACE INTO sources VALUES (${marks(17)})`),
    clearGaps: cache.prepare("DELETE FROM gaps WHERE path = ? AND file = '' AND offset >= ?"),
    clearCompanionGaps: cache.prepare(
      "DELETE FROM gaps WHERE path = ? AND file <> '' AND (is_pending OR ? = 0)",
    ),
    gap: cache.prepare(
      `INSERT OR REPLACE INTO gaps (path, file, offset, length, reason, detail, is_pending) VALUES (${marks(7)})`,
    ),
    unknown: cache.prepare(
      `INSERT INTO unknown_records (path, name, count) VALUES (?, ?, ?)
       ON CONFLICT (path, name) DO UPDATE SET count = count + excluded.count`,
    ),
    clearUnknown: cache.prepare('DELETE FROM unknown_records WHERE path = ?'),
    seqOf: cache.prepare('SELECT seq FROM events WHERE key = ? AND session = ?'),
    supersedeOne: cache.prepare('UPDATE events SET flags = flags | ? WHERE key = ? AND session = ?'),
    supersedeRange: cache.prepare(
      'UPDATE events SET flags = flags | ? WHERE session = ? AND seq BETWEEN ? AND ? AND NOT flags & ?',
    ),
  }
}
