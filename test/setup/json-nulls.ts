// Which fields of the documents may be null, by the types of the program: the compiler refuses a table that has one too many
// or one too few, and the test compares the tables with docs/json-output.md.
import type { Mend } from '../../src/digest/mends.ts'
import type { Pattern } from '../../src/digest/patterns.ts'
import type { Solved } from '../../src/digest/solved.ts'
import type { Finding } from '../../src/doctor/finding.ts'
import type { Status } from '../../src/doctor/status.ts'
import type { Decision, Session, SessionEvent } from '../../src/model.ts'
import type { AnsweredSession, SearchDocument } from '../../src/query/answer.ts'
import type { LimitRow, LimitWindow } from '../../src/query/limits.ts'
import type { LineageEdge, LineageNode } from '../../src/query/lineage.ts'
import type { RawLost } from '../../src/query/lost.ts'
import type { Receipt } from '../../src/query/receipts.ts'
import type { SearchHit } from '../../src/query/search.ts'
import type { UsageReport, UsageRow } from '../../src/query/usage.ts'

type Nullable<T> = { [K in keyof T]-?: null extends T[K] ? K : never }[keyof T]
/** Every nullable field of a type, and no other. */
const nullsOf =
  <T>() =>
  (fields: Record<Nullable<T>, true>): string[] =>
    Object.keys(fields)

const SESSION = nullsOf<Session>()({
  repo: true,
  domain: true,
  cwd: true,
  git_branch: true,
  model: true,
  title: true,
  title_source: true,
  started_at: true,
  ended_at: true,
  task_ref: true,
  source_path: true,
  ingested_at: true,
  analyzed_at: true,
  evicted_at: true,
  starred_at: true,
  host: true,
  host_id: true,
  user: true,
})
const USAGE_ROW = nullsOf<UsageRow>()({
  key: true,
  cost_usd: true,
  reported_cost_usd: true,
  cache_savings_usd: true,
  tree_cost_usd: true,
})
const RAW_LOST = nullsOf<RawLost>()({ source_path: true })
const RECEIPT = nullsOf<Receipt>()({})

/** Section, what stands before the field, and the fields that may be null. */
export const NULLS: [section: string, prefix: string, fields: string[]][] = [
  ['sessions', 'sessions[].', SESSION],
  ['show', 'session.', SESSION],
  ['show', 'receipts[].', RECEIPT],
  ['show', 'raw_lost.', RAW_LOST],
  [
    'show',
    'events[].',
    nullsOf<SessionEvent>()({
      parent_seq: true,
      ts: true,
      tool: true,
      payload_ref: true,
      agent: true,
      exit_code: true,
      does: true,
      state: true,
      mark: true,
      duration_ms: true,
    }),
  ],
  ['search', '', nullsOf<SearchDocument>()({ found_by: true, scanned: true, unread: true })],
  ['search', 'sessions[].', [...SESSION, ...nullsOf<AnsweredSession>()({ evicted: true })]],
  ['search', 'hits[].', nullsOf<SearchHit>()({ seq: true, ts: true, label: true, tool: true })],
  ['status', 'flavors[].', nullsOf<Status['flavors'][number]>()({ last_at: true, read_at: true })],
  ['doctor', 'findings[].', nullsOf<Finding>()({ subject: true, fix: true })],
  ['decide', '', nullsOf<Decision>()({})],
  [
    'lineage',
    'nodes[].',
    nullsOf<LineageNode>()({
      parent_uid: true,
      edge: true,
      evicted_at: true,
      title: true,
      repo: true,
      model: true,
      started_at: true,
      ended_at: true,
      cost_usd: true,
    }),
  ],
  ['lineage', 'nodes[].edge.', nullsOf<LineageEdge>()({ parent_uid: true, at: true, evidence: true })],
  ['lineage', 'nodes[].agents[].', nullsOf<LineageNode['agents'][number]>()({})],
  ['usage', '', nullsOf<UsageReport>()({ since: true, until: true })],
  ['usage', 'rows[].', USAGE_ROW],
  ['usage', 'total.', USAGE_ROW],
  ['usage', 'models[].', nullsOf<UsageReport['models'][number]>()({ model: true, priced_as: true })],
  [
    'usage limits',
    'limits[].',
    nullsOf<LimitRow>()({
      plan: true,
      used_percent: true,
      left: true,
      window_minutes: true,
      resets_at: true,
    }),
  ],
  ['usage limits', 'limits[].windows[].', nullsOf<LimitWindow>()({ used_percent: true, resets_at: true })],
  [
    'patterns',
    'patterns[].',
    nullsOf<Pattern>()({ first_seen: true, last_seen: true, last_resolution: true }),
  ],
  ['patterns', 'patterns[].mends[].', nullsOf<Mend>()({ last_at: true })],
  ['patterns', 'mends[].', nullsOf<Mend>()({ last_at: true })],
  ['patterns', 'seen[].', nullsOf<Solved>()({ repo: true, last_at: true, resolved_by: true })],
]
