// What can only be known when several sources have been read: parents that came later, prefixes that forks share, which
// session a response is counted in, and where a session belongs. Runs from marks left in the database, so a kill between
// writing and settling loses nothing; running it twice changes nothing.

import { EVENT_KINDS } from '../model.ts'
import type { Database } from './database.ts'
import { transaction } from './database.ts'
import { hasStaleSlots, sumSlots } from './slots.ts'
import type { Place, SessionPlace } from './store.ts'
import { FLAG } from './write.ts'

interface Unsettled {
  id: number
  session_uid: string
}

/** Settles every session that was written to since the last time. */
export function settleAll(
  cache: Database,
  memory: Database,
  place: (session: SessionPlace) => Place,
): number {
  const sessions = cache
    .prepare('SELECT id, session_uid FROM cached WHERE is_settled = 0')
    .all() as unknown as Unsettled[]
  if (sessions.length === 0 && !hasRecounts(memory) && !hasStaleSlots(memory)) return 0
  transaction(cache, () => {
    linkLateParents(cache, sessions)
    transaction(memory, () => {
      settleForks(cache, memory)
      recount(memory)
      sumSlots(memory)
      describe(cache, memory, sessions, place)
    })
    const done = cache.prepare('UPDATE cached SET is_settled = 1 WHERE id = ?')
    for (const session of sessions) done.run(session.id)
  })
  return sessions.length
}

function hasRecounts(memory: Database): boolean {
  return memory.prepare('SELECT 1 FROM recount LIMIT 1').get() !== undefined
}

function linkLateParents(cache: Database, sessions: readonly Unsettled[]): void {
  const link = cache.prepare(
    `UPDATE events SET (parent_seq, parent_key) =
       (SELECT p.seq, NULL FROM events p WHERE p.key = events.parent_key AND p.session = events.session)
     WHERE session = ? AND parent_key IS NOT NULL
       AND EXISTS (SELECT 1 FROM events p WHERE p.key = events.parent_key AND p.session = events.session)`,
  )
  for (const session of sessions) link.run(session.id)
}

/** Two sessions with events of the same identity are a fork and its parent: the fork's copies are marked. */
function settleForks(cache: Database, memory: Database): void {
  const dirty = cache.prepare('SELECT first, second FROM shared WHERE is_settled = 0').all() as unknown as {
    first: number
    second: number
  }[]
  if (dirty.length === 0) return
  const touched = new Set(dirty.flatMap((pair) => [pair.first, pair.second]))
  const clear = cache.prepare(
    `UPDATE events SET flags = flags & ~${FLAG.copied} WHERE session = ? AND flags & ${FLAG.copied}`,
  )
  for (const id of touched) clear.run(id)
  const pairs = cache.prepare('SELECT first, second FROM shared WHERE first = ?1 OR second = ?1')
  const mark = cache.prepare(
    `UPDATE events SET flags = flags | ${FLAG.copied} WHERE session = ?1
     AND EXISTS (SELECT 1 FROM events p WHERE p.key = events.key AND p.session = ?2)`,
  )
  for (const id of touched) {
    for (const pair of pairs.all(id) as unknown as { first: number; second: number }[]) {
      const [parent, child] = orient(cache, pair.first, pair.second)
      if (child !== id) continue
      mark.run(child, parent)
      noteFork(cache, memory, child, parent)
    }
    countAgain(cache, id)
  }
  cache.exec('UPDATE shared SET is_settled = 1 WHERE is_settled = 0')
}

/**
 * Which of two sessions was there first. A copy carries the original's times, so only what a session does not share
 * tells: the one whose own records begin earlier is the parent; one with nothing of its own is contained in the other.
 */
function orient(cache: Database, first: number, second: number): [parent: number, child: number] {
  const ownStart = cache.prepare(
    `SELECT min(ts) AS at FROM events WHERE session = ?1 AND NOT flags & ${FLAG.sidechain}
     AND NOT EXISTS (SELECT 1 FROM events o WHERE o.key = events.key AND o.session = ?2)`,
  )
  const startOf = (a: number, b: number): number =>
    (ownStart.get(a, b) as { at: number | null }).at ?? Number.NEGATIVE_INFINITY
  const firstAt = startOf(first, second)
  const secondAt = startOf(second, first)
  if (firstAt !== secondAt) return firstAt < secondAt ? [first, second] : [second, first]
  const uid = cache.prepare('SELECT session_uid FROM cached WHERE id = ?')
  const uidOf = (id: number): string => (uid.get(id) as { session_uid: string }).session_uid
  return uidOf(first) < uidOf(second) ? [first, second] : [second, first]
}

/** The edge is only added where the format itself names no parent. */
function noteFork(cache: Database, memory: Database, child: number, parent: number): void {
  const uid = cache.prepare('SELECT session_uid FROM cached WHERE id = ?')
  const childUid = (uid.get(child) as { session_uid: string }).session_uid
  const parentUid = (uid.get(parent) as { session_uid: string }).session_uid
  memory
    .prepare(
      `INSERT INTO edges (session_uid, kind, parent_uid, evidence) SELECT ?1, 'interactive_fork', ?2, 'shared prefix'
       WHERE NOT EXISTS (SELECT 1 FROM edges WHERE session_uid = ?1 AND parent_uid <> '')`,
    )
    .run(childUid, parentUid)
  memory
    .prepare("UPDATE sessions SET relation = 'fork' WHERE session_uid = ? AND relation = 'main'")
    .run(childUid)
}

function countAgain(cache: Database, id: number): void {
  const own = `NOT flags & ${FLAG.inherited | FLAG.copied}`
  const kind = (name: (typeof EVENT_KINDS)[number]): number => EVENT_KINDS.indexOf(name)
  cache
    .prepare(
      `UPDATE cached SET
         turn_count = (SELECT count(*) FROM events WHERE session = ?1 AND kind = ${kind('user_msg')} AND ${own} AND NOT flags & ${FLAG.sidechain}),
         retry_count = (SELECT count(*) FROM events WHERE session = ?1 AND kind = ${kind('retry')} AND ${own}),
         error_count = (SELECT count(*) FROM events WHERE session = ?1 AND kind = ${kind('error')} AND ${own}),
         is_settled = 0
       WHERE id = ?1`,
    )
    .run(id)
}

/** Each response counts once: in the session where it happened, with its greatest reported output. */
function recount(memory: Database): void {
  const ids = memory.prepare('SELECT response_id FROM recount').all() as unknown as { response_id: string }[]
  const holders = memory.prepare(
    `SELECT u.session_uid, u.is_nested, u.is_sidechain, s.started_at,
       EXISTS (SELECT 1 FROM edges e JOIN usage o ON o.session_uid = e.parent_uid AND o.response_id = u.response_id
               WHERE e.session_uid = u.session_uid) AS is_copy
     FROM usage u JOIN sessions s USING (session_uid) WHERE u.response_id = ?
     ORDER BY is_nested, is_copy, is_sidechain, started_at, u.session_uid`,
  )
  const best = memory.prepare(
    `SELECT input, cache_read, cache_write_5m, cache_write_1h, output, reasoning FROM usage WHERE response_id = ?
     ORDER BY output DESC, input + cache_read DESC LIMIT 1`,
  )
  const keep = memory.prepare(
    `UPDATE usage SET is_counted = 1, input = ?, cache_read = ?, cache_write_5m = ?, cache_write_1h = ?, output = ?, reasoning = ?
     WHERE session_uid = ? AND response_id = ?`,
  )
  const stale = memory.prepare(
    'INSERT OR IGNORE INTO stale_slots SELECT session_uid FROM usage WHERE response_id = ?',
  )
  const drop = memory.prepare('UPDATE usage SET is_counted = 0 WHERE response_id = ? AND session_uid <> ?')
  for (const { response_id } of ids) {
    const owner = holders.get(response_id) as { session_uid: string } | undefined
    const most = best.get(response_id) as Record<string, number> | undefined
    if (!owner || !most) continue
    keep.run(...(Object.values(most) as number[]), owner.session_uid, response_id)
    drop.run(response_id, owner.session_uid)
    stale.run(response_id)
  }
  memory.exec('DELETE FROM recount')
}

/** Counters, redactions, size and place of each session, copied into Tier 2 where they outlive the cache. */
function describe(
  cache: Database,
  memory: Database,
  sessions: readonly Unsettled[],
  place: (session: SessionPlace) => Place,
): void {
  const now = Date.now()
  const counts = cache.prepare(
    'SELECT event_count, turn_count, retry_count, error_count FROM cached WHERE id = ?',
  )
  const bytes = cache.prepare('SELECT coalesce(sum(size), 0) AS size FROM sources WHERE session_uid = ?')
  const findings = cache.prepare(
    'SELECT rule, sum(count) AS count FROM findings WHERE session = ? GROUP BY rule',
  )
  const where = memory.prepare('SELECT cwd, git_remote FROM sessions WHERE session_uid = ?')
  const save = memory.prepare(
    `UPDATE sessions SET event_count = ?, turn_count = ?, retry_count = ?, error_count = ?, redactions = ?, source_bytes = ?,
     repo = ?, domain = ?, ingested_at = ?, is_sole_copy = 0, evicted_at = NULL WHERE session_uid = ?`,
  )
  for (const { id, session_uid } of sessions) {
    const row = counts.get(id) as Record<string, number>
    const found = findings.all(id) as unknown as { rule: string; count: number }[]
    const at = where.get(session_uid) as { cwd: string | null; git_remote: string | null } | undefined
    const { repo, domain } = place({
      sessionUid: session_uid,
      cwd: at?.cwd ?? null,
      gitRemote: at?.git_remote ?? null,
    })
    save.run(
      row['event_count'] as number,
      row['turn_count'] as number,
      row['retry_count'] as number,
      row['error_count'] as number,
      JSON.stringify(Object.fromEntries(found.map((one) => [one.rule, one.count]))),
      (bytes.get(session_uid) as { size: number }).size,
      repo,
      domain,
      now,
      session_uid,
    )
  }
}
