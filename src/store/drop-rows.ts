// The rows and words of sessions that go: events, payload references, the index's entries. Step by step, each a commit
// of its own that needs little room in the log; or all at once, where no session stays.
import { type Database, type Statement, transaction } from './database.ts'
import { type Steps, stepsFor } from './erase.ts'
import { FLAG } from './rows.ts'

/** What a session keeps of its events when they are gone: its numbering and its counts. */
const KEEP_COUNTS = `UPDATE cached SET segment_size = 0, evicted_seq = next_seq - 1, evicted_count = event_count,
  evicted_turns = turn_count, evicted_retries = retry_count, evicted_errors = error_count`

/** Doing it again after a kill goes on with what is left. */
export function dropRows(cache: Database, sessions: readonly number[]): void {
  const steps = stepsFor(cache)
  cache.exec(`PRAGMA wal_autocheckpoint = ${steps.checkpointPages}`)
  const going = JSON.stringify(sessions)
  if (!hasSurvivors(cache, going)) dropAll(cache, going)
  else dropSteps(cache, sessions, steps)
}

function hasSurvivors(cache: Database, going: string): boolean {
  const stays = (table: string): boolean =>
    cache
      .prepare(`SELECT 1 FROM ${table} WHERE session NOT IN (SELECT value FROM json_each(?)) LIMIT 1`)
      .get(going) !== undefined
  return stays('events') || stays('payloads')
}

/**
 * Whole tables are emptied page by page instead of row by row. The pages are not overwritten, which would need as much room
 * in the log as they take: all of them are given back before the receipts are closed, so none stays in the file.
 */
function dropAll(cache: Database, going: string): void {
  const { auto_vacuum } = cache.prepare('PRAGMA auto_vacuum').get() as { auto_vacuum: number }
  if (auto_vacuum !== 0) cache.exec('PRAGMA secure_delete = FAST')
  transaction(cache, () => {
    cache.exec(`INSERT INTO words (words) VALUES ('delete-all');
      DELETE FROM events; DELETE FROM payloads; DELETE FROM shared; DELETE FROM touched; DELETE FROM folds; DELETE FROM names`)
    cache.prepare(`${KEEP_COUNTS} WHERE id IN (SELECT value FROM json_each(?))`).run(going)
  })
  cache.exec('PRAGMA secure_delete = ON')
}

/** So many events per commit, of one session or of many. */
function dropSteps(cache: Database, sessions: readonly number[], steps: Steps): void {
  const sql = dropStatements(cache)
  // Else FTS5 merges the whole index whenever a tenth of it is gone; it is merged once, when all is deleted.
  setDeleteMerge(cache, 0)
  // Those that go as well need no mark.
  const going = JSON.stringify(sessions)
  const waiting = [...sessions]
  const firstOf = (id: number): number | null => (sql.span.get(id) as { first: number | null }).first
  while (waiting.length > 0) {
    const parts: [id: number, beforeSeq: number][] = []
    for (let room = steps.events, at = 0; room > 0 && at < waiting.length; at++) {
      const id = waiting[at] as number
      const { first, last } = sql.span.get(id) as { first: number | null; last: number }
      const beforeSeq = first === null ? 0 : Math.min(first + room, last + 1)
      parts.push([id, beforeSeq])
      room -= 1 + beforeSeq - (first ?? 0)
    }
    transaction(cache, () => {
      for (const [id] of parts)
        for (const kin of sql.kin.all(id, going) as unknown as { id: number }[])
          sql.keepCopies.run(id, kin.id)
      // The words of all of them at once: the index is flushed before every statement that changes it.
      sql.words.run(JSON.stringify(parts))
      for (const [id, beforeSeq] of parts) {
        if (!steps.isAmple) sql.payloads.run(id, beforeSeq)
        sql.events.run(id, beforeSeq)
        if (firstOf(id) === null) for (const statement of sql.end) statement.run(id)
      }
    })
    while (waiting.length > 0 && firstOf(waiting[0] as number) === null) waiting.shift()
  }
  transaction(cache, () => sql.allPayloads.run(going))
  setDeleteMerge(cache, DEFAULT_DELETE_MERGE)
}

/** Percent of deleted entries from which FTS5 merges by itself (https://sqlite.org/fts5.html#the_deletemerge_configuration_option). */
const DEFAULT_DELETE_MERGE = 10

function setDeleteMerge(cache: Database, percent: number): void {
  cache.prepare("INSERT INTO words (words, rank) VALUES ('deletemerge', ?)").run(percent)
}

function dropStatements(cache: Database) {
  const prepare = (sql: string): Statement => cache.prepare(sql)
  return {
    // What a fork copied stays marked as copied, also when the original is no longer there to compare with.
    // Asked for apart from the marking: in one statement it looked at every event there is.
    kin: prepare(
      `SELECT second AS id FROM shared WHERE first = ?1 UNION SELECT first FROM shared WHERE second = ?1
       EXCEPT SELECT value FROM json_each(?2)`,
    ),
    keepCopies: prepare(
      `UPDATE events SET flags = flags | ${FLAG.inherited} WHERE session = ?2 AND flags & ${FLAG.copied}
       AND EXISTS (SELECT 1 FROM events p WHERE p.key = events.key AND p.session = ?1)`,
    ),
    span: prepare(
      `SELECT (SELECT min(seq) FROM events WHERE session = ?1) AS first,
       (SELECT max(seq) FROM events WHERE session = ?1) AS last`,
    ),
    words: prepare(
      `DELETE FROM words WHERE rowid IN (SELECT e.id FROM json_each(?) j
       CROSS JOIN events e ON e.session = j.value ->> 0 AND e.seq < j.value ->> 1)`,
    ),
    payloads: prepare(
      `DELETE FROM payloads WHERE session = ?1
       AND hash IN (SELECT payload FROM events WHERE session = ?1 AND seq < ?2)`,
    ),
    // One look at all of them is cheaper than one for each event, but it is one commit.
    allPayloads: prepare('DELETE FROM payloads WHERE session IN (SELECT value FROM json_each(?))'),
    events: prepare('DELETE FROM events WHERE session = ?1 AND seq < ?2'),
    end: [
      'DELETE FROM shared WHERE first = ?1 OR second = ?1',
      'DELETE FROM touched WHERE session = ?',
      'DELETE FROM folds WHERE session = ?',
      'DELETE FROM names WHERE session = ?',
      `${KEEP_COUNTS} WHERE id = ?`,
    ].map(prepare),
  }
}
