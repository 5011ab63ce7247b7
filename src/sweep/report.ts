// What a sweep did, source by source: nothing is dropped without a name and a count.
import type { HubReport } from '../hub/index.ts'
import type { RetentionReport } from '../retention/apply.ts'
import type { Found } from '../sources/discover.ts'
import type { Change, FileFacts } from '../sources/identity.ts'
import type { Problem } from '../sources/problem.ts'
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

export interface SweepReport {
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
  sessionUids: Set<string>
  sources: SourceReport[]
  problems: Problem[]
  /** What was damaged; undefined when nobody asked. */
  repaired?: RepairReport
  /** Undefined when nothing had to be evicted. */
  retention?: RetentionReport
  /** What was told to others; undefined when there was nothing to tell. */
  hub?: HubReport
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
    sessionUids: new Set(),
    sources: [],
    problems: [],
  }
}

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
    unknown: Object.create(null) as Record<string, number>,
  }
}
