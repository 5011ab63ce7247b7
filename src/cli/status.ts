// `recollect status`, the command without a name: what is remembered, how fresh it is, how much room it takes, what needs
// attention, and what to type next.
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { policyOf } from '../retention/policy.ts'
import { allocatedBytes, databaseBytes } from '../retention/usage.ts'
import { openForReading, type StorePaths, storePaths } from '../store/sqlite.ts'
import type { ReadHandle } from '../store/store.ts'
import { paint } from './colour.ts'
import type { Place } from './empty.ts'
import { formatAge, formatBytes, formatCount, plural } from './format.ts'
import { bar, print, printJson } from './print.ts'
import { tableLines } from './table.ts'

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

interface Attention {
  code: string
  message: string
  fix: string
}

interface Status {
  home: string
  sessions: number
  subagent_sessions: number
  flavors: FlavorRow[]
  storage: { raw: Tier; distilled: { bytes: number; cap_bytes: number } }
  attention: Attention[]
  /** Where agents' files are looked for; only filled while nothing is remembered. */
  looked_in: Place[]
}

export async function showStatus(options: { json?: boolean }): Promise<void> {
  const status = await statusOf(new Config())
  if (options.json) printJson(status)
  else print((await textLines(status)).join('\n'))
}

async function statusOf(config: Config): Promise<Status> {
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
    looked_in: counted.flavors.length > 0 ? [] : (await import('./empty.ts')).places(config),
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

async function textLines(status: Status): Promise<string[]> {
  if (status.flavors.length === 0) return await emptyLines(status)
  const subs =
    status.subagent_sessions > 0 ? `, and ${plural(status.subagent_sessions, "sub-agent's session")}` : ''
  return [
    `${paint.bold(plural(status.sessions, 'session'))} remembered${subs}`,
    '',
    ...tableLines(status.flavors, [
      { title: 'FLAVOR', cell: (row) => row.flavor, style: (text) => paint.cyan(text) },
      { title: 'SESSIONS', right: true, cell: (row) => formatCount(row.sessions) },
      { title: 'EVENTS', right: true, cell: (row) => formatCount(row.events), optional: 2 },
      { title: 'NEWEST', cell: (row) => (row.last_at === null ? 'unknown' : formatAge(row.last_at)) },
      {
        title: 'READ',
        cell: (row) => (row.read_at === null ? 'never' : formatAge(row.read_at)),
        optional: 1,
      },
    ]),
    '',
    ...storageLines(status.storage),
    ...attentionLines(status.attention),
    '',
    'next: recollect sessions · recollect show @last · recollect search WORDS',
  ]
}

const BAR = 20

function storageLines({ raw, distilled }: Status['storage']): string[] {
  const line = (name: string, bytes: number, cap: number, what: string): string => {
    const share = cap === 0 ? 1 : bytes / cap
    const drawn = bar(share, BAR)
    const colour = share > 1 ? paint.red : share > 0.8 ? paint.yellow : paint.green
    return `${name.padEnd(8)} ${colour(drawn)} ${formatBytes(bytes)} of ${formatBytes(cap)} ${paint.dim(what)}`
  }
  return [
    line('raw', raw.bytes, raw.soft_cap_bytes, `(soft cap; hard ${formatBytes(raw.hard_cap_bytes)})`),
    line('memory', distilled.bytes, distilled.cap_bytes, '(kept for good)'),
  ]
}

const attentionLines = (attention: readonly Attention[]): string[] =>
  attention.length === 0
    ? []
    : ['', ...attention.flatMap(({ message, fix }) => [`${paint.yellow('▲')} ${message}`, `  → ${fix}`])]

async function emptyLines({ looked_in }: Status): Promise<string[]> {
  const { placeLines, nextStep } = await import('./empty.ts')
  return [
    paint.bold('nothing is remembered yet'),
    '',
    "looked for agents' files in:",
    ...placeLines(looked_in),
    '',
    `next: ${nextStep(looked_in)}`,
  ]
}
