// The SQLite store: memory.db and cache.db side by side, payload segments below cache/blobs.
import { join } from 'node:path'
import type { Batch, Cursor, CursorMark } from './batch.ts'
import { type Database, openDatabase, transaction } from './database.ts'
import { undigested, writeDigests } from './digests.ts'
import { Evictor } from './evict.ts'
import { unpackText } from './packed.ts'
import { pairUp } from './pair.ts'
import { payloadReader, type StorePaths } from './reading.ts'
import { CACHE_MIGRATIONS, MEMORY_MIGRATIONS } from './schema.ts'
import { IS_GONE, settleAll } from './settle.ts'
import type {
  DigestRow,
  EvictOrder,
  EvictReport,
  Place,
  ReadHandle,
  SessionPlace,
  Store,
  VerifyReport,
  WriteReport,
} from './store.ts'
import { verifyStore } from './verify.ts'
import { CacheWriter } from './write.ts'

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
    this.#cache = openDatabase(join(paths.cacheDirectory, 'cache.db'), CACHE_MIGRATIONS)
    pairUp(this.#memory, this.#cache)
    this.#blobDirectory = join(paths.cacheDirectory, 'blobs')
    this.#writer = new CacheWriter(this.#cache, this.#memory, this.#blobDirectory)
  }

  cursors(scope?: readonly string[]): Map<string, CursorMark> {
    const columns =
      'path, flavor, adapter_version, device, inode, born_at, size, modified_at, companions, missing_at'
    const where = scope ? 'WHERE path = ? OR (path > ? AND path < ?)' : ''
    const marks = this.#cache.prepare(`SELECT ${columns} FROM sources ${where}`)
    // As lists: for tens of thousands of rows objects cost three times as much.
    marks.setReturnArrays(true)
    const rows = scope ? scope.flatMap((path) => marks.all(path, `${path}/`, `${path}0`)) : marks.all()
    return new Map((rows as unknown as MarkRow[]).map((row) => [row[0], markFrom(row)]))
  }

  cursor(path: string): Cursor | undefined {
    const row = this.#cache.prepare('SELECT * FROM sources WHERE path = ?').get(path)
    return row ? cursorFrom(row as Record<string, unknown>) : undefined
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
    const save = this.#memory.prepare('UPDATE sessions SET is_sole_copy = ? WHERE session_uid = ?')
    transaction(this.#cache, () => {
      for (const path of paths) {
        mark.run(at, path)
        for (const { id, session_uid } of sessionsOf.all(path) as unknown as CachedRow[])
          save.run((isGone.get(id) as { gone: number }).gone, session_uid)
      }
    })
  }

  settle(place: (session: SessionPlace) => Place): number {
    this.#writer.forget()
    return settleAll(this.#cache, this.#memory, place)
  }

  undigested(ruleVersion: string): string[] {
    return undigested(this.#cache, this.#memory, ruleVersion)
  }

  writeDigests(rows: readonly DigestRow[]): void {
    writeDigests(this.#cache, this.#memory, rows)
  }

  evict(orders: readonly EvictOrder[], now: number): EvictReport {
    const evictor = new Evictor(this.#cache, this.#memory, this.#blobDirectory)
    try {
      return evictor.evict(orders, now)
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

  close(): void {
    this.#cache.close()
    this.#memory.close()
  }
}

type MarkRow = [string, string, number, number, number, number, number, number, string, number | null]

function markFrom(row: MarkRow): CursorMark {
  const [path, flavor, adapterVersion, device, inode, bornAt, size, modifiedAt, companions, missingAt] = row
  return {
    path,
    flavor,
    adapterVersion,
    device,
    inode,
    bornAt,
    size,
    modifiedAt,
    companions,
    missingAt,
  }
}

function cursorFrom(row: Record<string, unknown>): Cursor {
  return {
    path: row['path'] as string,
    flavor: row['flavor'] as string,
    adapterVersion: row['adapter_version'] as number,
    device: row['device'] as number,
    inode: row['inode'] as number,
    bornAt: row['born_at'] as number,
    size: row['size'] as number,
    modifiedAt: row['modified_at'] as number,
    headHash: row['head_hash'] as string,
    headLength: row['head_length'] as number,
    tailHash: row['tail_hash'] as string,
    offset: row['offset'] as number,
    state: unpackText(row['state'] as string | Uint8Array),
    companions: row['companions'] as string,
    generation: row['generation'] as number,
    sessionUid: row['session_uid'] as string | null,
    missingAt: row['missing_at'] as number | null,
  }
}
