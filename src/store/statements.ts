// The statements of the write path on cache.db, prepared once.
import type { Database } from './database.ts'
import { nameStatement } from './pending-links.ts'
import { EVENT_COLUMNS } from './rows.ts'
import { spentStatement } from './shown-tokens.ts'

const marks = (count: number): string => Array(count).fill('?').join(',')

export function cacheStatements(cache: Database) {
  return { ...sessionStatements(cache), ...eventStatements(cache), ...sourceStatements(cache) }
}

function sessionStatements(cache: Database) {
  return {
    session: cache.prepare('SELECT * FROM cached WHERE session_uid = ?'),
    // Without RETURNING: its savepoint would cost milliseconds once FTS5 has something pending.
    newSession: cache.prepare('INSERT INTO cached (session_uid) VALUES (?)'),
    saveSession: cache.prepare(
      `UPDATE cached SET next_seq = ?, segment_size = ?, event_count = ?, turn_count = ?, retry_count = ?, error_count = ?,
       low_at = ?, is_settled = 0 WHERE id = ?`,
    ),
    shared: cache.prepare(
      'INSERT INTO shared (first, second) VALUES (?, ?) ON CONFLICT DO UPDATE SET is_dirty = 1 WHERE NOT is_dirty',
    ),
    finding: cache.prepare(
      `INSERT INTO findings (session, seq, rule, count) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET count = max(count, excluded.count)`,
    ),
    clearFindings: cache.prepare('DELETE FROM findings WHERE session = ? AND seq = ?'),
  }
}

function eventStatements(cache: Database) {
  return {
    newKey: cache.prepare('INSERT OR IGNORE INTO keys (key, session, seq) VALUES (?, ?, ?)'),
    seqOf: cache.prepare('SELECT seq FROM keys WHERE key = ? AND session = ?'),
    event: cache.prepare(
      `SELECT id, seq, payload, flags, ${EVENT_COLUMNS.join(', ')},
       (parent_seq IS NULL AND parent_key IS NULL) OR coalesce(substr(parent_key, 9) = x'00000000', 0) AS is_root,
       parent_key FROM events WHERE session = ?2 AND seq = (SELECT seq FROM keys WHERE key = ?1 AND session = ?2)`,
    ),
    // Sessions that have a key in common, one of them with an event from this one on.
    kin: cache.prepare(
      `SELECT DISTINCT min(e.session, k.session) AS first, max(e.session, k.session) AS second
       FROM events e CROSS JOIN keys k ON k.key = e.key WHERE e.id >= ? AND k.session <> e.session`,
    ),
    insert: cache.prepare(
      `INSERT INTO events (session, seq, key, parent_seq, parent_key, call, flags, payload, ${EVENT_COLUMNS.join(', ')})
       VALUES (${marks(8 + EVENT_COLUMNS.length)})`,
    ),
    update: cache.prepare(
      `UPDATE events SET flags = ?, payload = ?, ${EVENT_COLUMNS.map((name) => `${name} = ?`).join(', ')} WHERE id = ?`,
    ),
    name: nameStatement(cache),
    spent: spentStatement(cache),
    hang: cache.prepare('UPDATE events SET parent_seq = ?, parent_key = ? WHERE id = ?'),
    newPayload: cache.prepare(
      'INSERT OR IGNORE INTO payloads (hash, session, chunk, at, length) VALUES (?, ?, ?, ?, ?)',
    ),
    hasPayload: cache.prepare('SELECT 1 FROM payloads WHERE hash = ?'),
    hasWords: cache.prepare('SELECT 1 FROM words_docsize WHERE id = ?'),
    // One that this session brought itself is its own.
    borrow: cache.prepare(
      'INSERT OR IGNORE INTO borrowed SELECT ?1, hash FROM payloads WHERE hash = ?2 AND session <> ?1',
    ),
    touched: cache.prepare('INSERT OR IGNORE INTO touched (session, path, seq) VALUES (?, ?, ?)'),
    words: cache.prepare('INSERT INTO words (rowid, prompt, answer, work) VALUES (?, ?, ?, ?)'),
    unword: cache.prepare('DELETE FROM words WHERE rowid = ?'),
    // A digest that went past a changed event cannot be gone on from.
    unfold: cache.prepare('DELETE FROM folds WHERE session = ? AND last_seq >= ?'),
    supersedeOne: cache.prepare('UPDATE events SET flags = flags | ? WHERE id = ?'),
    supersedeRange: cache.prepare(
      `UPDATE events SET flags = flags | ? WHERE session = ? AND seq BETWEEN ? AND ? AND NOT flags & ?
       AND coalesce(ts BETWEEN ? AND ?, 1)`,
    ),
  }
}

function sourceStatements(cache: Database) {
  return {
    cursor: cache.prepare(`INSERT OR REPLACE INTO sources VALUES (${marks(17)})`),
    clearGaps: cache.prepare('DELETE FROM gaps WHERE path = ? AND (is_pending OR ?)'),
    gap: cache.prepare(
      'INSERT OR REPLACE INTO gaps (path, file, offset, length, reason, detail, is_pending) VALUES (?, ?, ?, ?, ?, ?, ?)',
    ),
    unknown: cache.prepare(
      `INSERT INTO unknown_records (path, name, count) VALUES (?, ?, ?)
       ON CONFLICT (path, name) DO UPDATE SET count = count + excluded.count`,
    ),
    clearUnknown: cache.prepare('DELETE FROM unknown_records WHERE path = ?'),
  }
}
