// Which session counts a response that several hold: a fork on one machine and its origin on another, or one session that two
// machines have. The one that began first counts it. A session that was written is marked in its own transaction and settled
// here in another, before anybody is told a sum: a kill in between only leaves the mark.
import type { Connection, Fleet } from './database.ts'
import { sumSlots } from './ingest.ts'

const AT_ONCE = 200

/** Until nothing is left to be settled: sums are asked for behind it. */
export async function settle(fleet: Fleet, team: string): Promise<void> {
  while (await fleet.inTeam(team, (connection) => settleSome(connection, team)));
}

/** Settles some of a team's sessions; false when none are left. */
async function settleSome(connection: Connection, team: string): Promise<boolean> {
  const { rows } = await connection.query(
    `SELECT session_uid, host_id FROM recollect.sessions WHERE team = $1 AND NOT is_settled
     ORDER BY session_uid, host_id LIMIT ${AT_ONCE}`,
    [team],
  )
  if (rows.length === 0) return false
  const uids = rows.map((one) => one.session_uid as string)
  const hosts = rows.map((one) => one.host_id as string)
  const shared = await connection.query(SHARED, [team, uids, hosts])
  const responses = shared.rows.map((one) => one.response_id as string)
  if (responses.length > 0) await decide(connection, team, responses)
  await connection.query(
    `UPDATE recollect.sessions s SET is_settled = true FROM unnest($2::text[], $3::text[]) AS k (session_uid, host_id)
     WHERE s.session_uid = k.session_uid AND s.team = $1 AND s.host_id = k.host_id`,
    [team, uids, hosts],
  )
  return true
}

/** Responses of these sessions that are claimed twice, or claimed and counted by nobody. */
const SHARED = `SELECT DISTINCT l.response_id FROM unnest($2::text[], $3::text[]) AS k (session_uid, host_id)
  JOIN recollect.ledger l ON l.session_uid = k.session_uid AND l.team = $1 AND l.host_id = k.host_id
  WHERE l.claims AND (NOT l.is_counted OR EXISTS (SELECT 1 FROM recollect.ledger o WHERE o.team = $1
    AND o.response_id = l.response_id AND o.claims AND (o.session_uid, o.host_id) <> (l.session_uid, l.host_id)))`

async function decide(connection: Connection, team: string, responses: readonly string[]): Promise<void> {
  // In one order, so that two that settle at a time wait for each other instead of for ever.
  await connection.query(
    `SELECT 1 FROM recollect.sessions s WHERE s.team = $1 AND EXISTS (SELECT 1 FROM recollect.ledger l
       WHERE l.team = $1 AND l.response_id = ANY($2) AND l.session_uid = s.session_uid AND l.host_id = s.host_id)
     ORDER BY s.session_uid, s.host_id FOR UPDATE`,
    [team, responses],
  )
  const changed = await connection.query(
    `UPDATE recollect.ledger l SET is_counted = w.is_first FROM (
       SELECT h.session_uid, h.host_id, h.response_id, row_number() OVER (PARTITION BY h.response_id
         ORDER BY s.started_at NULLS LAST, h.session_uid, h.output DESC, h.host_id) = 1 AS is_first
       FROM recollect.ledger h JOIN recollect.sessions s ON s.session_uid = h.session_uid AND s.team = h.team AND s.host_id = h.host_id
       WHERE h.team = $1 AND h.response_id = ANY($2) AND h.claims
     ) w WHERE l.session_uid = w.session_uid AND l.team = $1 AND l.host_id = w.host_id AND l.response_id = w.response_id
     AND l.is_counted <> w.is_first RETURNING l.session_uid, l.host_id`,
    [team, responses],
  )
  const keys = new Map(
    changed.rows.map((one) => [`${one.session_uid}\0${one.host_id}`, [one.session_uid, team, one.host_id]]),
  )
  for (const key of keys.values()) await sumSlots(connection, key)
}
