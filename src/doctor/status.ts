// What is remembered, how fresh it is, how much room it takes and what needs attention: the command without a name, and
// the first thing the page is asked.
import type { Environment } from '../adapters/adapter.ts'
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { policyOf } from '../retention/policy.ts'
import { allocatedBytes, databaseBytes } from '../retention/usage.ts'
import { openForReading, type StorePaths, storePaths } from '../store/sqlite.ts'
import type { ReadHandle } from '../store/store.ts'
import type { Place } from './places.ts'
import { formatBytes, plural } from './words.ts'

interface FlavorRow {
  flavor: string
  sessions: number
  events: number
  /** Of the newest event. */
  last_at: string | null
  /** When a sweep last brought something new. */
  read_at: string | null
}

interface Tier {
  bytes: number
  soft_cap_bytes: number
  hard_cap_bytes: number
}

export interface Attention {
  code: string
  message: string
  fix: string
}

export interface Status {
  home: string
  sessions: number
  subagent_sessions: number
  flavors: FlavorRow[]
  storage: { raw: Tier; distilled: { bytes: number; cap_bytes: number } }
  attention: Attention[]
  /** Where agents' files are looked for; only filled while nothing is remembered. */
  looked_in: Place[]
}

/** Of a machine where nothing was ever swept, too; throws CORRUPT where the memory cannot be read. */
export async function statusOf(config: Config, env: Environment = process.env): Promise<Status> {
  const paths = storePaths(config.home, config.get('store.db_path'))
  const policy = policyOf(config)
  const counted = readCounts(paths)
  const storage: Status['storage'] = {
    raw: {
      bytes: allocatedBytes(paths.cacheDirectory),
      soft_cap_bytes: policy.rawSoftCapBytes,
      hard_cap_bytes: policy.rawHardCapBytes,
    },
    distilled: { bytes: databaseBytes(paths.memoryPath), cap_bytes: policy.distilledCapBytes },
  }
  return {
    home: config.home,
    sessions: counted.flavors.reduce((sum, row) => sum + row.sessions, 0),
    subagent_sessions: counted.subagentSessions,
    flavors: counted.flavors,
    storage,
    attention: [...counted.attention, ...overCaps(storage)],
    looked_in: counted.flavors.length > 0 ? [] : (await import('./places.ts')).places(config, env),
  }
}

interface Counts {
  flavors: FlavorRow[]
  subagentSessions: number
  attention: Attention[]
}

function readCounts(paths: StorePaths): Counts {
  let handle: ReturnType<typeof openForReading>
  try {
    handle = openForReading(paths)
  } catch (error) {
    if (error instanceof RecollectError && error.code === 'NO_MEMORY')
      return { flavors: [], subagentSessions: 0, attention: [] }
    throw error
  }
  try {
    const one = (sql: string): number => (handle.memory.prepare(sql).get() as { n: number }).n
    return {
      flavors: flavorRows(handle),
      subagentSessions: one("SELECT count(*) AS n FROM sessions WHERE relation = 'subagent'"),
      attention: [...notUnderstood(handle), ...notAnalyzed(handle), ...losses(handle)],
    }
  } finally {
    handle.close()
  }
}

function flavorRows(handle: ReadHandle): FlavorRow[] {
  const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())
  const rows = handle.memory
    .prepare(
      `SELECT flavor, count(*) AS sessions, sum(event_count) AS events, max(ended_at) AS lastAt, max(ingested_at) AS readAt
       FROM sessions WHERE relation <> 'subagent' AND (event_count > 0 OR evicted_at IS NOT NULL)
       GROUP BY flavor ORDER BY sessions DESC, flavor`,
    )
    .all() as unknown as (FlavorRow & { lastAt: number | null; readAt: number | null })[]
  return rows.map(({ flavor, sessions, events, lastAt, readAt }) => ({
    flavor,
    sessions,
    events,
    last_at: iso(lastAt),
    read_at: iso(readAt),
  }))
}

function notUnderstood({ cache }: ReadHandle): Attention[] {
  const found: Attention[] = []
  const gaps = cache
    .prepare(
      'SELECT count(*) AS gaps, count(DISTINCT path) AS files, sum(length) AS bytes FROM gaps WHERE NOT is_pending',
    )
    .get() as { gaps: number; files: number; bytes: number | null }
  if (gaps.gaps > 0)
    found.push({
      code: 'gaps',
      message: `${plural(gaps.gaps, 'gap')} in ${plural(gaps.files, 'file')}: ${formatBytes(gaps.bytes ?? 0)} could not be understood`,
      fix: 'recollect sweep --full --json | jq .coverage',
    })
  const unknown = cache
    .prepare('SELECT count(DISTINCT name) AS names, sum(count) AS records FROM unknown_records')
    .get() as { names: number; records: number | null }
  if (unknown.names > 0)
    found.push({
      code: 'unknown_records',
      message: `${plural(unknown.names, 'record type')} never described, ${plural(unknown.records ?? 0, 'record')}: kept as they are`,
      fix: 'recollect sweep --full --json | jq .coverage',
    })
  return found
}

function notAnalyzed({ memory }: ReadHandle): Attention[] {
  const { n } = memory
    .prepare(
      `SELECT count(*) AS n FROM sessions WHERE event_count > 0 AND evicted_at IS NULL
       AND (analyzed_at IS NULL OR analyzed_at < ingested_at)`,
    )
    .get() as { n: number }
  if (n === 0) return []
  return [
    { code: 'not_analyzed', message: `${plural(n, 'session')} not analyzed yet`, fix: 'recollect sweep' },
  ]
}

function losses({ memory }: ReadHandle): Attention[] {
  const { n } = memory
    .prepare("SELECT count(*) AS n FROM events_log WHERE name = 'session_memory.data_loss'")
    .get() as { n: number }
  if (n === 0) return []
  return [
    {
      code: 'data_loss',
      message: `${plural(n, 'session')} dropped before analysis: the hard cap left no other way`,
      fix: 'recollect config, session_memory.retention.raw_hard_cap_bytes',
    },
  ]
}

function overCaps({ raw, distilled }: Status['storage']): Attention[] {
  const found: Attention[] = []
  if (raw.bytes > raw.soft_cap_bytes)
    found.push({
      code: 'raw_over_soft_cap',
      message: `the raw cache is ${formatBytes(raw.bytes - raw.soft_cap_bytes)} over its soft cap`,
      fix: 'recollect evict --dry-run',
    })
  if (distilled.bytes > distilled.cap_bytes)
    found.push({
      code: 'distilled_over_cap',
      message: `the durable memory is ${formatBytes(distilled.bytes - distilled.cap_bytes)} over its cap; nothing of it is dropped by itself`,
      fix: 'recollect config, session_memory.retention.distilled_cap_bytes',
    })
  return found
}
