// What can only be known when several sources have been read: parents that came later, prefixes that forks share, which
// session a response is counted in, and where a session belongs. Runs from marks left in the database, so a kill between
// writing and settling loses nothing; running it twice changes nothing.

import type { Database } from './database.ts'
import { transaction } from './database.ts'
import { knowingMore } from './digests.ts'
import { linkToEvicted } from './evicted-keys.ts'
import { settleForks } from './forks.ts'
import { IS_GONE, SOURCE_BYTES } from './own-sources.ts'
import { linkPending } from './pending-links.ts'
import { hasStaleSlots, sumSlots } from './slots.ts'
import type { Place, SessionPlace } from './store.ts'
import { mergingFacts } from './told-facts.ts'
import { decideOpenKin, reopenKin } from './undecided-forks.ts'

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
  const unsettled = cache.prepare('SELECT id, session_uid FROM cached WHERE is_settled = 0')
  const written = unsettled.all() as unknown as Unsettled[]
  if (written.length === 0 && !hasRecounts(memory) && !hasStaleSlots(memory)) return 0
  return transaction(cache, () => {
    linkPending(cache, written)
    const done = cache.prepare('UPDATE cached SET is_settled = 1, low_at = NULL WHERE id = ?')
    return transaction(memory, () => {
      reopenKin(cache, memory, written)
      settleForks(cache, memory)
      linkToEvicted(cache, memory, written)
      decideOpenKin(cache, memory, written)
      recount(memory)
      sumSlots(memory)
      // Kin of what was written may have changed as well.
      const sessions = unsettled.all() as unknown as Unsettled[]
      describe(cache, memory, sessions, place)
      for (const session of sessions) done.run(session.id)
      return sessions.length
    })
  })
}

function hasRecounts(memory: Database): boolean {
  return memory.prepare('SELECT 1 FROM recount LIMIT 1').get() !== undefined
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
    `UPDATE ledger SET is_counted = 1, input = ?, cache_read = ?, cache_write_5m = ?, cache_write_1h = ?, output = ?, reasoning = ?
     WHERE session = (SELECT number FROM ledger_sessions WHERE session_uid = ?) AND response_id = ?`,
  )
  const stale = memory.prepare(
    'INSERT OR IGNORE INTO stale_slots SELECT session_uid FROM usage WHERE response_id = ?',
  )
  const drop = memory.prepare(
    `UPDATE ledger SET is_counted = 0 WHERE response_id = ?
     AND session <> (SELECT number FROM ledger_sessions WHERE session_uid = ?)`,
  )
  // Their tokens changed, so their digests have to be made again.
  const outdate = memory.prepare(
    `UPDATE sessions SET ingested_at = analyzed_at + 1 WHERE analyzed_at >= ingested_at AND evicted_at IS NULL
     AND session_uid IN (SELECT session_uid FROM usage WHERE response_id = ?)`,
  )
  // Of those whose events are gone only this can be made again.
  const outdateFrozen = memory.prepare(
    `INSERT INTO copied (session_uid) SELECT s.session_uid FROM usage u JOIN sessions s USING (session_uid)
     WHERE u.response_id = ? AND s.evicted_at IS NOT NULL AND s.analyzed_at IS NOT NULL
     ON CONFLICT DO UPDATE SET is_told = 0`,
  )
  for (const { response_id } of ids) {
    const owner = holders.get(response_id) as { session_uid: string } | undefined
    const most = best.get(response_id) as Record<string, number> | undefined
    if (!owner || !most) continue
    keep.run(...(Object.values(most) as number[]), owner.session_uid, response_id)
    drop.run(response_id, owner.session_uid)
    stale.run(response_id)
    outdate.run(response_id)
    outdateFrozen.run(response_id)
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
  const { counts, inVain, readAgain, knowsMore, told, bytes, isGone, findings, where, save } = describing(
    cache,
    memory,
  )
  const mergeFacts = mergingFacts(cache, memory)
  for (const { id, session_uid } of sessions) {
    mergeFacts(id, session_uid)
    const row = counts.get(id) as Record<string, number>
    if (knowsMore(session_uid, row['event_count'] as number)) Object.assign(row, told.get(session_uid))
    const found = findings.all(id) as unknown as { rule: string; count: number }[]
    const at = where.get(session_uid) as
      | { cwd: string | null; git_remote: string | null; host: string }
      | undefined
    const { repo, domain } = place({
      sessionUid: session_uid,
      cwd: at?.cwd ?? null,
      gitRemote: at?.git_remote ?? null,
      isElsewhere: (at?.host ?? '') !== '',
    })
    if (row['evicted_seq'] === 0) for (const drop of readAgain) drop.run(session_uid)
    const less = inVain.get(session_uid) as Record<'turns' | 'retries' | 'errors' | 'events', number>
    save.run(
      (row['event_count'] as number) - less.events,
      (row['turn_count'] as number) - less.turns,
      (row['retry_count'] as number) - less.retries,
      (row['error_count'] as number) - less.errors,
      JSON.stringify(Object.fromEntries(found.map((one) => [one.rule, one.count]))),
      (bytes.get(session_uid) as { size: number }).size,
      repo,
      domain,
      now,
      (isGone.get(id) as { gone: number }).gone,
      row['has_raw'] as number,
      session_uid,
    )
  }
}

function describing(cache: Database, memory: Database) {
  return {
    counts: cache.prepare(
      `SELECT event_count, turn_count, retry_count, error_count, next_seq - 1 > evicted_seq AS has_raw, evicted_seq
       FROM cached WHERE id = ?`,
    ),
    // Counted while they were not known as copies, or repetitions; read in again, they are.
    inVain: memory.prepare(
      `SELECT coalesce(max(turns), 0) AS turns, coalesce(max(retries), 0) AS retries, coalesce(max(errors), 0) AS errors,
       (SELECT count(*) FROM repeated WHERE session_uid = ?1) AS events FROM copied WHERE session_uid = ?1`,
    ),
    readAgain: ['copied', 'repeated'].map((table) =>
      memory.prepare(`DELETE FROM ${table} WHERE session_uid = ?`),
    ),
    knowsMore: knowingMore(cache, memory),
    told: memory.prepare(
      'SELECT event_count, turn_count, retry_count, error_count FROM sessions WHERE session_uid = ?',
    ),
    bytes: cache.prepare(SOURCE_BYTES),
    isGone: cache.prepare(IS_GONE),
    findings: cache.prepare('SELECT rule, sum(count) AS count FROM findings WHERE session = ? GROUP BY rule'),
    where: memory.prepare('SELECT cwd, git_remote, host FROM sessions WHERE session_uid = ?'),
    save: memory.prepare(
      `UPDATE sessions SET event_count = ?, turn_count = ?, retry_count = ?, error_count = ?, redactions = ?, source_bytes = ?,
       repo = ?, domain = ?, ingested_at = max(?, coalesce(analyzed_at, 0) + 1), is_sole_copy = ?,
       evicted_at = CASE WHEN ? THEN NULL ELSE evicted_at END,
       started_at = iif(own_at = 0, ended_at, coalesce(started_at, ended_at)), own_at = iif(started_at IS NULL, 0, own_at)
       WHERE session_uid = ?`,
    ),
  }
}
