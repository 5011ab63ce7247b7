// How a session is written: one transaction, one session. Its row is locked first, and moves from one generation to the next
// by compare-and-swap; the rest of it is replaced. The same push again changes nothing and says so.
// After a crash: before the commit nothing of it is there, after it all is; a client that heard nothing sends it again.
import { createHash } from 'node:crypto'
import type { Ack, SessionPush } from '../../contract.ts'
import { SLOT_MS, slotOver } from '../slots.ts'
import type { Connection, Fleet } from './database.ts'
import { SLOT_FACTS } from './many.ts'
import { FAILURE_FACTS } from './recurring.ts'
import { wordsOf } from './words.ts'

export type Written =
  | Ack
  | { state: 'stale'; generation: number }
  | { state: 'forgotten' }
  | { state: 'foreign' }

export interface Pusher {
  team: string
  person: string
}

/** The same for the same session, whichever generation it was sent from. */
export function revisionOf({ from: _, ...rest }: SessionPush): string {
  return createHash('sha256').update(JSON.stringify(rest)).digest('hex')
}

/** Also tells which segments it named before: some may be named by nobody now. */
export function writeSession(
  fleet: Fleet,
  pusher: Pusher,
  push: SessionPush,
  now: number,
): Promise<{ written: Written; before: string[] }> {
  return fleet.inTeam(pusher.team, async (connection) => {
    const before = await segmentsOf(connection, pusher.team, push.session.uid, push.host.id)
    const written = await write(connection, pusher, push, now)
    return { written, before: before.map((one) => one.sha256) }
  })
}

async function write(
  connection: Connection,
  { team, person }: Pusher,
  push: SessionPush,
  now: number,
): Promise<Written> {
  const key = [push.session.uid, team, push.host.id]
  const gone = await connection.query(
    'SELECT 1 FROM recollect.forgotten WHERE session_uid = $1 AND team = $2 AND host_id = $3',
    key,
  )
  if (gone.rows.length > 0) return { state: 'forgotten' }
  const revision = revisionOf(push)
  const found = await connection.query(
    'SELECT generation, revision, person FROM recollect.sessions WHERE session_uid = $1 AND team = $2 AND host_id = $3 FOR UPDATE',
    key,
  )
  const known = found.rows[0] as { generation: number; revision: string; person: string } | undefined
  if (known && known.person !== person) return { state: 'foreign' }
  if (known?.revision === revision) return { state: 'same', generation: known.generation }
  if ((known?.generation ?? 0) !== push.from) return { state: 'stale', generation: known?.generation ?? 0 }
  const generation = push.from + 1
  const row = await connection.query(UPSERT, [
    ...key,
    push.from,
    generation,
    revision,
    person,
    now,
    ...sessionValues(push),
  ])
  // Another transaction wrote it first, between our look and this.
  if (row.rowCount === 0) return { state: 'stale', generation: await generationOf(connection, key) }
  await writeLedger(connection, key, push)
  await sumSlots(connection, key)
  await replaceParts(connection, key, push)
  await showOne(connection, key.slice(0, 2))
  return { state: 'stored', generation }
}

const COLUMNS =
  `level user_name host_name flavor repo domain model relation is_helper started_at ended_at outcome turns retries
  errors events title digest words`.split(/\s+/)

const UPSERT = `INSERT INTO recollect.sessions AS s (session_uid, team, host_id, generation, revision, person, pushed_at, ${COLUMNS.join(', ')})
  SELECT $1, $2, $3, $5, $6, $7, $8, ${COLUMNS.map((name, at) => (name === 'words' ? `array_to_tsvector($${at + 9}::text[])` : `$${at + 9}`)).join(', ')}
  ON CONFLICT (session_uid, team, host_id) DO UPDATE SET generation = excluded.generation, revision = excluded.revision,
  pushed_at = excluded.pushed_at, is_settled = false, ${COLUMNS.map((name) => `${name} = excluded.${name}`).join(', ')}
  WHERE s.generation = $4 AND s.person = excluded.person`

function sessionValues({ level, user, host, session, digest }: SessionPush): unknown[] {
  const {
    uid: _,
    flavor,
    repo,
    domain,
    model,
    relation,
    is_helper,
    started_at,
    ended_at,
    outcome,
    ...counts
  } = session
  const facts = [flavor, repo, domain, model, relation, is_helper, started_at, ended_at, outcome]
  const title = typeof digest?.['title'] === 'string' ? digest['title'].slice(0, 500) : null
  return [
    level,
    user,
    host.name,
    ...facts,
    counts.turns,
    counts.retries,
    counts.errors,
    counts.events,
    title,
    digest === null ? null : JSON.stringify(digest),
    digest === null ? null : wordsOf(digest),
  ]
}

async function generationOf(connection: Connection, key: readonly string[]): Promise<number> {
  const { rows } = await connection.query(
    'SELECT generation FROM recollect.sessions WHERE session_uid = $1 AND team = $2 AND host_id = $3',
    [...key],
  )
  return (rows[0]?.generation as number | undefined) ?? 0
}

const TOKENS = 'input cache_read cache_write_5m cache_write_1h output reasoning'.split(' ')
const LEDGER = ['at', 'model', ...TOKENS, 'responses', 'is_turn', 'reported_cost']

/** What another session holds, too, is counted in one of them: `settle.ts` decides which. */
async function writeLedger(
  connection: Connection,
  key: readonly string[],
  { ledger }: SessionPush,
): Promise<void> {
  const gone = await connection.query(
    `DELETE FROM recollect.ledger WHERE session_uid = $1 AND team = $2 AND host_id = $3 AND NOT response_id = ANY($4)
     RETURNING response_id`,
    [...key, ledger.map((one) => one.id)],
  )
  if (gone.rows.length > 0)
    await unsettleHolders(
      connection,
      key[1] as string,
      gone.rows.map((one) => one.response_id),
    )
  await connection.query(
    `INSERT INTO recollect.ledger AS l (session_uid, team, host_id, response_id, claims, is_counted, ${LEDGER.join(', ')})
     SELECT $1, $2, $3, j.id, j.counts, j.counts, ${LEDGER.map((name) => `j.${name}`).join(', ')}
     FROM jsonb_to_recordset($4::jsonb) AS j (id text, counts boolean, at bigint, model text,
       ${TOKENS.map((name) => `${name} bigint`).join(', ')}, responses bigint, is_turn boolean, reported_cost bigint)
     ON CONFLICT (session_uid, team, host_id, response_id) DO UPDATE SET claims = excluded.claims,
     is_counted = CASE WHEN excluded.claims AND l.claims THEN l.is_counted ELSE excluded.claims END,
     ${LEDGER.map((name) => `${name} = excluded.${name}`).join(', ')}`,
    [...key, JSON.stringify(ledger)],
  )
}

/** Whoever else holds these responses may have to count them now. */
export async function unsettleHolders(
  connection: Connection,
  team: string,
  responses: readonly string[],
): Promise<void> {
  await connection.query(
    `UPDATE recollect.sessions s SET is_settled = false FROM recollect.ledger l
     WHERE l.team = $1 AND l.response_id = ANY($2) AND s.session_uid = l.session_uid AND s.team = l.team AND s.host_id = l.host_id`,
    [team, responses],
  )
}

const SUMS = [...TOKENS, 'reported_cost']

/** The ledger summed up as on one machine (`store/slots.ts`), and its sum beside the session. */
export async function sumSlots(connection: Connection, key: readonly string[]): Promise<void> {
  await connection.query(
    'DELETE FROM recollect.usage_slots WHERE session_uid = $1 AND team = $2 AND host_id = $3',
    [...key],
  )
  await connection.query(
    `INSERT INTO recollect.usage_slots (session_uid, team, host_id, slot, model, prompt_over, responses, reported,
       ${[...SUMS, ...SLOT_FACTS].join(', ')})
     SELECT $1, $2, $3, coalesce(at / ${SLOT_MS}, -1), coalesce(l.model, ''), ${slotOver('is_turn')}, sum(responses), count(reported_cost),
       ${[...SUMS.map((name) => `sum(${name})`), ...SLOT_FACTS.map((name) => `min(s.${name})`)].join(', ')}
     FROM recollect.ledger l JOIN recollect.sessions s USING (session_uid, team, host_id)
     WHERE l.session_uid = $1 AND l.team = $2 AND l.host_id = $3 AND is_counted GROUP BY 4, 5, 6`,
    [...key],
  )
  await connection.query(
    `UPDATE recollect.sessions SET total_tokens = (SELECT coalesce(sum(input + cache_read + cache_write_5m + cache_write_1h + output), 0)
       FROM recollect.usage_slots u WHERE u.session_uid = $1 AND u.team = $2 AND u.host_id = $3)
     WHERE session_uid = $1 AND team = $2 AND host_id = $3`,
    [...key],
  )
}

async function replaceParts(
  connection: Connection,
  key: readonly string[],
  push: SessionPush,
): Promise<void> {
  for (const table of ['edges', 'failures', 'segments'])
    await connection.query(
      `DELETE FROM recollect.${table} WHERE session_uid = $1 AND team = $2 AND host_id = $3`,
      [...key],
    )
  await connection.query(
    `INSERT INTO recollect.edges (session_uid, team, host_id, kind, parent_uid, at)
     SELECT $1, $2, $3, j.kind, j.parent_uid, j.at FROM jsonb_to_recordset($4::jsonb) AS j (kind text, parent_uid text, at bigint)
     ON CONFLICT DO NOTHING`,
    [...key, JSON.stringify(push.edges)],
  )
  const told = new Map(snippetsIn(push.digest).map((one) => [one.fingerprint, one]))
  const failures = push.failures.map((one) => ({ ...one, ...told.get(one.fingerprint) }))
  await connection.query(
    `INSERT INTO recollect.failures (session_uid, team, host_id, fingerprint, tool, count, first_at, last_at, is_mended, sample, mend,
       ${Object.keys(FAILURE_FACTS).join(', ')})
     SELECT $1, $2, $3, f.fingerprint, f.tool, f.count, f.first_at, f.last_at, f.is_mended, f.sample, f.mend,
       ${Object.values(FAILURE_FACTS).join(', ')}
     FROM jsonb_to_recordset($4::jsonb) AS f (fingerprint text, tool text, count bigint, first_at bigint, last_at bigint,
       is_mended boolean, sample text, mend text)
     JOIN recollect.sessions s ON s.session_uid = $1 AND s.team = $2 AND s.host_id = $3 ON CONFLICT DO NOTHING`,
    [...key, JSON.stringify(failures)],
  )
  await connection.query(
    `INSERT INTO recollect.segments (session_uid, team, host_id, first_seq, last_seq, sha256, bytes)
     SELECT $1, $2, $3, j.first_seq, j.last_seq, j.sha256, j.bytes
     FROM jsonb_to_recordset($4::jsonb) AS j (sha256 text, bytes bigint, first_seq bigint, last_seq bigint) ON CONFLICT DO NOTHING`,
    [...key, JSON.stringify(push.segments)],
  )
}

interface Told {
  fingerprint: string
  sample: string
  mend: string | null
}

const LONGEST = 400

/** What a digest says of its errors, so that failures of many sessions can be read without their digests. */
function snippetsIn(digest: SessionPush['digest']): Told[] {
  const snippets = digest?.['error_snippets']
  if (!Array.isArray(snippets)) return []
  return snippets.flatMap(
    (one: { fingerprint?: unknown; sample?: unknown; resolved_by?: { steps?: unknown } | null } | null) => {
      if (typeof one?.fingerprint !== 'string' || typeof one.sample !== 'string') return []
      const steps = one.resolved_by?.steps
      const words = Array.isArray(steps) ? steps.map((step) => String(step?.what)).join(' → ') : ''
      return [
        {
          fingerprint: one.fingerprint,
          sample: one.sample.slice(0, LONGEST),
          mend: words === '' ? null : words.slice(0, LONGEST),
        },
      ]
    },
  )
}

/** Of a session that several machines have, the one is shown that holds most of it. */
export async function showOne(connection: Connection, key: readonly string[]): Promise<void> {
  await connection.query(
    `UPDATE recollect.sessions s SET is_shown = (s.host_id = best.host_id) FROM (
       SELECT host_id FROM recollect.sessions WHERE session_uid = $1 AND team = $2 ORDER BY events DESC, ended_at DESC NULLS LAST, host_id LIMIT 1
     ) best WHERE s.session_uid = $1 AND s.team = $2 AND s.is_shown <> (s.host_id = best.host_id)`,
    [...key],
  )
  await connection.query(
    `UPDATE recollect.failures f SET is_shown = s.is_shown FROM recollect.sessions s
     WHERE f.session_uid = $1 AND f.team = $2 AND s.session_uid = $1 AND s.team = $2 AND s.host_id = f.host_id AND f.is_shown <> s.is_shown`,
    [...key],
  )
}

export async function segmentsOf(
  connection: Connection,
  team: string,
  uid: string,
  hostId?: string,
): Promise<{ sha256: string; person: string }[]> {
  const { rows } = await connection.query(
    `SELECT g.sha256, s.person FROM recollect.segments g JOIN recollect.sessions s USING (session_uid, team, host_id)
     WHERE g.session_uid = $1 AND g.team = $2 AND (g.host_id = $3 OR ($3 IS NULL AND s.is_shown)) ORDER BY g.first_seq`,
    [uid, team, hostId ?? null],
  )
  return rows
}
