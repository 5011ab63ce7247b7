// Sessions as readers see them: listing, and one by its uid.
import { parseStored } from '../errors.ts'
import { type Outcome, SCHEMA_VERSION, type Session } from '../model.ts'
import { prepared } from '../store/database.ts'
import { type TokenSums, tokenSums } from '../store/slots.ts'
import type { ReadHandle } from '../store/store.ts'
import { withDecisions } from './decisions.ts'
import { narrowed, type SessionFilter, sessionConditions } from './filters.ts'

export { resolveSession } from './ids.ts'

export const SESSION_SORTS = ['recent', 'duration', 'errors', 'tokens'] as const
export type SessionSort = (typeof SESSION_SORTS)[number]

export interface ListOptions extends SessionFilter {
  /** `recent` (begun last, first) unless told; the others greatest first. */
  sort?: SessionSort
  limit?: number
}

const COUNTED = 'u.session_uid = s.session_uid AND u.is_counted AND NOT u.is_nested'
const ORDERS: Record<SessionSort, string> = {
  recent: 's.started_at DESC',
  duration: 's.ended_at - s.started_at DESC',
  errors: 's.error_count DESC, s.started_at DESC',
  tokens: `(SELECT sum(u.input + u.output + u.cache_read + u.cache_write_5m + u.cache_write_1h)
            FROM usage u WHERE ${COUNTED}) DESC`,
}

export const listSessions = (handle: Pick<ReadHandle, 'memory'>, options: ListOptions = {}): Session[] =>
  sessionsOf(handle, listUids(handle, options))

/** The uids alone: little, even of a large memory. */
export function listUids(handle: Pick<ReadHandle, 'memory'>, options: ListOptions = {}): string[] {
  const { where, values } = sessionConditions(narrowed(handle, options))
  const { sort = 'recent', limit = -1 } = options
  const rows = handle.memory
    .prepare(
      `SELECT s.session_uid AS uid FROM sessions s WHERE ${where} ORDER BY ${ORDERS[sort]}, s.session_uid LIMIT ?`,
    )
    .all(...values, limit) as unknown as { uid: string }[]
  return rows.map((row) => row.uid)
}

export function countSessions(handle: Pick<ReadHandle, 'memory'>, filter: SessionFilter): number {
  const { where, values } = sessionConditions(filter)
  const row = handle.memory.prepare(`SELECT count(*) AS n FROM sessions s WHERE ${where}`).get(...values)
  return (row as { n: number }).n
}

/** In the order given; one that is not remembered is left out. */
export function sessionsOf(handle: Pick<ReadHandle, 'memory'>, uids: readonly string[]): Session[] {
  // Asked for each session of a sweep: a compiled statement holds memory that the garbage collector does not see.
  const rows = prepared(
    handle.memory,
    'SELECT s.* FROM json_each(?) j CROSS JOIN sessions s ON s.session_uid = j.value ORDER BY j.key',
  ).all(JSON.stringify(uids)) as unknown as Record<string, unknown>[]
  const sums = tokenSums(handle.memory, uids)
  return withDecisions(
    handle,
    rows.map((row) => toSession(row, sums.get(row['session_uid'] as string))),
  )
}

export const getSession = (handle: Pick<ReadHandle, 'memory'>, uid: string): Session | undefined =>
  sessionsOf(handle, [uid])[0]

/** What was asked first, by uid: for sessions without a title. Of others, too, where very many are asked for. */
export function firstPrompts(
  handle: Pick<ReadHandle, 'memory'>,
  uids: readonly string[],
): Map<string, string> {
  const prompt = "d.session_uid AS uid, d.digest ->> 'first_prompt' AS prompt"
  // Very many are read as they lie: to find each of them would take three times as long.
  const rows =
    uids.length > MANY
      ? handle.memory.prepare(`SELECT ${prompt} FROM digests d`).all()
      : handle.memory
          .prepare(`SELECT ${prompt} FROM json_each(?) j CROSS JOIN digests d ON d.session_uid = j.value`)
          .all(JSON.stringify(uids))
  const found = rows as unknown as { uid: string; prompt: string | null }[]
  return new Map(found.map((row) => [row.uid, row.prompt ?? '']))
}

/** What sessions are called, by uid: their title, else what was asked first. */
export function sessionNames(
  handle: Pick<ReadHandle, 'memory'>,
  uids: readonly string[],
): Map<string, string> {
  const titled = handle.memory
    .prepare(
      `SELECT s.session_uid AS uid, s.title FROM json_each(?) j CROSS JOIN sessions s ON s.session_uid = j.value
       WHERE s.title IS NOT NULL`,
    )
    .all(JSON.stringify(uids)) as unknown as { uid: string; title: string }[]
  const titles = new Map(titled.map((row) => [row.uid, row.title]))
  const prompts = firstPrompts(
    handle,
    uids.filter((uid) => !titles.has(uid)),
  )
  return new Map(uids.map((uid) => [uid, titles.get(uid) ?? prompts.get(uid) ?? '']))
}

const MANY = 5000

const iso = (at: unknown): string | null => (typeof at === 'number' ? new Date(at).toISOString() : null)
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

function toSession(row: Record<string, unknown>, tokens: TokenSums | undefined): Session {
  const startedAt = row['started_at'] as number | null
  const endedAt = row['ended_at'] as number | null
  return {
    session_uid: row['session_uid'] as string,
    flavor: row['flavor'] as string,
    native_session_id: row['native_session_id'] as string,
    repo: text(row['repo']),
    domain: text(row['domain']),
    cwd: text(row['cwd']),
    git_branch: text(row['git_branch']),
    model: text(row['model']),
    title: text(row['title']),
    started_at: iso(startedAt),
    ended_at: iso(endedAt),
    outcome: row['outcome'] as Outcome,
    error_count: row['error_count'] as number,
    cost: {
      input_tokens: tokens?.input_tokens ?? 0,
      output_tokens: tokens?.output_tokens ?? 0,
      cache_tokens: tokens?.cache_tokens ?? 0,
      wall_clock_s: startedAt !== null && endedAt !== null ? (endedAt - startedAt) / 1000 : 0,
      turns: row['turn_count'] as number,
      retries: row['retry_count'] as number,
    },
    task_ref: text(row['task_ref']),
    source_path: text(row['source_path']),
    source_bytes: row['source_bytes'] as number,
    schema_version: SCHEMA_VERSION,
    ingested_at: iso(row['ingested_at']),
    analyzed_at: iso(row['analyzed_at']),
    evicted_at: iso(row['evicted_at']),
    is_sole_copy: row['is_sole_copy'] === 1,
    redactions: parseStored<Record<string, number>>(row['redactions'] as string),
    decisions: [],
  }
}
