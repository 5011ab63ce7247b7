// What the page of a team server lists: the same lines as of one machine's memory, as far as a team's rows hold them. Text of
// digests is not read here, so that a list is no reading of anybody's words beyond titles.
import type { Line } from '../reader/sessions.ts'
import type { SlotSum } from '../reader/usage.ts'
import type { Fleet } from './database.ts'
import { slotsBySession } from './usage.ts'

/** The newest that are narrowed, counted and sorted; what is older is found by a span. */
export const MOST_LINES = 10_000

export interface FleetLine extends Line {
  host: string
  user: string
  level: string
}

/** What a team's rows do not tell. */
const UNTOLD = {
  git_branch: null,
  first_prompt: '',
  outcome_reason: null,
  outcome_confidence: null,
  evicted_at: null,
  is_sole_copy: 0,
  active_s: 0,
  tool_calls: 0,
  edits: 0,
  commits: 0,
  is_pinned: false,
  starred_at: null,
  tags: '',
  cost_usd: null,
  unpriced_responses: 0,
  seen_at: 0,
}

const COLUMNS = `session_uid, flavor, repo, domain, model, title, relation, CASE WHEN is_helper THEN 'helper' END AS helper, outcome,
  started_at, ended_at, turns, events AS event_count, errors AS error_count, total_tokens, host_name AS host, user_name AS "user", level`

/** Newest first; `person`: only of this one; `uids`: only these. */
export async function linesOf(
  fleet: Fleet,
  question: {
    team: string
    person: string | undefined
    sinceAt?: number | undefined
    untilAt?: number | undefined
    uids?: readonly string[]
  },
): Promise<FleetLine[]> {
  const { team, person, sinceAt, untilAt, uids } = question
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT ${COLUMNS} FROM recollect.sessions WHERE team = $1 AND is_shown AND ($2::text IS NULL OR person = $2)
       AND ($3::bigint IS NULL OR ended_at >= $3) AND ($4::bigint IS NULL OR started_at < $4)
       AND ($5::text[] IS NULL OR session_uid = ANY($5))
       ORDER BY started_at DESC NULLS LAST, session_uid LIMIT ${MOST_LINES}`,
      [team, person ?? null, sinceAt ?? null, untilAt ?? null, uids ?? null],
    ),
  )
  return rows.map((row) => ({ ...UNTOLD, ...row }))
}

/** When the first and the last session that somebody may see began. */
export async function spanOf(
  fleet: Fleet,
  team: string,
  person: string | undefined,
): Promise<{ first_at: number | null; last_at: number | null }> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT min(started_at) AS first_at, max(started_at) AS last_at FROM recollect.sessions
       WHERE team = $1 AND is_shown AND ($2::text IS NULL OR person = $2)`,
      [team, person ?? null],
    ),
  )
  return rows[0]
}

/** Sums of these sessions, each response where it counts. */
export const spentBy = (
  fleet: Fleet,
  team: string,
  uids: readonly string[],
  prices: Parameters<typeof slotsBySession>[1]['prices'],
): Promise<SlotSum[]> =>
  fleet.inTeam(team, (connection) => slotsBySession(connection, { team, uids, prices }))

/** Sessions that came from another one or led to one, newest first. */
export async function relatedUids(fleet: Fleet, team: string, limit: number): Promise<string[]> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT session_uid FROM (SELECT session_uid FROM recollect.edges WHERE team = $1 AND parent_uid <> ''
         UNION SELECT parent_uid FROM recollect.edges WHERE team = $1 AND parent_uid <> '') e
       JOIN recollect.sessions s USING (session_uid) WHERE s.team = $1 AND s.is_shown
       ORDER BY s.started_at DESC NULLS LAST, session_uid LIMIT $2`,
      [team, limit],
    ),
  )
  return rows.map((one) => one.session_uid as string)
}

export interface MetFailure {
  fingerprint: string
  session_uid: string
  title: string | null
  /** What overcame it there. */
  mend: string | null
  seen_at: number
}

const PLACES = 4

/** Where each of these failures was met last: with what mended it first. */
export async function placesOf(
  fleet: Fleet,
  team: string,
  fingerprints: readonly string[],
): Promise<MetFailure[]> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT k.fingerprint, f.session_uid, s.title, f.mend, f.seen_at FROM unnest($2::text[]) AS k (fingerprint)
       CROSS JOIN LATERAL (SELECT o.session_uid, o.host_id, o.mend, o.seen_at FROM recollect.failures o
         WHERE o.team = $1 AND o.fingerprint = k.fingerprint AND o.is_shown
         ORDER BY o.mend IS NULL, o.seen_at DESC, o.session_uid LIMIT ${PLACES}) f
       JOIN recollect.sessions s ON s.session_uid = f.session_uid AND s.team = $1 AND s.host_id = f.host_id`,
      [team, fingerprints],
    ),
  )
  return rows
}
