// Teams, tokens and the audit log. A token is `rct_<id>_<secret>`; only the hash of the secret is kept, so that whoever reads the
// database holds no token.
import { createHash, randomBytes } from 'node:crypto'
import type { Role } from '../../contract.ts'
import { RecollectError } from '../../errors.ts'
import type { Connection, Fleet } from './database.ts'

export interface Caller {
  team: string
  person: string
  role: Role
}

export interface TokenRow {
  token_id: string
  team: string
  person: string
  role: Role
  created_at: number
  expires_at: number | null
  revoked_at: number | null
}

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** Whose token it is; undefined for one that is unknown, expired or revoked. */
export async function callerOf(fleet: Fleet, token: string, now: number): Promise<Caller | undefined> {
  const parts = /^rct_([0-9a-f]{16})_([\w-]{43})$/.exec(token)
  if (!parts) return undefined
  // No team is known yet, so that no row of any is seen: the function alone looks at tokens.
  return await fleet.inTeam('', async (connection) => {
    const { rows } = await connection.query('SELECT team, person, role FROM recollect.whose($1, $2, $3)', [
      parts[1],
      hashOf(parts[2] as string),
      now,
    ])
    return rows[0] as Caller | undefined
  })
}

/** Returns the token, which is shown this once. */
export async function createToken(
  fleet: Fleet,
  {
    team,
    person,
    role,
    expiresAt,
    now,
  }: { team: string; person: string; role: Role; expiresAt: number | null; now: number },
): Promise<{ id: string; token: string }> {
  const id = randomBytes(8).toString('hex')
  const secret = randomBytes(32).toString('base64url')
  await fleet.asOwner(async (connection) => {
    await connection.query(
      'INSERT INTO recollect.teams (team, created_at) VALUES ($1, $2) ON CONFLICT DO NOTHING',
      [team, now],
    )
    await connection.query(
      'INSERT INTO recollect.tokens (token_id, team, person, role, hash, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)',
      [id, team, person, role, hashOf(secret), now, expiresAt],
    )
  })
  return { id, token: `rct_${id}_${secret}` }
}

export async function listTokens(fleet: Fleet): Promise<TokenRow[]> {
  const { rows } = await fleet.asOwner((connection) =>
    connection.query(
      'SELECT token_id, team, person, role, created_at, expires_at, revoked_at FROM recollect.tokens ORDER BY team, person, created_at',
    ),
  )
  return rows
}

export async function revokeToken(fleet: Fleet, id: string, now: number): Promise<void> {
  const { rowCount } = await fleet.asOwner((connection) =>
    connection.query(
      'UPDATE recollect.tokens SET revoked_at = coalesce(revoked_at, $2) WHERE token_id = $1',
      [id, now],
    ),
  )
  if (rowCount === 0)
    throw new RecollectError('NOT_FOUND', 'there is no such token', {
      where: id,
      hint: 'recollect serve token list',
    })
}

export interface TeamRow {
  team: string
  keep_days: number | null
  is_held: boolean
}

export async function listTeams(fleet: Fleet): Promise<TeamRow[]> {
  const { rows } = await fleet.asOwner((connection) =>
    connection.query('SELECT team, keep_days, is_held FROM recollect.teams ORDER BY team'),
  )
  return rows
}

/** How long a team keeps sessions (null: for good), and whether a legal hold keeps all there is; what is left out stays. */
export async function setTeam(
  fleet: Fleet,
  { team, keep_days, is_held }: Pick<TeamRow, 'team'> & Partial<TeamRow>,
  now: number,
): Promise<TeamRow> {
  const { rows } = await fleet.asOwner((connection) =>
    connection.query(
      `INSERT INTO recollect.teams AS t (team, created_at, keep_days, is_held) VALUES ($1, $2, $3, coalesce($4, false))
       ON CONFLICT (team) DO UPDATE SET keep_days = CASE WHEN $5 THEN excluded.keep_days ELSE t.keep_days END,
       is_held = coalesce($4, t.is_held) RETURNING team, keep_days, is_held`,
      [team, now, keep_days ?? null, is_held ?? null, keep_days !== undefined],
    ),
  )
  return rows[0] as TeamRow
}

export interface AuditEntry {
  at: number
  reader: string
  session_uid: string
  what: string
}

/** Written down before anything is shown. */
export async function noteReading(
  connection: Connection,
  { team, person: reader }: Caller,
  { uid, person, what }: { uid: string; person: string; what: string },
  now: number,
): Promise<void> {
  await connection.query(
    'INSERT INTO recollect.audit (session_uid, team, id, at, reader, person, what) VALUES ($1, $2, $3, $4, $5, $6, $7)',
    [uid, team, randomBytes(12).toString('hex'), now, reader, person, what],
  )
}

/** Who read a person's sessions; all of the team's for an admin. */
export async function readings(fleet: Fleet, { team, person, role }: Caller): Promise<AuditEntry[]> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT at, reader, session_uid, what FROM recollect.audit WHERE team = $1 AND ($2::text IS NULL OR person = $2)
       ORDER BY at DESC LIMIT 1000`,
      [team, role === 'admin' ? null : person],
    ),
  )
  return rows
}
