// The SQLite store: memory.db and cache.db side by side, payload segments below cache/blobs.
import { join } from 'node:path'
import { fromSqlite } from '../errors.ts'
import type { Batch, Cursor, CursorMark } from './batch.ts'
import { readCursor, readMark, readMarks, readMarksOf } from './cursors.ts'
import { type Database, openDatabase, transaction } from './database.ts'
import { undigested, writeDigests } from './digests.ts'
import { Evictor } from './evict.ts'
import { pairUp } from './pair.ts'
import { payloadReader, type StorePaths } from './reading.ts'
import { markLostBodies } from './references.ts'
import { takeOutDamage } from './repair.ts'
import { type Salvage, salvage } from './salvage.ts'
import { CACHE_MIGRATIONS, MEMORY_MIGRATIONS } from './schema.ts'
import { IS_GONE, SOURCE_BYTES, settleAll } from './settle.ts'
import type {
  DigestRow,
  EvictOrder,
  EvictReport,
  Place,
  ReadHandle,
  RepairHooks,
  RepairReport,
  SessionPlace,
  Store,
  VerifyReport,
  WriteReport,
} from './store.ts'
import { verifyStore } from './verify.ts'
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
  return new SqliteStore(paths)
}

interface CachedRow {
  id: number
  session_uid: string
}

class SqliteStore implements Store {
  readonly #memory: Database
  readonly #cache: Database
  readonly #blobDirectory: string
  readonly #writer: CacheWriter

  constructor(paths: StorePaths) {
    this.#memory = openDatabase(paths.memoryPath, MEMORY_MIGRATIONS)
    this.#cache = openDatabase(join(paths.cacheDirectory, 'cache.db'), CACHE_MIGRATIONS, {
      cacheBytes: 32 << 20,
    })
    try {
      pairUp(this.#memory, this.#cache)
    } catch (error) {
      throw fromSqlite(error, 'cannot open the memory', paths.cacheDirectory)
    }
    this.#blobDirectory = join(paths.cacheDirectory, 'blobs')
    this.#writer = new CacheWriter(this.#cache, this.#memory, this.#blobDirectory)
  }

  mark(path: string): CursorMark | undefined {
    return readMark(this.#cache, path)
  }

  marks(scope?: readonly string[]): Iterable<CursorMark> {
    return readMarks(this.#cache, scope)
  }

  marksOf(file: Pick<CursorMark, 'device' | 'inode' | 'bornAt'>): CursorMark[] {
    return readMarksOf(this.#cache, file)
  }

  cursor(path: string): Cursor | undefined {
    return readCursor(this.#cache, path)
  }

  write(batches: readonly Batch[], isMore = false): WriteReport {
    return this.#writer.write(batches, isMore)
  }

  moveSource(path: string, newPath: string): void {
    // memory.db first: a kill in between leaves the old path in the cursor, and the move is seen again.
    transaction(this.#cache, () => {
      for (const table of ['sources', 'gaps', 'unknown_records', 'source_sessions']) {
        this.#cache.prepare(`UPDATE OR REPLACE ${table} SET path = ? WHERE path = ?`).run(newPath, path)
      }
      this.#memory.prepare('UPDATE sessions SET source_path = ? WHERE source_path = ?').run(newPath, path)
    })
  }

  markMissing(paths: readonly string[], at: number | null): void {
    const mark = this.#cache.prepare('UPDATE sources SET missing_at = ? WHERE path = ?')
    const sessionsOf = this.#cache.prepare(
      'SELECT c.id, c.session_uid FROM source_sessions w JOIN cached c ON c.id = w.session WHERE w.path = ?',
    )
    const isGone = this.#cache.prepare(IS_GONE)
    const bytes = this.#cache.prepare(SOURCE_BYTES)
    const save = this.#memory.prepare(
      'UPDATE sessions SET is_sole_copy = ?, source_bytes = ? WHERE session_uid = ?',
    )
    transaction(this.#cache, () => {
      for (const path of paths) {
        mark.run(at, path)
        for (const { id, session_uid } of sessionsOf.all(path) as unknown as CachedRow[]) {
          const { size } = bytes.get(session_uid) as { size: number }
          save.run((isGone.get(id) as { gone: number }).gone, size, session_uid)
        }
      }
    })
  }

  settle(place: (session: SessionPlace) => Place): number {
    this.#writer.forget()
    return settleAll(this.#cache, this.#memory, place)
  }

  undigested(ruleVersion: string, fingerprintPrefix: string): Iterable<string[]> {
    return undigested(this.#cache, this.#memory, ruleVersion, fingerprintPrefix)
  }

  writeDigests(rows: readonly DigestRow[]): void {
    writeDigests(this.#cache, this.#memory, rows)
  }

  evict(orders: readonly EvictOrder[], now: number, isMore = false): EvictReport {
    const evictor = new Evictor(this.#cache, this.#memory, this.#blobDirectory)
    try {
      return evictor.evict(orders, now, isMore)
    } finally {
      this.#writer.forget()
    }
  }

  read(): ReadHandle {
    return {
      memory: this.#memory,
      cache: this.#cache,
      payload: payloadReader(this.#cache, this.#memory, this.#blobDirectory),
    }
  }

  verify(): VerifyReport {
    return verifyStore(this.#cache, this.#memory, this.#blobDirectory)
  }

  async repair(hooks: RepairHooks): Promise<RepairReport> {
    this.#writer.forget()
    return await takeOutDamage(this.#cache, this.#memory, this.#blobDirectory, hooks)
  }

  markLost(): number {
    return markLostBodies(this.#cache)
  }

  close(): void {
    this.#cache.close()
    this.#memory.close()
  }
}
