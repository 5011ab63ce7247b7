// Readies a session of which something was evicted for being read in again from the beginning: it is numbered and counted
// anew, and comes to its old numbers, since it is read in the same order. Payloads that are here stay, others may refer to
// them. A kill before it was read leaves its sources marked as never read, so that the next sweep does it.
import { type Database, transaction } from './database.ts'
import { NO_VERSION } from './pair.ts'

/** Nothing where nothing of it was evicted. */
export function startOver(cache: Database, uid: string): void {
  const session = cache.prepare('SELECT id FROM cached WHERE session_uid = ? AND evicted_seq > 0').get(uid) as
    | { id: number }
    | undefined
  if (!session) return
  const drop = [
    'words WHERE rowid IN (SELECT id FROM events WHERE session = ?1)',
    'keys WHERE session = ?1 AND key IN (SELECT key FROM events WHERE session = ?1)',
    ...['events', 'touched', 'folds', 'spent'].map((table) => `${table} WHERE session = ?1`),
  ]
  transaction(cache, () => {
    for (const rows of drop) cache.prepare(`DELETE FROM ${rows}`).run(session.id)
    cache
      .prepare(
        `UPDATE cached SET next_seq = 1, evicted_seq = 0, evicted_count = 0, event_count = 0, turn_count = 0,
         retry_count = 0, error_count = 0, evicted_turns = 0, evicted_retries = 0, evicted_errors = 0 WHERE id = ?`,
      )
      .run(session.id)
    cache
      .prepare(
        `UPDATE sources SET adapter_version = ?1 WHERE session_uid = ?2
         OR path IN (SELECT path FROM source_sessions WHERE session = ?3)`,
      )
      .run(NO_VERSION, uid, session.id)
  })
}
