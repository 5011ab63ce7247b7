// Carries a plan out: measure, plan, evict, and again until nothing is left to do. Analysis that is needed first is the
// caller's (`analyzeNow`); what is lost or needs a person's eye is told through `onEvent`.
import { DAY } from '../model.ts'
import type { EvictReport, Store } from '../store/store.ts'
import type { Plan, Step, Usage } from './plan.ts'
import { type Measured, type PlanOptions, planAt, usageOf, usageToCome } from './planning.ts'
import { fileBytesOf, Holdings } from './sessions.ts'
import { SoleCopies } from './sole-copies.ts'
import { keepBallast } from './usage.ts'

/** `data_loss` names the session that lost un-analyzed raw. */
export interface RetentionEvent {
  name: `session_memory.${EventName}`
  sessionUid: string | null
  bytes: number
  at: number
}

type EventName = 'data_loss' | 'distilled_over_cap' | 'over_hard_cap' | 'only_copies' | 'clock_ahead'

export interface RetentionOptions extends PlanOptions {
  store: Store
  /** Somebody asked for it by name: then only copies need not be announced a day before. */
  isAsked?: boolean
  /** Makes sessions evictable by writing their digests. Without it nothing un-analyzed can be saved. */
  analyzeNow?: (uids: readonly string[]) => Promise<void> | void
  onEvent?: (event: RetentionEvent) => void
  /** Told how many sessions have gone in a round. */
  onRound?: (count: number) => void
}

export interface RetentionReport {
  /** The first of them, and how many there were: of what could not be read again, and what was lost un-analyzed. */
  steps: Step[]
  stepCount: number
  soleCopyCount: number
  lostCount: number
  analyzed: string[]
  usageBeforeBytes: number
  usageAfterBytes: number
  distilledBytes: number
  events: RetentionEvent[]
  /** False when a reader held up the last of the erasing; the next run does it. */
  isErased: boolean
}

/**
 * Evicts what the policy says. Each round drops a session or settles that one cannot be analyzed, so it ends. What rounds
 * leave in the file is erased once, when enough has gone.
 */
export async function retain(options: RetentionOptions): Promise<RetentionReport> {
  const { store, paths, analyzeNow } = options
  const now = options.now ?? Date.now()
  store.archive.evict([], now)
  keepBallast(paths.cacheDirectory, options.policy.rawSoftCapBytes)
  let usage = usageOf(paths)
  const report = newReport(usage)
  const tried = new Set<string>()
  const rounds = new Rounds(options, now)
  const isTried = (uid: string): boolean => !analyzeNow || tried.has(uid)
  let held = new Holdings(store.reader)
  const soleCopies = new SoleCopies(store.reader.storage, options.isAsked ?? false, now)
  for (let isCompact = false; ; ) {
    const { next, toldBytes } = soleCopies.spare((isHeld) =>
      planAt({ ...options, now }, usage, { held, isTried, scale: rounds.scale, isHeld, limit: AT_ONCE }),
    )
    // What is too old goes however much room there is; for the rest, what lies idle goes first.
    if (!isCompact && (next.steps.some((step) => step.reason !== 'age') || next.analyzeNow.length > 0)) {
      isCompact = true
      compactQuietly(store)
      usage = usageOf(paths)
      continue
    }
    if (toldBytes > 0) tellOnce(options, report, 'only_copies', toldBytes, now)
    if (next.steps.length > 0) {
      usage = rounds.evict(next, usage)
      for (const step of next.steps) {
        addStep(report, step)
        if (step.reason === 'hard_cap') tell(options, report, 'data_loss', step.uid, step.bytes, now)
      }
      options.onRound?.(next.steps.length)
    }
    if (next.analyzeNow.length > 0) {
      await attempt(() => analyzeNow?.(next.analyzeNow))
      held = new Holdings(store.reader)
    }
    for (const uid of next.analyzeNow) tried.add(uid)
    report.analyzed.push(...next.analyzeNow.slice(0, Math.max(0, MAX_TOLD - report.analyzed.length)))
    if (next.steps.length > 0 || next.analyzeNow.length > 0) continue
    if (rounds.isToErase) {
      usage = rounds.finish()
      continue
    }
    if (next.heldByClockBytes > 0) tellOnce(options, report, 'clock_ahead', next.heldByClockBytes, now)
    if (next.overHardCapBytes > 0) tellOnce(options, report, 'over_hard_cap', next.overHardCapBytes, now)
    if (next.overDistilledCapBytes > 0)
      tellOnce(options, report, 'distilled_over_cap', next.overDistilledCapBytes, now)
    break
  }
  const after = usageOf(paths)
  rounds.noteFreed(after)
  return {
    ...report,
    isErased: rounds.isErased,
    usageAfterBytes: after.rawBytes,
    distilledBytes: after.distilledBytes,
  }
}

/** Sessions that go in one round, of each kind: a million at once would not fit into memory. */
const AT_ONCE = 10_000
/** Steps, and sessions that were analyzed for them, that are told by name. */
const MAX_TOLD = 20_000
/** Receipts that are open together. */
const MAX_OPEN = 50_000

function addStep(report: RetentionReport, step: Step): void {
  report.stepCount++
  if (step.isSoleCopy) report.soleCopyCount++
  if (step.reason === 'hard_cap') report.lostCount++
  if (report.steps.length < MAX_TOLD) report.steps.push(step)
}

/** More than this share of what was expected is not believed: else a session might go that need not. */
const CAUTION = 1.01

/** What has been evicted in a run and is not erased yet, and what it freed beside what was expected. */
class Rounds {
  readonly #options: RetentionOptions
  readonly #now: number
  #receipts: EvictReport['receipts'] = []
  #startBytes = 0
  /** Something went whose bytes are still in the file. */
  isToErase = false
  /** False when a reader held up the last of it. */
  isErased = true
  scale = 1

  constructor(options: RetentionOptions, now: number) {
    this.#options = options
    this.#now = now
  }

  /** Returns what will be used once it is erased. */
  evict({ steps }: Plan, before: Measured): Measured {
    if (this.#receipts.length === 0) this.#startBytes = before.rawBytes
    // Files are as large as they are, and where payloads had to move, what they moved to is.
    const handle = this.#options.store.reader
    const expected = steps.reduce((sum, { uid, bytes }) => sum + bytes - fileBytesOf(handle, uid), 0)
    const { receipts } = this.#options.store.archive.evict(steps, this.#now, true)
    this.#receipts.push(...receipts)
    this.isToErase = true
    const after = usageToCome(this.#options.store.archive, this.#options.paths)
    const share = (before.databaseBytes - after.databaseBytes) / (expected || 1)
    this.scale = Math.min(1, Math.max(0.25, this.scale * share * CAUTION))
    if (this.#receipts.length < MAX_OPEN) return after
    const usage = this.finish()
    this.noteFreed(usage)
    return usage
  }

  /** Returns what is used. */
  finish(): Measured {
    this.isToErase = false
    this.isErased = this.#options.store.archive.evict([], this.#now).isErased
    // A reader that keeps the file from shrinking is no reason to drop more.
    return this.isErased
      ? usageOf(this.#options.paths)
      : usageToCome(this.#options.store.archive, this.#options.paths)
  }

  noteFreed(after: Usage): void {
    noteFreed(this.#options.store, this.#receipts, Math.max(0, this.#startBytes - after.rawBytes))
    this.#receipts = []
  }
}

function newReport(usage: Usage): RetentionReport {
  return {
    steps: [],
    stepCount: 0,
    soleCopyCount: 0,
    lostCount: 0,
    analyzed: [],
    usageBeforeBytes: usage.rawBytes,
    usageAfterBytes: usage.rawBytes,
    distilledBytes: usage.distilledBytes,
    events: [],
    isErased: true,
  }
}

/** What lies idle goes first, before any session has to. On a full disk there may be no room to do it in. */
export function compactQuietly(store: Store): void {
  try {
    store.archive.compact()
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
export function noteFreed(store: Store, receipts: EvictReport['receipts'], freedBytes: number): void {
  const expected = receipts.reduce((sum, receipt) => sum + receipt.bytes, 0)
  if (expected === 0) return
  store.archive.noteFreed(
    receipts.map((one) => ({ ...one, bytes: Math.round((freedBytes * one.bytes) / expected) })),
  )
}

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

/** A state that lasts is logged once a day, not once a sweep. */
function tellOnce(
  options: RetentionOptions,
  report: RetentionReport,
  name: EventName,
  bytes: number,
  at: number,
): void {
  // Nor twice in a run of several rounds.
  if (report.events.some((event) => event.name === `session_memory.${name}`)) return
  options.store.archive.logOnce(`session_memory.${name}`, at, DAY, { bytes })
  tell(options, report, name, null, bytes, at)
}
