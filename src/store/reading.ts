// Opens a memory for reading. Apart from the store, which writes: most commands only read, and loading what they do not
// use would take them longer than what they do.
import { join } from 'node:path'
import { fromSqlite, RecollectError } from '../errors.ts'
import { type Database, emptyDatabase, openDatabase, prepared } from './database.ts'
import { decisionBody } from './decisions.ts'
import { CACHE_MIGRATIONS, MEMORY_MIGRATIONS } from './schema.ts'
import { readChunk, segmentPath } from './segments.ts'
import type { ReadHandle } from './store.ts'

export interface StorePaths {
  memoryPath: string
  cacheDirectory: string
}

/** Where a memory lies, given its home. */
export const storePaths = (home: string, memoryPath?: string): StorePaths => ({
  memoryPath: memoryPath || join(home, 'memory.db'),
  cacheDirectory: join(home, 'cache'),
})

/** Opens what is there for reading; throws NO_MEMORY when nothing was ever swept. */
export function openForReading(paths: StorePaths): ReadHandle & { close(): void } {
  const memory = openDatabase(paths.memoryPath, MEMORY_MIGRATIONS, { readOnly: true })
  const cache = openCache(join(paths.cacheDirectory, 'cache.db'))
  return {
    memory,
    cache,
    payload: payloadReader(cache, memory, join(paths.cacheDirectory, 'blobs')),
    close: () => {
      memory.close()
      cache.close()
    },
  }
}

/** The cache may be thrown away at any time, or not be begun; what is remembered for good can be read without it. */
const openCache = (path: string): Database =>
  openedOr(
    () => openDatabase(path, CACHE_MIGRATIONS, { readOnly: true }),
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
export const openOrEmpty = (paths: StorePaths): ReadHandle & { close(): void } =>
  openedOr(() => openForReading(paths), emptyMemory)

function emptyMemory(): ReadHandle & { close(): void } {
  const [memory, cache] = [emptyDatabase(MEMORY_MIGRATIONS), emptyDatabase(CACHE_MIGRATIONS)]
  const close = (): void => {
    memory.close()
    cache.close()
  }
  return { memory, cache, payload: () => undefined, close }
}

/** Opens Tier 2 alone, which is there even when the cache was thrown away; throws NOT_FOUND when nothing was ever swept. */
export function openMemory(
  paths: StorePaths,
  use: 'read' | 'write' = 'read',
): Pick<ReadHandle, 'memory'> & { close(): void } {
  if (use === 'write') openDatabase(paths.memoryPath, MEMORY_MIGRATIONS, { readOnly: true }).close()
  const memory = openDatabase(paths.memoryPath, MEMORY_MIGRATIONS, { readOnly: use === 'read' })
  return { memory, close: () => memory.close() }
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
