// What a team server is asked: sessions, lineage. Every question is of one team, and of sessions as they are shown
// (`is_shown`): one that two machines have is one.

import { FEWEST_PEOPLE, type SessionLine } from '../../contract.ts'
import { parseStored } from '../../errors.ts'
import type { EdgeKind, Outcome } from '../../model.ts'
import { type Caller, noteReading } from './access.ts'
import type { Connection, Fleet } from './database.ts'
import { queryOf } from './words.ts'

export interface SessionQuestion {
  team: string
  /** Only of this one. */
  person?: string | undefined
  sinceAt?: number | undefined
  untilAt?: number | undefined
  repo?: string | undefined
  domain?: string | undefined
  flavor?: string | undefined
  model?: string | undefined
  host?: string | undefined
  outcome?: Outcome | undefined
  hasErrors?: boolean
  order?: keyof typeof ORDERS
  /** Sub-agents' sessions and helper conversations too. */
  isAll?: boolean
  /** Words that its digest holds. */
  text?: string | undefined
  uids?: readonly string[]
  limit: number
}

export const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const LINE = `session_uid, flavor, host_name AS host, user_name AS "user", repo, model, title, started_at, ended_at, outcome, turns,
  errors, total_tokens, level`

const ORDERS = {
  recent: '',
  tokens: 'total_tokens DESC, ',
  duration: 'ended_at - started_at DESC NULLS LAST, ',
  errors: 'errors DESC, ',
}

/** Sessions that are picked out by the index of words; more are not told apart by it. */
const MOST_HOLDING = 2000

/** Newest first; one more than asked for, where there is one. */
export const findSessions = (fleet: Fleet, question: SessionQuestion): Promise<SessionLine[]> =>
  fleet.inTeam(question.team, (connection) => sessionLines(connection, question))

async function sessionLines(connection: Connection, question: SessionQuestion): Promise<SessionLine[]> {
  const where = ['team = $1', 'is_shown']
  const values: unknown[] = [question.team]
  const add = (condition: (place: string) => string, value: unknown): void => {
    if (value === undefined) return
    values.push(value)
    where.push(condition(`$${values.length}`))
  }
  add((place) => `person = ${place}`, question.person)
  add((place) => `ended_at >= ${place}`, question.sinceAt)
  add((place) => `started_at < ${place}`, question.untilAt)
  add((place) => `repo = ${place}`, question.repo)
  add((place) => `domain = ${place}`, question.domain)
  add((place) => `flavor = ${place}`, question.flavor)
  add((place) => `model = ${place}`, question.model)
  add((place) => `host_name = ${place}`, question.host)
  add((place) => `outcome = ${place}`, question.outcome)
  add((place) => `session_uid = ANY(${place})`, question.uids)
  if (question.hasErrors) where.push('errors > 0')
  if (question.text !== undefined) {
    const query = queryOf(question.text)
    if (query === undefined) return []
    const found = await connection.query(
      `SELECT session_uid, host_id FROM recollect.holding($1::tsquery, ${MOST_HOLDING + 1})`,
      [query],
    )
    // Words that many sessions hold: the newest are looked at, one by one, until there are enough.
    if (found.rows.length > MOST_HOLDING) add((place) => `words @@ ${place}::tsquery`, query)
    else
      add(
        (place) => `session_uid = ANY(${place})`,
        found.rows.map((one) => one.session_uid),
      )
  } else if (question.uids === undefined && !question.isAll)
    where.push("relation <> 'subagent' AND NOT is_helper")
  values.push(question.limit + 1)
  const { rows } = await connection.query(
    `SELECT ${LINE} FROM recollect.sessions WHERE ${where.join(' AND ')}
     ORDER BY ${ORDERS[question.order ?? 'recent']}started_at DESC NULLS LAST, session_uid LIMIT $${values.length}`,
    values,
  )
  return rows.map((one) => ({ ...one, started_at: iso(one.started_at), ended_at: iso(one.ended_at) }))
}

const IS_MAIN = "relation <> 'subagent' AND NOT is_helper"

export interface OutcomeCount {
  repo: string | null
  outcome: Outcome
  sessions: number
}

/**
 * Without what fewer than five people did, and without one larger part beside it: otherwise it were the total less what is shown.
 */
export function withoutFew<P extends { people: number }>(parts: readonly P[]): P[] {
  const byPeople = parts.toSorted((a, b) => a.people - b.people)
  const few = byPeople.filter((one) => one.people < FEWEST_PEOPLE).length
  const left = new Set(few === 0 ? [] : byPeople.slice(0, few + 1))
  return parts.filter((one) => !left.has(one))
}

/** By repository, where enough people worked on it; and whether others were left out. */
export async function countOutcomes(
  fleet: Fleet,
  {
    team,
    sinceAt = 0,
    untilAt = Number.MAX_SAFE_INTEGER,
  }: { team: string; sinceAt?: number; untilAt?: number },
): Promise<{ outcomes: OutcomeCount[]; not_shown: boolean }> {
  const { rows } = await fleet.inTeam(team, (connection) =>
    connection.query(
      `SELECT repo, outcome, grouping(outcome) = 1 AS is_sum, count(DISTINCT person) AS people, count(*) AS sessions
       FROM recollect.sessions WHERE team = $1 AND is_shown AND ended_at >= $2 AND ended_at < $3 AND ${IS_MAIN}
       GROUP BY GROUPING SETS ((repo, outcome), (repo)) ORDER BY repo NULLS LAST, outcome`,
      [team, sinceAt, untilAt],
    ),
  )
  const counts = rows.filter((one) => !one.is_sum)
  const shown = withoutFew(rows.filter((one) => one.is_sum)).flatMap(({ repo }) =>
    withoutFew(counts.filter((one) => one.repo === repo)),
  )
  return {
    outcomes: shown.map(({ repo, outcome, sessions }) => ({ repo, outcome, sessions })),
    not_shown: shown.length < counts.length,
  }
}

export interface SpanCounts {
  people: number
  sessions: number
  subagents: number
  turns: number
  errors: number
  retries: number
}

const COUNTS = ['sessions', 'subagents', 'turns', 'errors', 'retries'] as const

/** Of sessions that ended in a span, with how they did; undefined where they are of fewer than five people. */
export function countSpan(
  fleet: Fleet,
  { team, sinceAt, untilAt }: { team: string; sinceAt: number; untilAt: number },
): Promise<{ counts: SpanCounts; outcomes: { outcome: Outcome; sessions: number }[] } | undefined> {
  return fleet.inTeam(team, async (connection) => {
    const { rows } = await connection.query(
      `WITH did AS (SELECT outcome, person, count(*) FILTER (WHERE ${IS_MAIN}) AS sessions, count(*) FILTER (WHERE relation = 'subagent') AS subagents,
           sum(turns) FILTER (WHERE ${IS_MAIN}) AS turns, sum(errors) AS errors, sum(retries) AS retries
         FROM recollect.sessions WHERE team = $1 AND is_shown AND ended_at >= $2 AND ended_at < $3 GROUP BY outcome, person)
       SELECT outcome, count(DISTINCT person) AS people, count(DISTINCT person) FILTER (WHERE sessions > 0) AS workers, ${COUNTS.map((name) => `coalesce(sum(${name}), 0) AS ${name}`).join(', ')}
       FROM did GROUP BY GROUPING SETS ((), (outcome)) ORDER BY grouping(outcome) DESC, outcome`,
      [team, sinceAt, untilAt],
    )
    const [{ outcome: _, workers: __, ...counts }, ...parts] = rows as [
      SpanCounts & { outcome: null; workers: number },
      ...(OutcomeCount & { workers: number })[],
    ]
    if (counts.people < FEWEST_PEOPLE) return undefined
    const some = parts.filter((one) => one.sessions > 0).map((one) => ({ ...one, people: one.workers }))
    const outcomes = withoutFew(some)
    return { counts, outcomes: outcomes.map(({ outcome, sessions }) => ({ outcome, sessions })) }
  })
}

/** Compared as bytes, as their indexes are: what begins so stands between it and it with the last letter there is behind it. */
const BEGINNING = ['native_id', 'session_uid COLLATE "C"']
const LAST_LETTER = '\u{10ffff}'

/** Sessions that what was typed may mean, a whole id before the beginning of one. */
export async function sessionsNamed(
  fleet: Fleet,
  { team, person, typed, limit }: { team: string; person?: string; typed: string; limit: number },
): Promise<{ session_uid: string; is_whole: boolean }[]> {
  return await fleet.inTeam(team, async (connection) => {
    const mine = '($3::text IS NULL OR person = $3)'
    const values = [team, typed, person ?? null]
    const exact = await connection.query(
      `SELECT session_uid, true AS is_whole FROM recollect.sessions
       WHERE session_uid = $2 AND team = $1 AND is_shown AND ${mine}`,
      values,
    )
    if (exact.rows.length > 0) return exact.rows
    const { rows } = await connection.query(
      `SELECT session_uid, bool_or(is_whole) AS is_whole FROM (
         ${BEGINNING.map(
           (name) => `(SELECT session_uid, ${name} = $2 AS is_whole FROM recollect.sessions
           WHERE team = $1 AND is_shown AND ${name} >= $2 AND ${name} < $2 || $4 AND ${mine} ORDER BY ${name} LIMIT $5)`,
         ).join(' UNION ALL ')}
       ) found GROUP BY session_uid ORDER BY is_whole DESC, session_uid LIMIT $5`,
      [...values, LAST_LETTER, limit],
    )
    return rows
  })
}

/** Of a session as it is shown; that another reads it is written down in the same transaction. */
export function readDigest(
  fleet: Fleet,
  caller: Caller,
  uid: string,
  now: number,
): Promise<Record<string, unknown> | undefined> {
  return fleet.inTeam(caller.team, async (connection) => {
    const { rows } = await connection.query(
      'SELECT digest, person FROM recollect.sessions WHERE session_uid = $1 AND team = $2 AND is_shown',
      [uid, caller.team],
    )
    const found = rows[0] as { digest: string | null; person: string } | undefined
    if (found?.digest == null) return undefined
    if (found.person !== caller.person)
      await noteReading(connection, caller, { uid, person: found.person, what: 'digest' }, now)
    return parseStored<Record<string, unknown>>(found.digest)
  })
}

export interface LineageEdge {
  session_uid: string
  kind: EdgeKind
  parent_uid: string
  at: string | null
}

const MOST_LEVELS = 12
const MOST_SESSIONS = 1000

/** The trees that sessions are in, whichever machines those are on. */
export function findLineage(
  fleet: Fleet,
  team: string,
  asked: readonly string[],
): Promise<{ sessions: SessionLine[]; edges: LineageEdge[] }> {
  return fleet.inTeam(team, async (connection) => {
    const edges = await edgesAround(connection, team, asked)
    const uids = [...new Set([...asked, ...edges.flatMap((one) => [one.session_uid, one.parent_uid])])]
    const sessions = await sessionLines(connection, { team, uids, limit: uids.length })
    return { sessions, edges }
  })
}

async function edgesAround(
  connection: Connection,
  team: string,
  uids: readonly string[],
): Promise<LineageEdge[]> {
  const edges = new Map<string, LineageEdge>()
  const known = new Set(uids)
  let fresh = [...uids]
  for (let level = 0; level < MOST_LEVELS && fresh.length > 0 && known.size < MOST_SESSIONS; level++) {
    const { rows } = await connection.query(
      `SELECT session_uid, kind, parent_uid, min(at) AS at FROM recollect.edges
       WHERE team = $1 AND parent_uid <> '' AND (session_uid = ANY($2) OR parent_uid = ANY($2))
       GROUP BY session_uid, kind, parent_uid LIMIT ${MOST_SESSIONS}`,
      [team, fresh],
    )
    for (const one of rows)
      edges.set(`${one.session_uid}\0${one.kind}\0${one.parent_uid}`, { ...one, at: iso(one.at) })
    fresh = [...new Set((rows as LineageEdge[]).flatMap((one) => [one.session_uid, one.parent_uid]))].filter(
      (one) => !known.has(one),
    )
    for (const one of fresh) known.add(one)
  }
  return [...edges.values()]
}
