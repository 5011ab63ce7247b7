// Failures that several people met. What of a session is asked for beside them stands with each (`FAILURE_FACTS`): a team has more
// failures than sessions, and to look each one's session up takes longer than the sums.
import { FEWEST_PEOPLE, type FleetPattern } from '../../contract.ts'
import type { Fleet } from './database.ts'
import { iso } from './questions.ts'

/** By their columns. */
export const FAILURE_FACTS = {
  person: 's.person',
  repo: 's.repo',
  is_shown: 's.is_shown',
  seen_at: 'coalesce(f.last_at, s.ended_at, 0)',
}

export const factsOfFailures = {
  name: 'failures with whose they are',
  sql: `
    ALTER TABLE recollect.failures ADD COLUMN person text, ADD COLUMN repo text, ADD COLUMN is_shown boolean, ADD COLUMN seen_at bigint;
    UPDATE recollect.failures f SET ${Object.entries(FAILURE_FACTS)
      .map((one) => one.join(' = '))
      .join(', ')} FROM recollect.sessions s
      WHERE s.session_uid = f.session_uid AND s.team = f.team AND s.host_id = f.host_id;
    CREATE INDEX failures_seen ON recollect.failures (team, seen_at) INCLUDE (fingerprint, count) WHERE is_shown;
    CREATE INDEX failures_met ON recollect.failures (team, fingerprint, seen_at);
    DROP INDEX recollect.failures_fingerprint;
    -- Which models a team uses is asked before each sum.
    CREATE INDEX usage_slots_model ON recollect.usage_slots (team, model);
    `,
}

/** Those in most sessions first: counted by fingerprint alone, and looked at closely until there are enough. */
export async function findPatterns(
  fleet: Fleet,
  {
    team,
    sinceAt = 0,
    untilAt = Number.MAX_SAFE_INTEGER,
    limit,
  }: { team: string; sinceAt?: number; untilAt?: number; limit: number },
): Promise<(FleetPattern & { is_old: boolean })[]> {
  const met = 'f.team = $1 AND f.is_shown AND f.seen_at >= $2 AND f.seen_at < $4'
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT c.*, d.*, (SELECT true FROM recollect.failures o
         WHERE o.team = $1 AND o.fingerprint = c.fingerprint AND o.first_at < $2 AND $2 > 0 LIMIT 1) IS TRUE AS is_old
       FROM (SELECT f.fingerprint, sum(f.count) AS count, count(*) AS sessions FROM recollect.failures f WHERE ${met}
         GROUP BY f.fingerprint HAVING count(*) >= ${FEWEST_PEOPLE} ORDER BY count(*) DESC, sum(f.count) DESC, f.fingerprint) c
       CROSS JOIN LATERAL (SELECT min(f.tool) AS tool, min(f.sample) AS sample, count(DISTINCT f.repo) AS repos,
           count(DISTINCT f.host_id) AS hosts, count(*) FILTER (WHERE f.is_mended) AS mended_sessions,
           mode() WITHIN GROUP (ORDER BY f.mend) FILTER (WHERE f.mend IS NOT NULL) AS mend,
           min(f.first_at) AS first_seen, max(f.last_at) AS last_seen
         FROM recollect.failures f WHERE ${met} AND f.fingerprint = c.fingerprint
         HAVING count(DISTINCT f.person) >= ${FEWEST_PEOPLE}) d
       ORDER BY c.sessions DESC, c.count DESC, c.fingerprint LIMIT $3`,
      [team, sinceAt, limit, untilAt],
    ),
  )
  return rows.map((one) => ({ ...one, first_seen: iso(one.first_seen), last_seen: iso(one.last_seen) }))
}
