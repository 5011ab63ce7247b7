// Sessions as readers see them: listing, and one by its uid.
import { type Outcome, SCHEMA_VERSION, type Session } from '../model.ts'
import type { ReadHandle } from '../store/store.ts'

export { resolveSession } from './ids.ts'

export interface SessionFilter {
  flavor?: string
  repo?: string
  domain?: string
  model?: string
  sinceAt?: number
  untilAt?: number
  /** Sub-agents' sessions too (default false). */
  withSubagents?: boolean
  limit?: number
}

const SELECT = `SELECT s.*,
  coalesce(sum(u.input), 0) AS input_tokens, coalesce(sum(u.output), 0) AS output_tokens,
  coalesce(sum(u.cache_read + u.cache_write_5m + u.cache_write_1h), 0) AS cache_tokens
  FROM sessions s LEFT JOIN usage u ON u.session_uid = s.session_uid AND u.is_counted AND NOT u.is_nested`

/** Newest first. */
export function listSessions(handle: ReadHandle, filter: SessionFilter = {}): Session[] {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, value: string | number | undefined): void => {
    if (value === undefined) return
    where.push(condition)
    values.push(value)
  }
  add('s.flavor = ?', filter.flavor)
  add('s.repo = ?', filter.repo)
  add('s.domain = ?', filter.domain)
  add('s.model = ?', filter.model)
  add('s.ended_at >= ?', filter.sinceAt)
  add('s.started_at <= ?', filter.untilAt)
  // A session known only as an end of a lineage edge has nothing to show.
  if (!filter.withSubagents)
    where.push("s.relation <> 'subagent' AND (s.event_count > 0 OR s.evicted_at IS NOT NULL)")
  const sql = `${SELECT} ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}
    GROUP BY s.session_uid ORDER BY s.started_at DESC, s.session_uid LIMIT ?`
  const rows = handle.memory.prepare(sql).all(...values, filter.limit ?? -1)
  return (rows as unknown as Record<string, unknown>[]).map(toSession)
}

export function getSession(handle: Pick<ReadHandle, 'memory'>, uid: string): Session | undefined {
  const row = handle.memory.prepare(`${SELECT} WHERE s.session_uid = ? GROUP BY s.session_uid`).get(uid)
  return row ? toSession(row as Record<string, unknown>) : undefined
}

const iso = (at: unknown): string | null => (typeof at === 'number' ? new Date(at).toISOString() : null)
const text = (value: unknown): string | null => (typeof value === 'string' ? value : null)

function toSession(row: Record<string, unknown>): Session {
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
    cost: {
      input_tokens: row['input_tokens'] as number,
      output_tokens: row['output_tokens'] as number,
      cache_tokens: row['cache_tokens'] as number,
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
    redactions: JSON.parse(row['redactions'] as string) as Record<string, number>,
  }
}
