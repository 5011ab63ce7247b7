// Carries a plan out: measure, plan, evict, and again until nothing is left to do. Analysis that is needed first is the
// caller's (`analyzeNow`); what is lost or needs a person's eye is told through `onEvent`.
import { join } from 'node:path'
import { transaction } from '../store/database.ts'
import { compact } from '../store/erase.ts'
import type { StorePaths } from '../store/reading.ts'
import type { EvictReport, Store } from '../store/store.ts'
import { type Plan, type Policy, plan, type Step, type Usage } from './plan.ts'
import { rawSessions } from './sessions.ts'
import { allocatedBytes, databaseBytes, keepBallast } from './usage.ts'

/** `data_loss` names the session that lost un-analyzed raw. */
export interface RetentionEvent {
  name: 'session_memory.data_loss' | 'session_memory.distilled_over_cap' | 'session_memory.over_hard_cap'
  sessionUid: string | null
  bytes: number
  at: number
}

export interface RetentionOptions {
  store: Store
  paths: StorePaths
  policy: Policy
  now?: number
  /** Makes sessions evictable by writing their digests. Without it nothing un-analyzed can be saved. */
  analyzeNow?: (uids: readonly string[]) => Promise<void> | void
  onEvent?: (event: RetentionEvent) => void
}

export interface RetentionReport {
  steps: Step[]
  analyzed: string[]
  usageBeforeBytes: number
  usageAfterBytes: number
  distilledBytes: number
  events: RetentionEvent[]
  /** False when a reader held up the last of the erasing; the next run does it. */
  isErased: boolean
}

/** What retention would do now. Changes nothing. */
export function planNow(
  options: Pick<RetentionOptions, 'paths' | 'policy' | 'now'> & { store: Pick<Store, 'read'> },
  isTried: (uid: string) => boolean = () => false,
): Plan {
  const { store, paths, policy } = options
  const raw = databaseBytes(join(paths.cacheDirectory, 'cache.db'))
  const sessions = rawSessions(store.read(), raw, isTried)
  return plan(policy, sessions, usageOf(paths), options.now ?? Date.now())
}

function usageOf(paths: StorePaths): Usage {
  return { rawBytes: allocatedBytes(paths.cacheDirectory), distilledBytes: databaseBytes(paths.memoryPath) }
}

/** Evicts what the policy says. Each round drops a session or settles that one cannot be analyzed, so it ends. */
export async function retain(options: RetentionOptions): Promise<RetentionReport> {
  const { store, paths, analyzeNow } = options
  const now = options.now ?? Date.now()
  store.evict([], now)
  keepBallast(paths.cacheDirectory, options.policy.rawSoftCapBytes)
  const report = newReport(usageOf(paths))
  const tried = new Set<string>()
  const look = (): Plan => planNow({ ...options, now }, (uid) => !analyzeNow || tried.has(uid))
  for (;;) {
    let next = look()
    // What is too old goes however much room there is.
    if (next.steps.some((step) => step.reason !== 'age') || next.analyzeNow.length > 0) {
      compactQuietly(store)
      next = look()
    }
    if (next.steps.length > 0) evict(options, next.steps, now, report)
    if (next.analyzeNow.length > 0) await attempt(() => analyzeNow?.(next.analyzeNow))
    for (const uid of next.analyzeNow) tried.add(uid)
    report.analyzed.push(...next.analyzeNow)
    if (next.steps.length > 0 || next.analyzeNow.length > 0) continue
    if (next.overHardCapBytes > 0) tellOnce(options, report, 'over_hard_cap', next.overHardCapBytes, now)
    if (next.overDistilledCapBytes > 0)
      tellOnce(options, report, 'distilled_over_cap', next.overDistilledCapBytes, now)
    break
  }
  const after = usageOf(paths)
  return { ...report, usageAfterBytes: after.rawBytes, distilledBytes: after.distilledBytes }
}

function newReport(usage: Usage): RetentionReport {
  return {
    steps: [],
    analyzed: [],
    usageBeforeBytes: usage.rawBytes,
    usageAfterBytes: usage.rawBytes,
    distilledBytes: usage.distilledBytes,
    events: [],
    isErased: true,
  }
}

function evict(
  options: RetentionOptions,
  steps: readonly Step[],
  now: number,
  report: RetentionReport,
): void {
  const { store, paths } = options
  const before = allocatedBytes(paths.cacheDirectory)
  const done = store.evict(steps, now)
  const freed = Math.max(0, before - allocatedBytes(paths.cacheDirectory))
  noteFreed(store, done, freed)
  report.steps.push(...steps)
  report.isErased = done.isErased
  for (const { uid, bytes, reason } of steps) {
    if (reason === 'hard_cap') tell(options, report, 'data_loss', uid, bytes, now)
  }
}

/** What lies idle goes first, before any session has to. On a full disk there may be no room to do it in. */
function compactQuietly(store: Store): void {
  try {
    compact(store.read().cache)
  } catch {
    return
  }
}

/** Analysis that fails leaves sessions un-analyzed; what follows from that is reported as loss. */
async function attempt(work: () => Promise<void> | void): Promise<void> {
  try {
    await work()
  } catch {
    return
  }
}

/** Receipts were written with what was expected; now it is known. Which page was whose is not: shared out by expectation. */
function noteFreed(store: Store, { receipts }: EvictReport, freedBytes: number): void {
  const expected = receipts.reduce((sum, receipt) => sum + receipt.bytes, 0)
  if (expected === 0) return
  const { memory } = store.read()
  const set = memory.prepare('UPDATE receipts SET bytes = ? WHERE session_uid = ? AND at = ?')
  transaction(memory, () => {
    for (const { uid, at, bytes } of receipts) set.run(Math.round((freedBytes * bytes) / expected), uid, at)
  })
}

type EventName = 'data_loss' | 'distilled_over_cap' | 'over_hard_cap'

function tell(
  options: RetentionOptions,
  report: RetentionReport,
  name: EventName,
  sessionUid: string | null,
  bytes: number,
  at: number,
): void {
  const event: RetentionEvent = { name: `session_memory.${name}`, sessionUid, bytes, at }
  report.events.push(event)
  options.onEvent?.(event)
}

const DAY = 86_400_000

/** A state that lasts is logged once a day, not once a sweep. */
function tellOnce(
  options: RetentionOptions,
  report: RetentionReport,
  name: EventName,
  bytes: number,
  at: number,
): void {
  options.store
    .read()
    .memory.prepare(
      `INSERT INTO events_log (session_uid, at, name, detail) SELECT '', ?1, ?2, ?3
       WHERE NOT EXISTS (SELECT 1 FROM events_log WHERE session_uid = '' AND name = ?2 AND at > ?1 - ${DAY})`,
    )
    .run(at, `session_memory.${name}`, JSON.stringify({ bytes }))
  tell(options, report, name, null, bytes, at)
}

/** Forgets one session: raw and Tier 2. */
export function forget(options: RetentionOptions, uid: string): EvictReport {
  const { store, paths } = options
  store.evict([], options.now ?? Date.now())
  compactQuietly(store)
  const before = allocatedBytes(paths.cacheDirectory)
  const done = store.evict([{ uid, reason: 'forgotten', bytes: 1 }], options.now ?? Date.now())
  noteFreed(store, done, Math.max(0, before - allocatedBytes(paths.cacheDirectory)))
  return done
}
