// What goes from a team server: a session its machine forgot, what a lowered level leaves behind, and what is older than a team
// keeps. Rows go first; a segment that nobody names any more is dropped from the blobs afterwards, by whoever holds them.
import { type Caller, noteReading } from './access.ts'
import type { Connection, Fleet } from './database.ts'
import { segmentsOf, showOne, unsettleHolders } from './ingest.ts'

const PARTS = ['ledger', 'usage_slots', 'edges', 'failures', 'segments', 'sessions']

/** With the segments that it named: whoever holds them may drop them now. */
export type Forgotten = { state: 'gone'; segments: string[] } | { state: 'held' } | { state: 'foreign' }

/** Removes what a machine pushed of a session, and keeps that it did: no later push brings it back. */
export function forgetSession(
  fleet: Fleet,
  { team, person, uid, hostId }: { team: string; person: string; uid: string; hostId: string },
  now: number,
): Promise<Forgotten> {
  const key = [uid, team, hostId]
  return fleet.inTeam(team, async (connection) => {
    const { rows } = await connection.query(
      `SELECT s.person, t.is_held FROM recollect.teams t LEFT JOIN recollect.sessions s
         ON s.session_uid = $1 AND s.team = $2 AND s.host_id = $3 WHERE t.team = $2`,
      key,
    )
    if (rows[0]?.person != null && rows[0].person !== person) return { state: 'foreign' }
    if (rows[0]?.is_held) return { state: 'held' }
    const segments = await segmentsOf(connection, team, uid, hostId)
    await removeSession(connection, key)
    await connection.query('INSERT INTO recollect.forgotten VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING', [
      ...key,
      now,
    ])
    return { state: 'gone', segments: segments.map((one) => one.sha256) }
  })
}

async function removeSession(connection: Connection, key: readonly string[]): Promise<void> {
  const held = await connection.query(
    'SELECT response_id FROM recollect.ledger WHERE session_uid = $1 AND team = $2 AND host_id = $3 AND claims',
    [...key],
  )
  for (const table of PARTS)
    await connection.query(
      `DELETE FROM recollect.${table} WHERE session_uid = $1 AND team = $2 AND host_id = $3`,
      [...key],
    )
  await unsettleHolders(
    connection,
    key[1] as string,
    held.rows.map((one) => one.response_id),
  )
  await showOne(connection, key.slice(0, 2))
}

/** Removes sessions that ended longer ago than their team keeps them; a hold keeps all. Returns how many went. */
export function expireSessions(fleet: Fleet, team: string, now: number): Promise<number> {
  return fleet.inTeam(team, async (connection) => {
    const { rows } = await connection.query(
      `SELECT s.session_uid, s.host_id FROM recollect.sessions s JOIN recollect.teams t ON t.team = s.team
       WHERE s.team = $1 AND NOT t.is_held AND t.keep_days IS NOT NULL
       AND coalesce(s.ended_at, s.pushed_at) < $2 - t.keep_days * 86400000::bigint`,
      [team, now],
    )
    for (const one of rows) await removeSession(connection, [one.session_uid, team, one.host_id])
    return rows.length
  })
}

/** Which of these segments some session of the team still names. */
export async function namedSegments(
  fleet: Fleet,
  team: string,
  hashes: readonly string[],
): Promise<Set<string>> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query('SELECT DISTINCT sha256 FROM recollect.segments WHERE team = $1 AND sha256 = ANY($2)', [
      team,
      hashes,
    ]),
  )
  return new Set(rows.map((one) => one.sha256 as string))
}

/** The segments of a session as it is shown; that they are read is written down in the same transaction. */
export function readSegments(fleet: Fleet, caller: Caller, uid: string, now: number): Promise<string[]> {
  return fleet.inTeam(caller.team, async (connection) => {
    const found = await segmentsOf(connection, caller.team, uid)
    if (found[0]) await noteReading(connection, caller, { uid, person: found[0].person, what: 'text' }, now)
    return found.map((one) => one.sha256)
  })
}
