// Opens a memory for reading. Apart from the store, which writes: most commands only read, and loading what they do not
// use would take them longer than what they do.
import { join } from 'node:path'
import { fromSqlite, RecollectError } from '../errors.ts'
import { CACHE_MIGRATIONS } from './cache-schema.ts'
import { type Database, emptyDatabase, openDatabase, prepared } from './database.ts'
import { type Databases, putBehind } from './databases.ts'
import { decisionBody } from './decisions.ts'
import { MEMORY_MIGRATIONS } from './memory-schema.ts'
import { type Reader, readerOf } from './reader/index.ts'
import { readChunk, segmentPath } from './segments.ts'

export interface StorePaths {
  memoryPath: string
  cacheDirectory: string
}

/** Where a memory lies, given its home. */
export const storePaths = (home: string, memoryPath?: string): StorePaths => ({
  memoryPath: memoryPath || join(home, 'memory.db'),
  cacheDirectory: join(home, 'cache'),
})

export interface OpenReader extends Reader {
  close(): void
}

/** Opens what is there for reading; throws NO_MEMORY when nothing was ever swept. */
export function openForReading(paths: StorePaths): OpenReader {
  const memory = openDatabase(paths.memoryPath, MEMORY_MIGRATIONS, { readOnly: true })
  return openReader({ memory, cache: openCache(paths) }, join(paths.cacheDirectory, 'blobs'))
}

function openReader(databases: Databases, blobDirectory: string): OpenReader {
  const { memory, cache } = databases
  const reader = readerOf(databases, bodiesIn(databases, blobDirectory))
  const close = (): void => {
    memory.close()
    cache.close()
  }
  return putBehind({ ...reader, close }, databases)
}

/** The cache may be thrown away at any time, or not be begun; what is remembered for good can be read without it. */
const openCache = ({ cacheDirectory }: StorePaths): Database =>
  openedOr(
    () => openDatabase(join(cacheDirectory, 'cache.db'), CACHE_MIGRATIONS, { readOnly: true }),
    () => emptyDatabase(CACHE_MIGRATIONS),
  )

function openedOr<T>(open: () => T, none: () => T): T {
  try {
    return open()
  } catch (error) {
    if (error instanceof RecollectError && error.code === 'NO_MEMORY') return none()
    throw error
  }
}

/** What a question ran into: where SQLite failed, an error of ours that says so. */
export const unanswered = (error: unknown, { memoryPath, cacheDirectory }: StorePaths): unknown =>
  fromSqlite(error, 'the memory cannot be read', `${memoryPath}, or cache.db in ${cacheDirectory}`)

/** The same, or a memory of nothing where nothing was ever swept; none is made on disk. */
export const openOrEmpty = (paths: StorePaths): OpenReader =>
  openedOr(
    () => openForReading(paths),
    () =>
      openReader({ memory: emptyDatabase(MEMORY_MIGRATIONS), cache: emptyDatabase(CACHE_MIGRATIONS) }, ''),
  )

/**
 * Opens Tier 2, which is there even when the cache was thrown away, and the cache only where it is asked: for questions that
 * Tier 2 answers alone. Throws NO_MEMORY when nothing was ever swept.
 */
export function openMemory(paths: StorePaths): OpenReader {
  const memory = openDatabase(paths.memoryPath, MEMORY_MIGRATIONS, { readOnly: true })
  return lazyReader(memory, paths)
}

export function lazyReader(memory: Database, paths: StorePaths): OpenReader {
  let cache: Database | undefined
  const databases = {
    memory,
    get cache(): Database {
      cache ??= openCache(paths)
      return cache
    },
  }
  // The cache is opened by the first question that needs it.
  const bodies = (): Bodies => bodiesIn(databases, join(paths.cacheDirectory, 'blobs'))
  const payload: Bodies['payload'] = (ref) => bodies().payload(ref)
  const scan: Bodies['scan'] = (question) => bodies().scan(question)
  const close = (): void => {
    memory.close()
    cache?.close()
  }
  return putBehind({ ...readerOf(databases, { payload, scan }), close }, databases)
}

type Bodies = Pick<Reader, 'payload' | 'scan'>

/** What a reader reads from segments. */
export function bodiesIn(databases: Databases, blobDirectory: string): Bodies {
  return {
    payload: payloadReader(databases.cache, databases.memory, blobDirectory),
    async *scan(question) {
      // Most questions need no look at every body, nor what it takes.
      const { scanBodies } = await import('./scan.ts')
      yield* scanBodies(databases, blobDirectory, question)
    },
  }
}

const BY_HASH =
  'SELECT p.chunk, p.at, p.length, c.session_uid FROM payloads p JOIN cached c ON c.id = p.session WHERE p.hash = ?'

/** Bodies of events and decisions, by their reference. */
export function payloadReader(
  cache: Database,
  memory: Database,
  blobDirectory: string,
): (ref: string) => string | undefined {
  // Neighbours are read one after another: the last chunk is worth keeping.
  let last: { key: string; bytes: Buffer } | undefined
  return (ref) => {
    const decision = decisionBody(memory, ref)
    if (decision !== undefined) return decision
    const row = prepared(cache, BY_HASH).get(Buffer.from(ref.replace(/^blob:\/\//, ''), 'hex')) as
      | { chunk: number; at: number; length: number; session_uid: string }
      | undefined
    if (!row) return undefined
    const key = `${row.session_uid}\0${row.chunk}`
    if (last?.key !== key) {
      const bytes = chunkOrGone(segmentPath(blobDirectory, row.session_uid), row.chunk)
      if (!bytes) return undefined
      last = { key, bytes }
    }
    return last.bytes.toString('utf8', row.at, row.at + row.length)
  }
}

/** Eviction removes the file before the rows. One that is damaged is named by `verify`, and keeps nothing else from being read. */
function chunkOrGone(path: string, offset: number): Buffer | undefined {
  try {
    return readChunk(path, offset)
  } catch (error) {
    const { code } = error as RecollectError
    if (code === 'NOT_FOUND' || code === 'CORRUPT') return undefined
    throw error
  }
}
