// The rows and words of sessions that go: events, payload references, the index's entries. Where there is room, in one
// commit; else step by step, each a commit of its own that needs little room in the log. Where no session stays, whole tables.
import { type Database, type Statement, transaction } from './database.ts'
import { holdingMore, setMerging, stepsFor } from './erase.ts'
import { FLAG } from './rows.ts'

/** Ids that follow each other, from the first to the last. */
interface Run {
  first: number
  last: number
}

/** What a session keeps of its events when they are gone: its numbering and its counts. */
const KEEP_COUNTS = `UPDATE cached SET segment_size = 0, evicted_seq = next_seq - 1, evicted_count = event_count,
  evicted_turns = turn_count, evicted_retries = retry_count, evicted_errors = error_count`

/** What there is of a session beside its events and payloads. */
const BESIDE = ['borrowed', 'touched', 'folds', 'names', 'spent']
const ROWS = ['events', 'keys', 'payloads', ...BESIDE]

/** Doing it again after a kill goes on with what is left. */
export function dropRows(cache: Database, sessions: readonly number[]): void {
  const steps = stepsFor(cache)
  cache.exec(`PRAGMA wal_autocheckpoint = ${steps.checkpointPages}`)
  const going = JSON.stringify(sessions)
  if (!hasSurvivors(cache, going)) {
    dropAll(cache, going)
    return
  }
  // Else FTS5 merges what is about to go; it is merged once, when all is deleted.
  setMerging(cache, 'words', { automerge: 0, deletemerge: 0 })
  if (steps.isAmple) dropAtOnce(cache, sessions)
  else dropSteps(cache, sessions, steps.events)
}

function hasSurvivors(cache: Database, going: string): boolean {
  // From the newest on: the oldest are those that go.
  const stays = (table: string, order = ''): boolean =>
    cache
      .prepare(
        `SELECT 1 FROM ${table} WHERE session NOT IN (SELECT value FROM json_each(?)) ${order} LIMIT 1`,
      )
      .get(going) !== undefined
  return stays('events', 'ORDER BY id DESC') || stays('payloads')
}

/**
 * Whole tables are emptied page by page instead of row by row. The pages are not overwritten, which would need as much room
 * in the log as they take: all of them are given back before the receipts are closed, so none stays in the file.
 */
function dropAll(cache: Database, going: string): void {
  const { auto_vacuum } = cache.prepare('PRAGMA auto_vacuum').get() as { auto_vacuum: number }
  if (auto_vacuum !== 0) cache.exec('PRAGMA secure_delete = FAST')
  try {
    transaction(cache, () => {
      cache.exec("INSERT INTO words (words) VALUES ('delete-all'); DELETE FROM shared")
      for (const table of ROWS) cache.exec(`DELETE FROM ${table}`)
      cache.prepare(`${KEEP_COUNTS} WHERE id IN (SELECT value FROM json_each(?))`).run(going)
    })
  } finally {
    cache.exec('PRAGMA secure_delete = ON')
  }
}

/** What a fork copied stays marked as copied, also when the original is no longer there to compare with. */
const KEEP_COPIES = `UPDATE events SET flags = flags | ${FLAG.inherited} WHERE session = ?2 AND flags & ${FLAG.copied}
  AND EXISTS (SELECT 1 FROM keys k WHERE k.key = events.key AND k.session = ?1)`

const KEYS =
  'DELETE FROM keys WHERE session = ?1 AND key IN (SELECT key FROM events WHERE session = ?1 AND seq < ?2)'
/** Keys of fewer are looked up one by one, instead of passing all there are. */
const FEW_EVENTS = 10_000

/** A statement has room for so many numbers. */
const MAX_LISTED = 50_000

/** Table by table: pages of an index that many sessions share are then met, and written, once. */
function dropAtOnce(cache: Database, sessions: readonly number[]): void {
  const going = JSON.stringify(sessions)
  const keepCopies = cache.prepare(KEEP_COPIES)
  const kin = cache.prepare(
    `WITH going AS (SELECT value FROM json_each(?))
     SELECT first AS gone, second AS kin FROM shared WHERE first IN going AND second NOT IN going
     UNION SELECT second, first FROM shared WHERE second IN going AND first NOT IN going`,
  )
  holdingMore(cache, () =>
    transaction(cache, () => {
      // Asked for apart from the marking: in one statement it looked at every event there is.
      for (const { gone, kin: id } of kin.all(going) as unknown as { gone: number; kin: number }[])
        keepCopies.run(gone, id)
      const runs = runsOf(cache, sessions)
      const words = cache.prepare('DELETE FROM words WHERE rowid BETWEEN ? AND ?')
      for (const { first, last } of runs) words.run(first, last)
      const isFew = runs.reduce((sum, { first, last }) => sum + last - first + 1, 0) < FEW_EVENTS
      const keys = cache.prepare(KEYS)
      if (isFew) for (const id of sessions) keys.run(id, Number.MAX_SAFE_INTEGER)
      const events = cache.prepare('DELETE FROM events WHERE id BETWEEN ? AND ?')
      for (const { first, last } of runs) events.run(first, last)
      // By number: with a query SQLite would first gather what is to go, then look for each again.
      for (let at = 0; at < sessions.length; at += MAX_LISTED) {
        const some = sessions.slice(at, at + MAX_LISTED)
        const among = `IN (${some.join()})`
        const passed = isFew ? ['payloads'] : ['keys', 'payloads']
        for (const table of passed) cache.exec(`DELETE FROM ${table} WHERE ${ofSessions(some)}`)
        for (const table of BESIDE) cache.exec(`DELETE FROM ${table} WHERE session ${among}`)
        cache.exec(
          `DELETE FROM shared WHERE first ${among} OR second ${among}; ${KEEP_COUNTS} WHERE id ${among}`,
        )
      }
    }),
  )
}

/** The events of a session mostly came in together. Where they did not, each piece is a run. */
function runsOf(cache: Database, sessions: readonly number[]): Run[] {
  const span = cache.prepare(
    'SELECT min(id) AS first, max(id) AS last, count(*) AS count FROM events WHERE session = ?',
  )
  const ids = cache.prepare('SELECT id AS first, id AS last FROM events WHERE session = ?')
  const pieces = sessions.flatMap((session): Run[] => {
    const { first, last, count } = span.get(session) as unknown as Run & { count: number }
    if (count === 0) return []
    return last - first + 1 === count ? [{ first, last }] : (ids.all(session) as unknown as Run[])
  })
  return joined(pieces)
}

function joined(pieces: readonly Run[]): Run[] {
  const runs: Run[] = []
  for (const { first, last } of pieces.toSorted((a, b) => a.first - b.first)) {
    const before = runs.at(-1)
    if (before && before.last === first - 1) before.last = last
    else runs.push({ first, last })
  }
  return runs
}

/** With more runs than this, a list is looked up faster than they are compared. */
const MAX_RUNS = 64

/** Every row of a table is asked: comparing takes half as long as looking up in a list. Longest runs first: most rows are there. */
function ofSessions(sessions: readonly number[]): string {
  const runs = joined(sessions.map((id) => ({ first: id, last: id })))
  if (runs.length > MAX_RUNS) return `session IN (${sessions.join()})`
  const length = ({ first, last }: Run): number => last - first
  const among = runs
    .toSorted((a, b) => length(b) - length(a))
    .map(({ first, last }) => `session BETWEEN ${first} AND ${last}`)
  return `session BETWEEN ${runs[0]?.first} AND ${runs.at(-1)?.last} AND (${among.join(' OR ')})`
}

/** So many events per commit, of one session or of many. */
function dropSteps(cache: Database, sessions: readonly number[], atOnce: number): void {
  const sql = dropStatements(cache)
  // Those that go as well need no mark.
  const going = JSON.stringify(sessions)
  const waiting = [...sessions]
  const firstOf = (id: number): number | null => (sql.span.get(id) as { first: number | null }).first
  while (waiting.length > 0) {
    const parts: [id: number, beforeSeq: number][] = []
    for (let room = atOnce, at = 0; room > 0 && at < waiting.length; at++) {
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
        sql.payloads.run(id, beforeSeq)
        sql.keys.run(id, beforeSeq)
        sql.events.run(id, beforeSeq)
        if (firstOf(id) === null) for (const statement of sql.end) statement.run(id)
      }
    })
    while (waiting.length > 0 && firstOf(waiting[0] as number) === null) waiting.shift()
  }
  // What was left of a kill, and what lost its event to another payload.
  transaction(cache, () => sql.allPayloads.run(going))
}

function dropStatements(cache: Database) {
  const prepare = (sql: string): Statement => cache.prepare(sql)
  return {
    kin: prepare(
      `SELECT second AS id FROM shared WHERE first = ?1 UNION SELECT first FROM shared WHERE second = ?1
       EXCEPT SELECT value FROM json_each(?2)`,
    ),
    keepCopies: prepare(KEEP_COPIES),
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
    keys: prepare(KEYS),
    allPayloads: prepare('DELETE FROM payloads WHERE session IN (SELECT value FROM json_each(?))'),
    events: prepare('DELETE FROM events WHERE session = ?1 AND seq < ?2'),
    end: [
      'DELETE FROM shared WHERE first = ?1 OR second = ?1',
      ...BESIDE.map((table) => `DELETE FROM ${table} WHERE session = ?`),
      `${KEEP_COUNTS} WHERE id = ?`,
    ].map(prepare),
  }
}
