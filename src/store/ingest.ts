// What a sweep writes, in SQLite.
import { EVENT_KINDS, type EventKind, type Role } from '../model.ts'
import type { Batch } from './batch.ts'
import { rows, transaction } from './database.ts'
import type { Databases } from './databases.ts'
import { keepFold, undigested, writeDigests } from './digests.ts'
import { IS_GONE, SOURCE_BYTES } from './own-sources.ts'
import { PendingWords } from './pending-words.ts'
import type { Reader } from './reader/index.ts'
import { ROLES } from './rows.ts'
import { settleAll } from './settle.ts'
import { startOver } from './start-over.ts'
import type { DigestRow, Fold, Ingest, Place, SessionPlace, TouchedSource, WriteReport } from './store.ts'
import { indexText } from './words.ts'
import type { CacheWriter } from './write.ts'

interface CachedRow {
  id: number
  session_uid: string
}

export class SqliteIngest implements Ingest {
  readonly #databases: Databases
  readonly #writer: CacheWriter
  readonly #payload: Reader['payload']

  constructor(databases: Databases, writer: CacheWriter, payload: Reader['payload']) {
    this.#databases = databases
    this.#writer = writer
    this.#payload = payload
  }

  write(batches: readonly Batch[], isMore = false): WriteReport {
    return this.#writer.write(batches, isMore)
  }

  flush(): Promise<void> {
    return this.#writer.flush()
  }

  nameHost(name: string, user: string, key = ''): void {
    this.#databases.memory
      .prepare(
        // Id and pseudonym are random: they tell nothing of the machine and the person. Whoever reads another machine is the same.
        `INSERT INTO hosts VALUES (?3, lower(hex(randomblob(8))), ?1,
           coalesce(nullif(?2, ''), (SELECT user FROM hosts WHERE host = ''), 'user-' || lower(hex(randomblob(6)))))
         ON CONFLICT DO UPDATE SET name = ?1, user = coalesce(nullif(?2, ''), user)
         WHERE name <> ?1 OR user <> coalesce(nullif(?2, ''), user)`,
      )
      .run(name, user, key)
    this.#writer.isFrom(key)
  }

  moveSource(path: string, newPath: string): void {
    const { cache, memory } = this.#databases
    // memory.db first: a kill in between leaves the old path in the cursor, and the move is seen again.
    transaction(cache, () => {
      for (const table of ['sources', 'gaps', 'unknown_records', 'source_sessions']) {
        cache.prepare(`UPDATE OR REPLACE ${table} SET path = ? WHERE path = ?`).run(newPath, path)
      }
      memory.prepare('UPDATE sessions SET source_path = ? WHERE source_path = ?').run(newPath, path)
    })
  }

  markMissing(paths: readonly string[], at: number | null): void {
    const { cache, memory } = this.#databases
    const mark = cache.prepare('UPDATE sources SET missing_at = ? WHERE path = ?')
    const sessionsOf = cache.prepare(
      'SELECT c.id, c.session_uid FROM source_sessions w JOIN cached c ON c.id = w.session WHERE w.path = ?',
    )
    const isGone = cache.prepare(IS_GONE)
    const bytes = cache.prepare(SOURCE_BYTES)
    const save = memory.prepare(
      'UPDATE sessions SET is_sole_copy = ?, source_bytes = ? WHERE session_uid = ?',
    )
    transaction(cache, () => {
      for (const path of paths) {
        mark.run(at, path)
        for (const { id, session_uid } of sessionsOf.all(path) as unknown as CachedRow[]) {
          const { size } = bytes.get(session_uid) as { size: number }
          save.run((isGone.get(id) as { gone: number }).gone, size, session_uid)
        }
      }
    })
  }

  markTouched(sources: readonly TouchedSource[]): void {
    const note = this.#databases.cache.prepare(
      'UPDATE sources SET device = ?, inode = ?, born_at = ?, modified_at = ? WHERE path = ?',
    )
    for (const { path, device, inode, bornAt, modifiedAt } of sources)
      note.run(device, inode, bornAt, modifiedAt, path)
  }

  startOver(uid: string): void {
    startOver(this.#databases.cache, uid)
  }

  settle(place: (session: SessionPlace) => Place): number {
    this.#writer.forget()
    return settleAll(this.#databases.cache, this.#databases.memory, place)
  }

  undigested(ruleVersion: string, fingerprintPrefix: string): Iterable<string[]> {
    return undigested(this.#databases.cache, this.#databases.memory, ruleVersion, fingerprintPrefix)
  }

  writeDigests(digests: readonly DigestRow[]): void {
    writeDigests(this.#databases.cache, this.#databases.memory, digests)
  }

  keepFold(uid: string, fold: Fold): void {
    keepFold(this.#databases.cache, uid, fold)
  }

  keepPrices(list: string, listed: ReadonlyMap<string, string>): void {
    const keep = this.#databases.memory.prepare(
      'INSERT OR REPLACE INTO model_prices (name, list, listed) VALUES (?, ?, ?)',
    )
    for (const [name, price] of listed) keep.run(name, list, price)
  }

  indexUntold(textOf: Parameters<Ingest['indexUntold']>[0]): void {
    const { cache } = this.#databases
    const words = new PendingWords(
      cache.prepare('INSERT INTO words (rowid, prompt, answer, work) VALUES (?, ?, ?, ?)'),
    )
    for (const { id: session } of rows<{ id: number }>(cache, WITHOUT_SOURCE))
      transaction(cache, () => {
        for (const { id, kind, role, summary, payload } of rows<Unindexed>(cache, UNINDEXED, session)) {
          const found = textOf({
            kind: EVENT_KINDS[kind] as EventKind,
            role: ROLES[role] as Role,
            summary,
            body: this.#payload(payload),
          })
          if (!found) continue
          words.add(id, { heading: found.heading, bytes: Buffer.from(indexText(found.text)) })
          if (words.isFull) words.write()
        }
        words.write()
      })
  }
}

/** Of which a source is gone. */
const WITHOUT_SOURCE = `SELECT id FROM cached c WHERE NOT EXISTS (SELECT 1 FROM source_sessions w WHERE w.session = c.id)
  OR EXISTS (SELECT 1 FROM source_sessions w LEFT JOIN sources s ON s.path = w.path
             WHERE w.session = c.id AND (s.path IS NULL OR s.missing_at IS NOT NULL))`
const UNINDEXED = `SELECT id, kind, role, summary, lower(hex(payload)) AS payload FROM events e WHERE session = ?
  AND NOT EXISTS (SELECT 1 FROM words_docsize d WHERE d.id = e.id)`

interface Unindexed {
  id: number
  kind: number
  role: number
  summary: string
  payload: string
}
