// Forgetting a session: besides its raw, every row of Tier 2 that belongs to it. Only its uid stays, in the receipt and
// the cursor, so that no later sweep brings it back.
import type { Database } from './database.ts'
import { DigestWords } from './digest-words.ts'

export function forgetInMemory(memory: Database, uid: string): void {
  // Another session may hold the same responses: which one they count in has to be decided again.
  memory
    .prepare(
      `INSERT OR IGNORE INTO recount SELECT response_id FROM usage u WHERE session_uid = ?1
       AND EXISTS (SELECT 1 FROM usage o WHERE o.response_id = u.response_id AND o.session_uid <> ?1)`,
    )
    .run(uid)
  const models = modelsOf(memory, uid)
  memory
    .prepare('DELETE FROM ledger WHERE session = (SELECT number FROM ledger_sessions WHERE session_uid = ?)')
    .run(uid)
  new DigestWords(memory).remove(uid)
  for (const table of tablesOfSessions(memory))
    memory.prepare(`DELETE FROM "${table}" WHERE session_uid = ?`).run(uid)
  memory.prepare('DELETE FROM edges WHERE parent_uid = ?').run(uid)
  memory.prepare("UPDATE copied SET origin_uid = '', origin_seqs = '[]' WHERE origin_uid = ?").run(uid)
  forgetModels(memory, models)
}

function modelsOf(memory: Database, uid: string): number[] {
  const rows = memory
    .prepare(
      `SELECT DISTINCT model FROM ledger WHERE model IS NOT NULL
       AND session = (SELECT number FROM ledger_sessions WHERE session_uid = ?)`,
    )
    .all(uid) as unknown as { model: number }[]
  return rows.map((row) => row.model)
}

/** A name may tell as much as a word: it goes with the last session that used it. */
function forgetModels(memory: Database, models: readonly number[]): void {
  const drop = memory.prepare(
    'DELETE FROM ledger_models WHERE number = ?1 AND NOT EXISTS (SELECT 1 FROM ledger WHERE model = ?1)',
  )
  const isAny = models.map((model) => drop.run(model).changes !== 0).some(Boolean)
  // Under which name one was priced is not known here; all are looked up again by the next analysis.
  if (isAny) memory.exec('DELETE FROM model_prices')
}

/** What was noted of its sources. */
export function forgetInCache(cache: Database, uid: string): void {
  for (const table of ['gaps', 'unknown_records']) {
    cache
      .prepare(`DELETE FROM ${table} WHERE path IN (SELECT path FROM sources WHERE session_uid = ?)`)
      .run(uid)
  }
  // Its number may be given to another session: nothing may be left under it.
  for (const table of ['findings', 'source_sessions'])
    cache
      .prepare(`DELETE FROM ${table} WHERE session = (SELECT id FROM cached WHERE session_uid = ?)`)
      .run(uid)
  cache.prepare('DELETE FROM cached WHERE session_uid = ?').run(uid)
  // An adapter's carry-over may hold words of the session.
  cache.prepare("UPDATE sources SET state = 'null' WHERE session_uid = ?").run(uid)
}

/** Whatever tables there are: one added later must not be forgotten here. What was written for a hub is still to be removed. */
function tablesOfSessions(memory: Database): string[] {
  const rows = memory
    .prepare(
      `SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c
       WHERE m.type = 'table' AND c.name = 'session_uid' AND m.name NOT IN ('receipts', 'hub_files', 'pushes')`,
    )
    .all() as unknown as { name: string }[]
  return rows.map((row) => row.name)
}
