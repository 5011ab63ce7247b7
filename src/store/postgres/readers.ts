// Logins of the database that may read the views of a team (`views.ts`), and what an export reads of one.
import type { Fleet } from './database.ts'
import { READER_ROLE } from './views.ts'

/** The login itself is the database's, and so are its password and where it may come from. */
export function setReader(fleet: Fleet, login: string, team: string | null): Promise<void> {
  const quoted = `"${login.replaceAll('"', '""')}"`
  return fleet.asOwner(async (connection) => {
    if (team === null) {
      await connection.query('DELETE FROM recollect.readers WHERE login = $1', [login])
      await connection.query(`REVOKE ${READER_ROLE} FROM ${quoted}`)
      return
    }
    await connection.query(
      'INSERT INTO recollect.readers VALUES ($1, $2) ON CONFLICT (login) DO UPDATE SET team = excluded.team',
      [login, team],
    )
    await connection.query(`GRANT ${READER_ROLE} TO ${quoted}`)
  })
}

/** How a column is written down elsewhere. */
export type ColumnType = 'text' | 'count' | 'time' | 'flag'

export interface Exported {
  columns: Record<string, ColumnType>
  /** In one order, so that a page goes on where the one before ended. */
  key: readonly string[]
  /** Of which of its times the day is told. */
  at: string
  table: string
}

const COUNTS = 'input cache_read cache_write_5m cache_write_1h output reasoning responses reported_cost'

const counts = (names: string): Record<string, ColumnType> =>
  Object.fromEntries(names.split(' ').map((name) => [name, 'count' as const]))

export const EXPORTS = {
  /** Each response where it is counted, and only there. */
  ledger: {
    table:
      'recollect.ledger t JOIN recollect.sessions s USING (session_uid, team, host_id) WHERE t.is_counted AND',
    at: 't.at',
    key: ['t.session_uid', 't.host_id', 't.response_id'],
    columns: {
      session_uid: 'text',
      host_id: 'text',
      response_id: 'text',
      at: 'time',
      flavor: 'text',
      repo: 'text',
      domain: 'text',
      person: 'text',
      't.model': 'text',
      ...counts(COUNTS),
    },
  },
  /** Each session once; `digest` is JSON, and null at level `ledger`. */
  digests: {
    table: 'recollect.sessions t WHERE t.is_shown AND',
    at: 't.started_at',
    key: ['t.session_uid', 't.host_id'],
    columns: {
      session_uid: 'text',
      host_id: 'text',
      host_name: 'text',
      person: 'text',
      flavor: 'text',
      repo: 'text',
      domain: 'text',
      model: 'text',
      relation: 'text',
      is_helper: 'flag',
      started_at: 'time',
      ended_at: 'time',
      outcome: 'text',
      ...counts('turns retries errors events total_tokens'),
      level: 'text',
      title: 'text',
      digest: 'text',
    },
  },
} as const satisfies Record<string, Exported>

/** Days on which there is something, as YYYY-MM-DD (UTC). */
export async function daysOf(
  fleet: Fleet,
  { table, at }: Exported,
  team: string,
  since: number,
  until: number,
): Promise<string[]> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT DISTINCT to_char(timestamp 'epoch' + ${at} * interval '1 millisecond', 'YYYY-MM-DD') AS day
       FROM ${table} t.team = $1 AND ${at} >= $2 AND ${at} < $3 ORDER BY day`,
      [team, since, until],
    ),
  )
  return rows.map((one) => one.day as string)
}

/** One page of a day, in the order of its key. */
export async function pageOf(
  fleet: Fleet,
  { table, at, key, columns }: Exported,
  {
    team,
    day,
    after,
    limit,
  }: { team: string; day: string; after: readonly string[] | undefined; limit: number },
): Promise<Record<string, unknown>[]> {
  const from = Date.parse(`${day}T00:00:00Z`)
  const values: unknown[] = [team, from, from + 86_400_000, ...(after ?? [])]
  const place = after ? ` AND (${key.join(', ')}) > (${after.map((_, i) => `$${i + 4}`).join(', ')})` : ''
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT ${Object.keys(columns).join(', ')} FROM ${table} t.team = $1 AND ${at} >= $2 AND ${at} < $3${place}
       ORDER BY ${key.join(', ')} LIMIT ${limit}`,
      values,
    ),
  )
  return rows
}
