// memory.db and cache.db belong together. A cache that finds another memory beside it (deleted, restored, or configured
// elsewhere) is not thrown away, since it may hold the only copy of a session: its sources are read again into the new
// memory, and sessions whose sources are gone get their row back.
import { randomUUID } from 'node:crypto'
import { badValue } from '../errors.ts'
import { SCHEMA_VERSION } from '../model.ts'
import { type Database, transaction } from './database.ts'

export const NO_VERSION = -1

export function pairUp(memory: Database, cache: Database): void {
  const id = idOf(memory)
  const known = cache.prepare('SELECT id, is_whole FROM pair').get() as
    | { id: string; is_whole: number }
    | undefined
  if (known?.id === id) {
    if (!known.is_whole && isWhole(memory, cache)) cache.exec('UPDATE pair SET is_whole = 1')
    return
  }
  transaction(cache, () => {
    // A cache that was thrown away starts empty and has nothing to hand over.
    remember(cache, memory)
    cache.prepare('UPDATE sources SET adapter_version = ?').run(NO_VERSION)
    // What was concluded from comparing sessions stood there, too.
    cache.exec('UPDATE cached SET is_settled = 0; UPDATE shared SET is_dirty = 1; DELETE FROM pair')
    cache.prepare('INSERT INTO pair (id, is_whole) VALUES (?, ?)').run(id, isWhole(memory, cache) ? 1 : 0)
  })
}

/**
 * Whether every session that has a digest is known to the cache. It stays so, since sessions come to both and no row of
 * `cached` goes but with its digest, when it is forgotten: whoever searches a cache that is whole need not look for more in all digests.
 */
function isWhole(memory: Database, cache: Database): boolean {
  const { uids } = memory.prepare('SELECT json_group_array(session_uid) AS uids FROM digest_texts').get() as {
    uids: string
  }
  const missing = cache.prepare(
    `SELECT 1 FROM json_each(?) j WHERE NOT EXISTS (SELECT 1 FROM cached c WHERE c.session_uid = j.value) LIMIT 1`,
  )
  return missing.get(uids) === undefined
}

function idOf(memory: Database): string {
  const row = memory.prepare('SELECT id FROM pair').get() as { id: unknown } | undefined
  // Of a page that is another table's, a row may read as nothing.
  if (row && typeof row.id !== 'string') throw badValue(row.id)
  if (row) return row.id as string
  const id = randomUUID()
  memory.prepare('INSERT INTO pair (id) VALUES (?)').run(id)
  return id
}

function remember(cache: Database, memory: Database): void {
  const ensure = memory.prepare(
    `INSERT OR IGNORE INTO sessions (session_uid, flavor, native_session_id, schema_version, discovered_at, started_at, ended_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const rows = cache
    .prepare(
      `SELECT c.session_uid AS uid, min(e.ts) AS first, max(e.ts) AS last FROM cached c
       LEFT JOIN events e ON e.session = c.id GROUP BY c.id`,
    )
    .all() as unknown as { uid: string; first: number | null; last: number | null }[]
  transaction(memory, () => {
    for (const { uid, first, last } of rows) {
      const colon = uid.indexOf(':')
      ensure.run(uid, uid.slice(0, colon), uid.slice(colon + 1), SCHEMA_VERSION, Date.now(), first, last)
    }
  })
}
