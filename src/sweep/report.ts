// What a sweep did, source by source: nothing is dropped without a name and a count.
import type { TelemetryReport } from '../export/telemetry.ts'
import type { HubReport } from '../hub/index.ts'
import type { RetentionReport } from '../retention/apply.ts'
import type { Found } from '../sources/discover.ts'
import type { Change, FileFacts } from '../sources/identity.ts'
import type { Problems } from '../sources/problem.ts'
import { IdSet } from '../store/id-set.ts'
import type { RepairReport } from '../store/store.ts'

export interface SourceReport {
  path: string
  flavor: string
  change: Change
  size: number
  understoodBytes: number
  /** Bytes of the source itself in gaps, and those of them that may still become a record. */
  gapBytes: number
  pendingBytes: number
  gaps: Record<string, number>
  unknown: Record<string, number>
}

export interface SweepReport extends Problems {
  startedAt: number
  endedAt: number
  interrupted: boolean
  /** Whether everything was looked at, or only what was touched. */
  isFull: boolean
  roots: { flavor: string; path: string; exists: boolean }[]
  counts: Record<Change | 'moved' | 'missing', number>
  readBytes: number
  newEventCount: number
  changedEventCount: number
  usageCount: number
  settledCount: number
  digestedCount: number
  /** Sessions that were written to: the first of them, and all by their numbers in the cache. A million names would not fit into memory. */
  sessionUids: string[]
  sessions: IdSet
  /** Of what was read the first, and how many there are. */
  sources: SourceReport[]
  sourceCount: number
  /** What was not understood in all of them, by reason and by name. */
  gaps: Record<string, number>
  unknown: Record<string, number>
  /** What was damaged; undefined when nobody asked. */
  repaired?: RepairReport
  /** Undefined when nothing had to be evicted. */
  retention?: RetentionReport
  /** What was told to others; undefined when there was nothing to tell. */
  hub?: HubReport
  /** Undefined without `otlp.endpoint`. */
  telemetry?: TelemetryReport
}

export function newReport(isFull: boolean): SweepReport {
  return {
    startedAt: Date.now(),
    endedAt: 0,
    interrupted: false,
    isFull,
    roots: [],
    counts: { new: 0, appended: 0, changed: 0, unchanged: 0, moved: 0, missing: 0 },
    readBytes: 0,
    newEventCount: 0,
    changedEventCount: 0,
    usageCount: 0,
    settledCount: 0,
    digestedCount: 0,
    sessionUids: [],
    sessions: new IdSet(),
    sources: [],
    sourceCount: 0,
    gaps: newCounts(),
    unknown: newCounts(),
    problems: [],
    problemCount: 0,
  }
}

/** Sources, or sessions, that are told by name. */
const MAX_TOLD = 20_000
const MAX_NAMES = 1000

export function addSession(report: SweepReport, uid: string, id: number): void {
  if (report.sessions.has(id)) return
  report.sessions.add(id)
  if (report.sessionUids.length < MAX_TOLD) report.sessionUids.push(uid)
}

/** Of a source that is done with. */
export function addSource(report: SweepReport, account: SourceReport): void {
  report.sourceCount++
  if (report.sources.length < MAX_TOLD) report.sources.push(account)
  addUp(report.gaps, account.gaps)
  addUp(report.unknown, account.unknown)
}

/** Files of others name them: only so many are told apart. */
function addUp(sums: Record<string, number>, counts: Record<string, number>): void {
  for (const [fullName, count] of Object.entries(counts)) {
    const isOne = fullName in sums || Object.keys(sums).length < MAX_NAMES
    const name = isOne ? fullName : '(other names)'
    sums[name] = (sums[name] ?? 0) + count
  }
}

/** Without a prototype: a record type may be called `__proto__`. */
const newCounts = (): Record<string, number> => Object.create(null) as Record<string, number>

/** Of a source that is about to be read. */
export function newAccount({
  source,
  adapter,
  change,
  facts,
}: Found & { change: Change; facts: FileFacts }): SourceReport {
  return {
    path: source.path,
    flavor: adapter.flavor,
    change,
    size: facts.size,
    understoodBytes: 0,
    gapBytes: 0,
    pendingBytes: 0,
    gaps: {},
    unknown: newCounts(),
  }
}
