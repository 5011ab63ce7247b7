// What is remembered, how fresh it is, how much room it takes and what needs attention: the command without a name, and
// the first thing the page is asked.
import type { Environment } from '../adapters/adapter.ts'
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { isoTime } from '../model.ts'
import { policyOf } from '../retention/policy.ts'
import type { Reader } from '../store/reader/index.ts'
import { openForReading, type StorePaths, storePaths } from '../store/reading.ts'
import { runningSweep } from '../store/sweep-lock.ts'
import { checkAtOnce, type Sizes, sizesOf } from './attention.ts'
import type { Deletion } from './deletions.ts'
import type { Place } from './places.ts'

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
  /** Of docs/doctor.md. */
  code: string
  severity: string
  message: string
  fix: string
}

export interface Status {
  home: string
  sessions: number
  subagent_sessions: number
  flavors: FlavorRow[]
  storage: { raw: Tier; distilled: { bytes: number; cap_bytes: number } }
  /** The sweep that is under way, if one is: until it ends, the figures are of a part. */
  sweep: {
    started_at: string
    done_bytes: number
    total_bytes: number
    done_sources: number
    total_sources: number
  } | null
  attention: Attention[]
  /** What agents delete of their own files within the week. */
  deletions: Deletion[]
  /** Where agents' files are looked for; only filled while nothing is remembered. */
  looked_in: Place[]
}

/** Of a machine where nothing was ever swept, too; throws CORRUPT where the memory cannot be read. */
export async function statusOf(config: Config, env: Environment = process.env): Promise<Status> {
  const paths = storePaths(config.home, config.get('store.db_path'))
  const policy = policyOf(config)
  const sizes = sizesOf(paths)
  const counted = readCounts(paths, config, sizes)
  const storage: Status['storage'] = {
    raw: {
      bytes: sizes.raw,
      soft_cap_bytes: policy.rawSoftCapBytes,
      hard_cap_bytes: policy.rawHardCapBytes,
    },
    distilled: { bytes: sizes.distilled, cap_bytes: policy.distilledCapBytes },
  }
  return {
    home: config.home,
    sessions: counted.flavors.reduce((sum, row) => sum + row.sessions, 0),
    subagent_sessions: counted.subagentSessions,
    flavors: counted.flavors,
    storage,
    sweep: sweepNow(config.home),
    attention: counted.attention,
    deletions: counted.flavors.length > 0 ? await deletionsOf(paths, env) : [],
    looked_in: counted.flavors.length > 0 ? [] : (await import('./places.ts')).places(config, env),
  }
}

function sweepNow(home: string): Status['sweep'] {
  const running = runningSweep(home)
  return (
    running && {
      started_at: new Date(running.startedAt).toISOString(),
      done_bytes: running.doneBytes,
      total_bytes: running.totalBytes,
      done_sources: running.doneSources,
      total_sources: running.totalSources,
    }
  )
}

/** Loaded late: nothing else here needs to know the agents. */
async function deletionsOf(paths: StorePaths, env: Environment): Promise<Deletion[]> {
  const [{ comingDeletions }, { ADAPTERS }, { INTEGRATIONS }] = await Promise.all([
    import('./deletions.ts'),
    import('../adapters/index.ts'),
    import('../adapters/integrations.ts'),
  ])
  const handle = openForReading(paths)
  try {
    const now = Date.now()
    return comingDeletions({ env, now, adapters: ADAPTERS, integrations: INTEGRATIONS, handle })
  } finally {
    handle.close()
  }
}

interface Counts {
  flavors: FlavorRow[]
  subagentSessions: number
  attention: Attention[]
}

function readCounts(paths: StorePaths, config: Config, sizes: Sizes): Counts {
  let handle: ReturnType<typeof openForReading>
  try {
    handle = openForReading(paths)
  } catch (error) {
    if (error instanceof RecollectError && error.code === 'NO_MEMORY')
      return { flavors: [], subagentSessions: 0, attention: [] }
    throw error
  }
  try {
    return {
      flavors: flavorRows(handle),
      subagentSessions: handle.sessions.countSubagents(),
      attention: attentionOf(handle, config, sizes),
    }
  } finally {
    handle.close()
  }
}

/** What doctor would say of the memory at once, without what is as it should be. */
const attentionOf = (handle: Reader, config: Config, sizes: Sizes): Attention[] =>
  checkAtOnce(handle, config, sizes, Date.now())
    .filter(({ severity }) => severity === 'warning' || severity === 'error')
    .map(({ id, severity, text, fix }) => ({
      code: id,
      severity,
      message: text,
      fix: fix ?? 'recollect doctor',
    }))

function flavorRows(handle: Reader): FlavorRow[] {
  return handle.coverage.ownFlavors().map(({ flavor, sessions, events, active, ingested }) => ({
    flavor,
    sessions,
    events,
    last_at: isoTime(active),
    read_at: isoTime(ingested),
  }))
}
