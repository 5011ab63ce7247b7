// The SQLite store: memory.db and cache.db side by side, payload segments below cache/blobs.
import { join } from 'node:path'
import { fromSqlite } from '../errors.ts'
import { SqliteArchive } from './archive.ts'
import { CACHE_MIGRATIONS } from './cache-schema.ts'
import { openDatabase } from './database.ts'
import { SqliteIngest } from './ingest.ts'
import { MEMORY_MIGRATIONS } from './memory-schema.ts'
import { pairUp } from './pair.ts'
import { readerOf } from './reader/index.ts'
import { bodiesIn, payloadReader, type StorePaths } from './reading.ts'
import { type Salvage, salvage } from './salvage.ts'
import type { Store } from './store.ts'
import { CacheWriter } from './write.ts'

/** Saves what can be read where a database is damaged; to be called before the store is opened. */
export function salvageStore({ memoryPath, cacheDirectory }: StorePaths): Salvage[] {
  const saved = [
    salvage(memoryPath, MEMORY_MIGRATIONS, true),
    // What the agents still have is read again; what they have not is among the rows that are saved.
    salvage(join(cacheDirectory, 'cache.db'), CACHE_MIGRATIONS, false),
  ]
  return saved.filter((one) => one !== undefined)
}

export function openStore(paths: StorePaths): Store {
  const path = join(paths.cacheDirectory, 'cache.db')
  const memory = openDatabase(paths.memoryPath, MEMORY_MIGRATIONS)
  const cache = openDatabase(path, CACHE_MIGRATIONS, { cacheBytes: 32 << 20 })
  try {
    pairUp(memory, cache)
  } catch (error) {
    throw fromSqlite(error, 'cannot open the memory', paths.cacheDirectory)
  }
  const blobDirectory = join(paths.cacheDirectory, 'blobs')
  const writer = new CacheWriter(cache, memory, blobDirectory)
  const payload = payloadReader(cache, memory, blobDirectory)
  return {
    ingest: new SqliteIngest({ memory, cache }, writer, payload),
    archive: new SqliteArchive({ memory, cache }, writer, blobDirectory),
    reader: readerOf({ memory, cache }, bodiesIn({ memory, cache }, blobDirectory)),
    path,
    close: () => {
      cache.close()
      memory.close()
    },
  }
}
