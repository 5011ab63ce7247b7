// Keeps the SQLite store in bounds and in order.
import { fromSqlite, RecollectError } from '../errors.ts'
import { transaction } from './database.ts'
import type { Databases } from './databases.ts'
import { bytesOnceErased, compact, giveBackIdlePages } from './erase.ts'
import { Evictor } from './evict.ts'
import { markLostBodies } from './references.ts'
import { takeOutDamage } from './repair.ts'
import type { Archive, EvictOrder, EvictReport, RepairHooks, RepairReport, VerifyReport } from './store.ts'
import { verifyStore } from './verify.ts'
import type { CacheWriter } from './write.ts'

export class SqliteArchive implements Archive {
  readonly #databases: Databases
  readonly #writer: CacheWriter
  readonly #blobDirectory: string

  constructor(databases: Databases, writer: CacheWriter, blobDirectory: string) {
    this.#databases = databases
    this.#writer = writer
    this.#blobDirectory = blobDirectory
  }

  evict(orders: readonly EvictOrder[], now: number, isMore = false): EvictReport {
    const { cache, memory } = this.#databases
    try {
      return new Evictor(cache, memory, this.#blobDirectory).evict(orders, now, isMore)
    } finally {
      this.#writer.forget()
    }
  }

  noteFreed(freed: readonly { uid: string; at: number; bytes: number }[]): void {
    const { memory } = this.#databases
    const set = memory.prepare('UPDATE receipts SET bytes = ? WHERE session_uid = ? AND at = ?')
    transaction(memory, () => {
      for (const { uid, at, bytes } of freed) set.run(bytes, uid, at)
    })
  }

  compact(): void {
    compact(this.#databases.cache)
  }

  bytesOnceErased(): number {
    return bytesOnceErased(this.#databases.cache)
  }

  pin(uid: string, now: number): void {
    this.#databases.memory
      .prepare('INSERT OR IGNORE INTO pins (session_uid, pinned_at) VALUES (?, ?)')
      .run(uid, now)
  }

  unpin(uid: string): boolean {
    return this.#databases.memory.prepare('DELETE FROM pins WHERE session_uid = ?').run(uid).changes !== 0
  }

  logOnce(name: string, at: number, pauseMs: number, detail: Record<string, unknown>): void {
    this.#databases.memory
      .prepare(
        `INSERT INTO events_log (session_uid, at, name, detail) SELECT '', ?1, ?2, ?3
         WHERE NOT EXISTS (SELECT 1 FROM events_log WHERE session_uid = '' AND name = ?2 AND at > ?1 - ?4)`,
      )
      .run(at, name, JSON.stringify(detail), pauseMs)
  }

  verify(): VerifyReport {
    const { cache, memory } = this.#databases
    return verifyStore(cache, memory, this.#blobDirectory)
  }

  async repair(hooks: RepairHooks): Promise<RepairReport> {
    const { cache, memory } = this.#databases
    this.#writer.forget()
    return await takeOutDamage(cache, memory, this.#blobDirectory, hooks)
  }

  markLost(): number {
    return markLostBodies(this.#databases.cache)
  }

  settleLogs(): RecollectError[] {
    const refused: RecollectError[] = []
    for (const database of [this.#databases.memory, this.#databases.cache]) {
      const where = database.location() ?? 'the memory'
      try {
        giveBackIdlePages(database)
        database.exec('PRAGMA wal_checkpoint(PASSIVE)')
      } catch (error) {
        // All of it is committed, and can wait in the log for a disk with room.
        const known = fromSqlite(error, 'cannot move what was written from the log', where)
        if (!(known instanceof RecollectError) || known.code !== 'DISK_FULL') throw known
        refused.push(known)
      }
    }
    return refused
  }
}
