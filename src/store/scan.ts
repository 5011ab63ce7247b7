// Reads the bodies of events themselves, for what the full-text index does not hold: of long outputs it has only the ends.
// Chunks are unpacked side by side in Node's thread pool, and looked at as bytes; only a chunk that may hold what is asked
// for is taken apart into bodies.
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { promisify } from 'node:util'
import { errnoOf, fromSystem } from '../errors.ts'
import { zlib } from '../files/builtin.ts'
import { listsBy } from '../lists.ts'
import { firstColumn, rows } from './database.ts'
import type { Databases } from './databases.ts'
import { type Candidate, type EventConditions, eventConditions } from './reader/candidates.ts'
import { type NarrowedFilter, sessionConditions } from './reader/filters.ts'
import { idsOf } from './reader/numbers.ts'
import { chunkHeader, HEADER_BYTES, segmentPath } from './segments.ts'

export interface ScanQuestion {
  sessions: NarrowedFilter
  events: EventConditions
  /** Whether a chunk may hold it, by its bytes: bodies are JSON, in UTF-8. */
  mayHold: (chunk: Buffer) => boolean
  /** Whether a body holds it, as it is stored. */
  holds: (body: string) => boolean
  /** Runs `holds` over a chunk where that may take without end; undefined when it was ended, and nothing more is asked. */
  run?: Run | undefined
  signal?: AbortSignal | undefined
  /** Bytes on disk: read so far, of so many. */
  progress?: ((read: number, of: number) => void) | undefined
  /** What was read, filled in on the way. */
  scanned: Scanned
}

export type Run = <T>(work: () => T) => T | undefined

export interface Scanned {
  /** Bytes of text that were looked at. */
  bytes: number
  /** That were looked into. */
  sessions: number
  /** Chunks that cannot be read. */
  damaged: number
}

/** Chunks that are being unpacked at a time. */
const AHEAD = 8

/** Events of the newest sessions first. */
export async function* scanBodies(
  databases: Databases,
  blobDirectory: string,
  question: ScanQuestion,
): AsyncGenerator<Candidate> {
  const visits = visitsOf(databases, question)
  const total = visits.reduce((sum, visit) => sum + visit.size, 0)
  const waiting: Promise<Unpacked>[] = []
  const events = new EventsOf(databases, question)
  const looked = new Set<Visit>()
  let done = 0
  const take = async function* (): AsyncGenerator<Candidate> {
    const { visit, at, length, bytes } = await (waiting.shift() as Promise<Unpacked>)
    done += length
    question.progress?.(done, total)
    if (bytes === undefined) question.scanned.damaged++
    else {
      try {
        if (question.mayHold(bytes)) yield* events.holding(visit, at, bytes)
      } finally {
        // One that was ended in its midst was not looked through.
        if (!question.signal?.aborted) {
          question.scanned.bytes += bytes.length
          question.scanned.sessions = looked.add(visit).size
        }
      }
    }
  }
  for (const chunk of packedChunks(blobDirectory, visits, question.scanned)) {
    if (question.signal?.aborted) return
    waiting.push(unpack(chunk))
    if (waiting.length >= AHEAD) yield* take()
  }
  while (waiting.length > 0 && !question.signal?.aborted) yield* take()
}

/** A segment to look through, for the events of a session: its own, or one that holds what it copied. */
interface Visit {
  session: number
  owner: number
  ownerUid: string
  size: number
  /** All of them unless told. */
  chunks?: ReadonlySet<number>
}

function visitsOf(databases: Databases, { sessions }: ScanQuestion): Visit[] {
  const { where, values } = sessionConditions(sessions)
  const uids = firstColumn<string>(
    databases.memory,
    `SELECT s.session_uid AS uid FROM sessions s WHERE ${where} ORDER BY s.ended_at DESC, s.session_uid`,
    ...values,
  )
  const ids = idsOf(databases, uids)
  const wanted = JSON.stringify(uids.map((uid) => ids.get(uid)).filter((id) => id !== undefined))
  const own = rows<{ id: number; uid: string; size: number }>(
    databases.cache,
    `SELECT c.id, c.session_uid AS uid, c.segment_size AS size FROM json_each(?) j CROSS JOIN cached c ON c.id = j.value
     WHERE c.segment_size > 0 ORDER BY j.key`,
    wanted,
  )
  return [
    ...own.map(({ id, uid, size }) => ({ session: id, owner: id, ownerUid: uid, size })),
    ...borrowed(databases, wanted),
  ]
}

/** What sessions that count copied from others that do not. */
function borrowed({ cache }: Databases, wanted: string): Visit[] {
  const found = rows<{ session: number; owner: number; uid: string; chunks: string }>(
    cache,
    `SELECT b.session, p.session AS owner, c.session_uid AS uid, json_group_array(DISTINCT p.chunk) AS chunks
     FROM json_each(?1) j CROSS JOIN borrowed b ON b.session = j.value
     CROSS JOIN payloads p ON p.hash = b.hash CROSS JOIN cached c ON c.id = p.session
     WHERE p.session <> b.session AND p.session NOT IN (SELECT value FROM json_each(?1)) GROUP BY b.session, p.session`,
    wanted,
  )
  return found.map(({ session, owner, uid, chunks }) => ({
    session,
    owner,
    ownerUid: uid,
    size: 0,
    chunks: new Set(JSON.parse(chunks) as number[]),
  }))
}

interface Packed {
  visit: Visit
  at: number
  length: number
  raw: number
  body: Buffer | undefined
}

/** A segment whose file is gone, or that ends too early, is damaged: the rest is read all the same. */
function* packedChunks(directory: string, visits: readonly Visit[], scanned: Scanned): Generator<Packed> {
  for (const visit of visits) {
    const path = segmentPath(directory, visit.ownerUid)
    let fd: number
    try {
      fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw fromSystem(error, 'cannot read payloads', path, 'read')
      scanned.damaged++
      continue
    }
    try {
      yield* visit.chunks ? chosenChunks(fd, visit, visit.chunks) : allChunks(fd, visit)
    } finally {
      closeSync(fd)
    }
  }
}

function* allChunks(fd: number, visit: Visit): Generator<Packed> {
  for (let at = 0; at < visit.size; ) {
    const chunk = packedAt(fd, visit, at)
    yield chunk
    if (chunk.body === undefined) return
    at += chunk.length
  }
}

function* chosenChunks(fd: number, visit: Visit, chunks: ReadonlySet<number>): Generator<Packed> {
  for (const at of chunks) yield packedAt(fd, visit, at)
}

function packedAt(fd: number, visit: Visit, at: number): Packed {
  const header = Buffer.alloc(HEADER_BYTES)
  const lengths = readSync(fd, header, 0, HEADER_BYTES, at) === HEADER_BYTES ? chunkHeader(header) : undefined
  if (lengths === undefined) return { visit, at, length: visit.size - at, raw: 0, body: undefined }
  // A damaged header may ask for any length; no chunk is longer than its segment.
  const most = visit.chunks ? lengths.packed : Math.min(lengths.packed, visit.size - at)
  const body = Buffer.allocUnsafe(most)
  const got = readSync(fd, body, 0, most, at + HEADER_BYTES)
  const isWhole = got === lengths.packed
  return {
    visit,
    at,
    length: HEADER_BYTES + lengths.packed,
    raw: lengths.raw,
    body: isWhole ? body : undefined,
  }
}

interface Unpacked {
  visit: Visit
  at: number
  length: number
  bytes: Buffer | undefined
}

async function unpack({ visit, at, length, raw, body }: Packed): Promise<Unpacked> {
  const bytes = body && (await decompressed(body, raw))
  return { visit, at, length, bytes }
}

async function decompressed(body: Buffer, length: number): Promise<Buffer | undefined> {
  const { brotliDecompress } = zlib()
  const options = {
    maxOutputLength: Math.max(1, length),
    chunkSize: Math.min(Math.max(64, length + 1), 1 << 22),
  }
  try {
    const bytes = await promisify<Buffer, typeof options, Buffer>(brotliDecompress)(body, options)
    return bytes.length === length ? bytes : undefined
  } catch {
    return undefined
  }
}

interface Placed extends Candidate {
  chunk: number
  at: number
  length: number
}

/** The events of a session by the chunk that holds their bodies, looked up where a chunk turns out to be worth it. */
class EventsOf {
  readonly #databases: Databases
  readonly #question: ScanQuestion
  #visit: Visit | undefined
  #byChunk = new Map<number, Placed[]>()

  constructor(databases: Databases, question: ScanQuestion) {
    this.#databases = databases
    this.#question = question
  }

  *holding(visit: Visit, chunk: number, bytes: Buffer): Generator<Candidate> {
    if (this.#visit !== visit) this.#load(visit)
    const { holds, run = (work) => work() } = this.#question
    const placed = this.#byChunk.get(chunk) ?? []
    const isIn = ({ at, length }: Placed): boolean => holds(bytes.toString('utf8', at, at + length))
    for (const { chunk: _, at, length, ...event } of run(() => placed.filter(isIn)) ?? []) yield event
  }

  #load(visit: Visit): void {
    const { where, values } = eventConditions(this.#question.events, this.#question.sessions.excludeSession)
    const found = rows<Placed>(
      this.#databases.cache,
      `SELECT e.id, e.session, e.seq, e.ts, e.kind, e.flags, -1.0 AS rank, p.chunk, p.at, p.length
       FROM events e CROSS JOIN payloads p ON p.hash = e.payload WHERE e.session = ? AND p.session = ? AND ${where} ORDER BY e.seq`,
      visit.session,
      visit.owner,
      ...values,
    )
    this.#visit = visit
    this.#byChunk = listsBy(found, (one) => one.chunk)
  }
}
