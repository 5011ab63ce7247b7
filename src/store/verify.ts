// Re-derives everything that can be: SQLite's own checks, every payload against its hash, every reference against its row.
import { hash } from 'node:crypto'
import { existsSync, statSync } from 'node:fs'
import { fromSqlite, RecollectError } from '../errors.ts'
import { listsBy } from '../lists.ts'
import type { Database } from './database.ts'
import { brokenReferences, countLostBodies } from './references.ts'
import { readChunk, segmentPath } from './segments.ts'
import type { VerifyReport } from './store.ts'

export function verifyStore(cache: Database, memory: Database, blobDirectory: string): VerifyReport {
  const problems: string[] = []
  for (const [name, database] of [
    ['memory.db', memory],
    ['cache.db', cache],
  ] as const) {
    for (const problem of pageDamage(database)) problems.push(`${name}: ${problem}`)
  }
  const leaving = openReceipts(memory)
  const going = numbersOf(cache, leaving)
  for (const { what, count } of brokenReferences(cache, memory, [...going])) problems.push(`${count} ${what}`)
  const indexes = [indexDamage(cache, 'words'), indexDamage(memory, 'digest_words')]
  for (const damage of indexes) if (damage !== undefined) problems.push(`full-text index: ${damage}`)
  let last = ''
  const read = { payloadCount: 0, segmentBytes: 0 }
  const segments = readPayloads(cache, blobDirectory, {
    onShort: ({ id, session_uid, segment_size }, size) => {
      if (going.has(id)) return
      problems.push(`${session_uid}: segment has ${size} bytes, ${segment_size} were committed`)
    },
    onDamaged: ({ id, session_uid }, { chunk, at }, reason) => {
      if (going.has(id)) return
      // The first of a session stands for them all.
      if (session_uid !== last) problems.push(`${session_uid}: payload at ${chunk}+${at}: ${reason}`)
      last = session_uid
    },
  })
  for (const { payloadCount, segmentBytes } of segments) {
    read.payloadCount += payloadCount
    read.segmentBytes += segmentBytes
  }
  const { count } = cache.prepare('SELECT count(*) AS count FROM events').get() as { count: number }
  return {
    eventCount: count,
    ...read,
    lostBodyCount: countLostBodies(cache),
    leavingCount: leaving.length,
    problems,
  }
}

/** Sessions whose eviction was cut off, or is under way: their files go before their rows. The next sweep, or eviction, ends it. */
const openReceipts = (memory: Database): string[] =>
  (
    memory
      .prepare("SELECT DISTINCT session_uid AS uid FROM receipts WHERE state <> 'evicted'")
      .all() as unknown as { uid: string }[]
  ).map(({ uid }) => uid)

function numbersOf(cache: Database, uids: readonly string[]): Set<number> {
  const number = cache.prepare('SELECT id FROM cached WHERE session_uid = ?')
  return new Set(uids.flatMap((uid) => (number.get(uid) as { id: number } | undefined)?.id ?? []))
}

/**
 * What SQLite finds wrong with its pages, and with rows against indexes. Table by table where a full-text index is broken:
 * the check of the whole file ends there. `indexDamage` tells of that, and it can be made again where it is.
 */
export function pageDamage(database: Database): string[] {
  try {
    const problems = checkPages(database, MAX_PROBLEMS)
    if (!problems.some((text) => IS_INDEX.test(text))) return problems
  } catch (error) {
    if (!isCorrupt(error)) throw error
  }
  const tables = database
    .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type IN ('table', 'shadow')")
    .all() as unknown as { name: string }[]
  return tables.flatMap(({ name }) => {
    try {
      return checkPages(database, `"${name}"`).filter((text) => !IS_INDEX.test(text))
    } catch (error) {
      if (!isCorrupt(error)) throw error
      return [`${name}: ${(error as Error).message}`]
    }
  })
}

const MAX_PROBLEMS = '20'
const IS_INDEX = /inverted index for FTS5 table|^fts5:/

const isCorrupt = (error: unknown): boolean => {
  const known = fromSqlite(error, 'cannot read the database', 'the database')
  return known instanceof RecollectError && known.code === 'CORRUPT'
}

function checkPages(database: Database, what: string): string[] {
  const rows = database.prepare(`PRAGMA integrity_check(${what})`).all() as unknown as {
    integrity_check: string
  }[]
  return rows.map((row) => row.integrity_check).filter((text) => text !== 'ok')
}

/** What FTS5 itself finds wrong with an index. */
export function indexDamage(database: Database, index: 'words' | 'digest_words'): string | undefined {
  try {
    database.exec(`INSERT INTO ${index} (${index}) VALUES ('integrity-check')`)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

export interface PayloadRow {
  /** As text: half a million small buffers are dear to make, and stay until they are collected. */
  hash: string
  chunk: number
  at: number
  length: number
}

export interface SegmentRow {
  id: number
  session_uid: string
  segment_size: number
  payloads: number
}

/** Looked at together: more would take memory, fewer a pass over the table for each few. */
const MAX_PAYLOADS = 30_000

export interface Findings {
  /** Fewer bytes than were committed. */
  onShort(session: SegmentRow, size: number): void
  onDamaged(session: SegmentRow, row: PayloadRow, reason: string): void
}

interface SegmentRead {
  payloadCount: number
  payloadBytes: number
  segmentBytes: number
}

/** Reads every payload there is, one session after another. */
export function* readPayloads(
  cache: Database,
  blobDirectory: string,
  findings: Findings,
): Generator<SegmentRead> {
  const sessions = cache
    .prepare(
      `SELECT id, session_uid, segment_size, coalesce(p.payloads, 0) AS payloads FROM cached
       LEFT JOIN (SELECT session, count(*) AS payloads FROM payloads GROUP BY session) p ON p.session = id ORDER BY id`,
    )
    .all() as unknown as SegmentRow[]
  for (let at = 0; at < sessions.length; ) {
    const some: SegmentRow[] = []
    for (let room = MAX_PAYLOADS; at < sessions.length && room > 0; room -= some.at(-1)?.payloads ?? 0)
      some.push(sessions[at++] as SegmentRow)
    const bySession = payloadsBySession(cache, some)
    for (const session of some) {
      const rows = bySession.get(session.id) ?? []
      const path = segmentPath(blobDirectory, session.session_uid)
      yield {
        payloadCount: rows.length,
        payloadBytes: rows.reduce((sum, { length }) => sum + length, 0),
        segmentBytes: readSegment(path, session, rows, findings),
      }
    }
  }
}

/** Returns its size. */
function readSegment(
  path: string,
  session: SegmentRow,
  rows: readonly PayloadRow[],
  findings: Findings,
): number {
  const size = existsSync(path) ? statSync(path).size : 0
  if (size < session.segment_size) findings.onShort(session, size)
  let chunk: Chunk | undefined
  for (const row of rows) {
    // Once, also one that cannot be read: a thousand attempts pile up faster than they are collected.
    if (chunk?.offset !== row.chunk) chunk = chunkAt(path, row.chunk)
    const reason = 'reason' in chunk ? chunk.reason : damageOf(row, chunk.bytes)
    if (reason !== undefined) findings.onDamaged(session, row, reason)
  }
  return size
}

type Chunk = { offset: number } & ({ bytes: Buffer } | { reason: string })

function chunkAt(path: string, offset: number): Chunk {
  try {
    return { offset, bytes: readChunk(path, offset) }
  } catch (error) {
    return { offset, reason: (error as Error).message }
  }
}

function damageOf({ at, length, hash: known }: PayloadRow, chunk: Buffer): string | undefined {
  const bytes = chunk.subarray(at, at + length)
  return hash('sha256', bytes, 'hex').startsWith(known) ? undefined : 'hash differs'
}

function payloadsBySession(cache: Database, sessions: readonly SegmentRow[]): Map<number, PayloadRow[]> {
  // Not `iterate`: a statement that nobody holds may be collected under its own iterator.
  const rows = cache
    .prepare(
      `SELECT lower(hex(hash)) AS hash, session, chunk, at, length FROM payloads WHERE session BETWEEN ? AND ?
       ORDER BY session, chunk, at`,
    )
    .all(sessions[0]?.id ?? 0, sessions.at(-1)?.id ?? 0) as unknown as (PayloadRow & { session: number })[]
  return listsBy(rows, (row) => row.session)
}
