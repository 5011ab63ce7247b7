// Questions about sessions as such: which there are, what each is called, and what a list shows of it.
import { parseStored } from '../../errors.ts'
import {
  type Decision,
  type Note,
  type Outcome,
  SCHEMA_VERSION,
  type Session,
  type TitleSource,
} from '../../model.ts'
import { firstColumn, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { allDecisions, decisionsIn } from '../decisions.ts'
import { allNotes, allTags, type NotedSession, notesIn, type Tag, tagsIn } from '../labels.ts'
import { type TokenSums, tokenSums } from '../slots.ts'
import { TITLE, TITLE_SOURCE } from '../titles.ts'
import { fulfilling, narrowed, type SessionFilter, sessionConditions, touching } from './filters.ts'
import { nameQuestions } from './session-names.ts'

export type SessionSort = 'recent' | 'duration' | 'errors' | 'tokens'

export interface ListOptions extends SessionFilter {
  /** `recent` (begun last, first) unless told; the others greatest first. */
  sort?: SessionSort
  limit?: number
}

interface Named {
  uid: string
}

const COUNTED = 'u.session_uid = s.session_uid AND u.is_counted AND NOT u.is_nested'
const ORDERS: Record<SessionSort, string> = {
  recent: 's.started_at DESC',
  duration: 's.ended_at - s.started_at DESC',
  errors: 's.error_count DESC, s.started_at DESC',
  tokens: `(SELECT sum(u.input + u.output + u.cache_read + u.cache_write_5m + u.cache_write_1h)
            FROM usage u WHERE ${COUNTED}) DESC`,
}

/** The uids alone: little, even of a large memory. */
function uids(databases: Databases, options: ListOptions = {}): string[] {
  const { where, values } = sessionConditions(narrowed(options, touching(databases, options, 'few')))
  const { sort = 'recent', limit = -1 } = options
  return firstColumn<string>(
    databases.memory,
    `SELECT s.session_uid AS uid FROM sessions s WHERE ${where} ORDER BY ${ORDERS[sort]}, s.session_uid LIMIT ?`,
    ...values,
    limit,
  )
}

function count({ memory }: Databases, filter: SessionFilter): number {
  const { where, values } = sessionConditions(filter)
  return row<{ n: number }>(memory, `SELECT count(*) AS n FROM sessions s WHERE ${where}`, ...values)?.n ?? 0
}

/** Sub-agents' included, and those that are only named. */
const countAll = ({ memory }: Databases): number =>
  row<{ n: number }>(memory, 'SELECT count(*) AS n FROM sessions')?.n ?? 0

const countSubagents = ({ memory }: Databases): number =>
  row<{ n: number }>(memory, "SELECT count(*) AS n FROM sessions WHERE relation = 'subagent'")?.n ?? 0

/** In the order given; one that is not remembered is left out. */
function of({ memory }: Databases, wanted: readonly string[]): Session[] {
  const found = rows<Record<string, unknown>>(
    memory,
    `SELECT s.*, ${TITLE} AS title_shown, ${TITLE_SOURCE} AS title_source, h.name AS host_name, h.id AS host_id, h.user
     FROM json_each(?) j CROSS JOIN sessions s ON s.session_uid = j.value LEFT JOIN hosts h USING (host) ORDER BY j.key`,
    JSON.stringify(wanted),
  )
  const sums = tokenSums(memory, wanted)
  const beside = {
    decisions: decisionsIn(memory, wanted),
    tags: tagsIn(memory, wanted),
    notes: notesIn(memory, wanted),
  }
  return found.map((one) => toSession(one, sums.get(one['session_uid'] as string), beside))
}

const iso = (at: unknown): string | null => (typeof at === 'number' ? new Date(at).toISOString() : null)
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** What people wrote beside sessions. */
interface Beside {
  decisions: readonly Decision[]
  tags: ReadonlyMap<string, string[]>
  notes: ReadonlyMap<string, Note[]>
}

function toSession(found: Record<string, unknown>, tokens: TokenSums | undefined, beside: Beside): Session {
  const uid = found['session_uid'] as string
  const startedAt = found['started_at'] as number | null
  const endedAt = found['ended_at'] as number | null
  return {
    session_uid: uid,
    flavor: found['flavor'] as string,
    native_session_id: found['native_session_id'] as string,
    repo: text(found['repo']),
    domain: text(found['domain']),
    cwd: text(found['cwd']),
    git_branch: text(found['git_branch']),
    model: text(found['model']),
    title: text(found['title_shown']),
    title_source: text(found['title_source']) as TitleSource | null,
    is_helper: found['helper'] !== null,
    started_at: iso(startedAt),
    ended_at: iso(endedAt),
    outcome: found['outcome'] as Outcome,
    error_count: found['error_count'] as number,
    cost: {
      input_tokens: tokens?.input_tokens ?? 0,
      output_tokens: tokens?.output_tokens ?? 0,
      cache_tokens: tokens?.cache_tokens ?? 0,
      wall_clock_s: startedAt !== null && endedAt !== null ? (endedAt - startedAt) / 1000 : 0,
      turns: found['turn_count'] as number,
      retries: found['retry_count'] as number,
    },
    task_ref: text(found['task_ref']),
    source_path: text(found['source_path']),
    source_bytes: found['source_bytes'] as number,
    schema_version: SCHEMA_VERSION,
    ingested_at: iso(found['ingested_at']),
    analyzed_at: iso(found['analyzed_at']),
    evicted_at: iso(found['evicted_at']),
    is_sole_copy: found['is_sole_copy'] === 1,
    redactions: parseStored<Record<string, number>>(found['redactions'] as string),
    decisions: beside.decisions.filter((one) => one.session_uid === uid),
    starred_at: iso(found['starred_at']),
    tags: beside.tags.get(uid) ?? [],
    notes: beside.notes.get(uid) ?? [],
    host: text(found['host_name']) || null,
    host_id: text(found['host_id']),
    user: text(found['user']),
  }
}

/** To find each of more than these would take longer than to read all as they lie. */
const MANY = 5000

/** What was asked first, by uid. Of others, too, where very many are asked for. */
function firstPrompts({ memory }: Databases, wanted: readonly string[]): Map<string, string> {
  const prompt = "d.session_uid AS uid, d.digest ->> 'first_prompt' AS prompt"
  type Prompt = Named & { prompt: string | null }
  const found =
    wanted.length > MANY
      ? rows<Prompt>(memory, `SELECT ${prompt} FROM digests d`)
      : rows<Prompt>(
          memory,
          `SELECT ${prompt} FROM json_each(?) j CROSS JOIN digests d ON d.session_uid = j.value`,
          JSON.stringify(wanted),
        )
  return new Map(found.map((one) => [one.uid, one.prompt ?? '']))
}

/** By uid, of those that have one. */
function titles({ memory }: Databases, wanted: readonly string[]): Map<string, string> {
  const found = rows<Named & { title: string }>(
    memory,
    `SELECT s.session_uid AS uid, ${TITLE} AS title FROM json_each(?) j CROSS JOIN sessions s ON s.session_uid = j.value
     WHERE ${TITLE} IS NOT NULL`,
    JSON.stringify(wanted),
  )
  return new Map(found.map((one) => [one.uid, one.title]))
}

/** What a person knows a session by. */
export interface SessionName {
  /** Its title, or what was asked first; null where it has neither. */
  title: string | null
  /** Of its last event. */
  lastAt: number | null
}

const nameOf = ({ memory }: Databases, uid: string): SessionName =>
  row<SessionName>(
    memory,
    `SELECT coalesce(${TITLE}, nullif(substr(d.digest ->> '$.first_prompt', 1, 200), '')) AS title,
       coalesce(s.ended_at, s.started_at) AS lastAt
     FROM sessions s LEFT JOIN digests d USING (session_uid) WHERE s.session_uid = ?`,
    uid,
  ) ?? { title: null, lastAt: null }

/** A session as one line of a list: only what lists are narrowed, sorted and summed by. Times are epoch milliseconds. */
export interface Line {
  session_uid: string
  flavor: string
  repo: string | null
  domain: string | null
  git_branch: string | null
  model: string | null
  title: string | null
  first_prompt: string
  relation: string
  /** Which kind of conversation beside the work it is. */
  helper: string | null
  outcome: Outcome
  /** What the outcome rests on, and how often that is right; null while nothing was analyzed. */
  outcome_reason: string | null
  outcome_confidence: number | null
  started_at: number | null
  ended_at: number | null
  evicted_at: number | null
  is_sole_copy: number
  turns: number
  event_count: number
  error_count: number
  active_s: number
  tool_calls: number
  edits: number
  commits: number
  is_pinned: boolean
  starred_at: number | null
  /** Separated by spaces, which no tag holds. */
  tags: string
  total_tokens: number
  /** Exact decimal; null where nothing of it has a known price. */
  cost_usd: string | null
  unpriced_responses: number
  /** When something of it was last committed. */
  seen_at: number
}

// Every field of a line stands here, so that a row is a line as it comes: copying 20,000 of them is dearer than reading.
const LINES = `SELECT s.session_uid, s.flavor, s.repo, s.domain, s.git_branch, s.model, ${TITLE} AS title,
  coalesce(substr(d.digest ->> '$.first_prompt', 1, 200), '') AS first_prompt, s.relation, s.helper, s.outcome,
  coalesce(d.digest ->> '$.outcome_detail.reason', d.digest ->> '$.outcome_detail.rule') AS outcome_reason,
  d.digest ->> '$.outcome_detail.confidence' AS outcome_confidence,
  s.started_at, s.ended_at, s.evicted_at, s.is_sole_copy, s.turn_count AS turns, s.event_count, s.error_count,
  coalesce(d.digest ->> '$.metrics.active_s', 0) AS active_s, coalesce(d.digest ->> '$.metrics.tool_calls', 0) AS tool_calls,
  coalesce(d.digest ->> '$.markers.edits', 0) AS edits, coalesce(json_array_length(d.digest, '$.commits'), 0) AS commits,
  0 AS is_pinned, s.starred_at,
  iif(s.labelled_at IS NULL, '', coalesce((SELECT group_concat(t.tag, ' ') FROM tags t WHERE t.session_uid = s.session_uid), '')) AS tags,
  0 AS total_tokens, NULL AS cost_usd, 0 AS unpriced_responses,
  max(coalesce(s.ingested_at, 0), coalesce(s.analyzed_at, 0), coalesce(s.evicted_at, 0), coalesce(s.labelled_at, 0)) AS seen_at
  FROM sessions s LEFT JOIN digests d USING (session_uid)`

/** All of them, or those of which something was committed since; pins and prices are not filled in. */
const lines = ({ memory }: Databases, sinceAt?: number): Line[] =>
  sinceAt === undefined
    ? rows<Line>(memory, LINES)
    : rows<Line>(
        memory,
        `${LINES} WHERE s.ingested_at >= ?1 OR s.analyzed_at >= ?1 OR s.evicted_at >= ?1 OR s.labelled_at >= ?1`,
        sinceAt,
      )

/** So many of them at a time, by uid: for whoever has to answer in between. */
const linesAfter = ({ memory }: Databases, uid: string, count: number): Line[] =>
  rows<Line>(memory, `${LINES} WHERE s.session_uid > ? ORDER BY s.session_uid LIMIT ?`, uid, count)

/** Of some of them, in no order. */
const linesOf = ({ memory }: Databases, wanted: readonly string[]): Line[] =>
  rows<Line>(
    memory,
    `${LINES} WHERE s.session_uid IN (SELECT value FROM json_each(?))`,
    JSON.stringify(wanted),
  )

/** Sessions in a directory that have gone on since. */
const ongoingIn = ({ memory }: Databases, cwd: string, sinceAt: number): string[] =>
  firstColumn<string>(
    memory,
    "SELECT session_uid AS uid FROM sessions WHERE cwd = ? AND ended_at >= ? AND relation <> 'subagent'",
    cwd,
    sinceAt,
  )

const agentVersion = ({ memory }: Databases, uid: string): string | null =>
  row<{ version: string | null }>(
    memory,
    'SELECT agent_version AS version FROM sessions WHERE session_uid = ?',
    uid,
  )?.version ?? null

/** How many sessions of a flavor there are, and which version of the agent told the last of them. */
const flavorOf = ({ memory }: Databases, flavor: string): { version: string | null; sessions: number } =>
  row<{ version: string | null; sessions: number }>(
    memory,
    `SELECT count(*) AS sessions, (SELECT agent_version FROM sessions WHERE flavor = ?1 AND agent_version IS NOT NULL
       ORDER BY started_at DESC LIMIT 1) AS version FROM sessions WHERE flavor = ?1`,
    flavor,
  ) ?? { version: null, sessions: 0 }

/** How it ended, where the program that ran it says so itself. */
const toldOutcome = ({ memory }: Databases, uid: string): Outcome | null =>
  row<{ outcome: Outcome | null }>(
    memory,
    'SELECT told_outcome AS outcome FROM sessions WHERE session_uid = ?',
    uid,
  )?.outcome ?? null

/** Of some sessions, by session, oldest first. */
const decisions = ({ memory }: Databases, wanted: readonly string[]): Decision[] =>
  decisionsIn(memory, wanted)

/** Of the sessions that a filter lets through. */
const decisionsWhere = ({ memory }: Databases, filter: SessionFilter): Decision[] => {
  const { where, values } = sessionConditions(filter)
  return allDecisions(memory, where, values)
}

/** Every tag there is, the most used first. */
const tags = ({ memory }: Databases): Tag[] => allTags(memory)

/** Every note there is, newest first. */
const notes = ({ memory }: Databases): NotedSession[] => allNotes(memory)

export const sessionQuestions = {
  uids,
  count,
  countAll,
  countSubagents,
  of,
  fulfilling,
  firstPrompts,
  titles,
  nameOf,
  lines,
  linesAfter,
  linesOf,
  ongoingIn,
  agentVersion,
  flavorOf,
  toldOutcome,
  decisions,
  decisionsWhere,
  tags,
  notes,
  ...nameQuestions,
}
