// The documents of the page, made of a team's rows: what they do not tell is null, nought or an empty list, as where a memory does
// not know it.
import type { Digest } from '../../digest/digest.ts'
import type { Mend } from '../../digest/mends.ts'
import type { Pattern } from '../../digest/patterns.ts'
import type { Brief } from '../../query/briefs.ts'
import type { UsageRow } from '../../query/usage.ts'
import type { FleetLine, MetFailure } from '../../store/postgres/lists.ts'
import type { findPatterns } from '../../store/postgres/recurring.ts'

export const isoOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

/** A digest that holds the words is one hit. */
export const HELD = {
  also_in: [],
  holds: 'all_in_event',
  missing: [],
  evicted: null,
  match_count: 0,
  score: 0,
  first_prompt: '',
}
export const NOTHING_ELSE = {
  ignored: [],
  instead: [],
  next: [],
  scanned: null,
  unread_bodies: 0,
  unread: null,
}

export function briefOf(line: FleetLine, spent: UsageRow | undefined): Brief {
  const { started_at: start, ended_at: end, host, user, helper, tags: _, ...facts } = line
  const cache = (row: UsageRow): number =>
    row.cache_read_tokens + row.cache_write_5m_tokens + row.cache_write_1h_tokens
  return {
    ...UNKNOWN,
    ...facts,
    native_session_id: line.session_uid.slice(line.session_uid.indexOf(':') + 1),
    host,
    user,
    is_helper: helper !== null,
    started_at: isoOf(start),
    ended_at: isoOf(end),
    evicted_at: null,
    starred_at: null,
    is_sole_copy: false,
    cost_usd: spent?.cost_usd ?? null,
    unpriced_responses: spent?.unpriced_responses ?? 0,
    cost: {
      input_tokens: spent?.input_tokens ?? 0,
      output_tokens: spent?.output_tokens ?? 0,
      cache_tokens: spent ? cache(spent) : 0,
      wall_clock_s: start === null || end === null ? 0 : (end - start) / 1000,
      turns: line.turns,
      retries: 0,
      usd: spent?.cost_usd ?? null,
    },
  }
}

const UNKNOWN = {
  cwd: null,
  title_source: null,
  task_ref: null,
  source_path: null,
  source_bytes: 0,
  schema_version: 1,
  ingested_at: null,
  analyzed_at: null,
  redactions: {},
  decisions: [],
  tags: [],
  notes: [],
  host_id: null,
}

/** Where the digest was pushed, what it counts. */
export const toldBy = (
  session: Brief,
  { metrics, markers, commits, outcome_detail: detail }: Digest,
): Brief => ({
  ...session,
  active_s: metrics.active_s,
  tool_calls: metrics.tool_calls,
  edits: markers.edits,
  commits: commits.length,
  outcome_reason: detail.reason,
  outcome_confidence: detail.confidence,
})

/** The steps are words here: which events they were only their machine knows. */
export function mendOf(met: readonly MetFailure[]): Mend | undefined {
  const mended = met.filter((one) => one.mend !== null)
  const [newest] = mended
  if (!newest) return undefined
  return {
    times: mended.length,
    last_at: isoOf(newest.seen_at),
    sessions: mended.map((one) => ({ session_uid: one.session_uid, failed_seq: 0, resolved_seq: 0 })),
    steps: [{ what: newest.mend ?? '', seq: 0 }] as Mend['steps'],
  }
}

export function patternOf(
  found: Awaited<ReturnType<typeof findPatterns>>[number],
  met: readonly MetFailure[],
): Omit<Pattern, 'last_resolution'> & { where: string[] } {
  const here = met.filter((one) => one.fingerprint === found.fingerprint)
  const mend = mendOf(here)
  const counted = (n: number, one: string, many: string): string => `${n} ${n === 1 ? one : many}`
  return {
    kind: 'error',
    subject: found.fingerprint,
    tool: found.tool,
    sample: found.sample ?? '',
    count: found.count,
    sessions: found.sessions,
    repos: [],
    flavors: [],
    where: [
      counted(found.repos, 'repository', 'repositories'),
      counted(found.hosts, 'machine', 'machines'),
      ...(found.mended_sessions === 0
        ? []
        : [`overcome in ${counted(found.mended_sessions, 'session', 'sessions')}`]),
    ],
    first_seen: found.first_seen,
    last_seen: found.last_seen,
    evidence: here.map((one) => ({ session_uid: one.session_uid, seqs: [] })),
    mends: mend ? [{ ...mend, times: found.mended_sessions }] : [],
  }
}
