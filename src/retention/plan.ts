// Which raw sessions go, and why: a pure function of policy, sessions, usage and time. It decides, nothing else; what it
// returns is printed by a dry run and applied by apply.ts. The passes are those of the coding-session-memory design, §5.2;
// in each of them what can be read again goes first, and an only copy last.
import { DAY } from '../model.ts'

/** Raw that just came in stays for so many days, however old the session is: somebody asked for it. */
export const SETTLING_DAYS = 7

export interface Policy {
  rawSoftCapBytes: number
  rawHardCapBytes: number
  /** Infinity: nothing goes by age. */
  rawMaxAgeDays: number
  distilledCapBytes: number
  /** `age`: an only copy goes by age like any other. `keep`: by the budget, when nothing else is left. */
  soleCopies: 'keep' | 'age'
}

/** A session that has raw bytes in the cache. */
export interface RawSession {
  uid: string
  /** What dropping it is expected to free. */
  bytes: number
  /** When its raw last came in. */
  ingestedAt: number
  /** Its last event, from which its age is counted; null when unknown. */
  lastAt: number | null
  /** When its digest was written; null while there is none that covers all of its raw. */
  analyzedAt: number | null
  isPinned: boolean
  /** A file it was read from is gone: what goes here is gone for good. */
  isSoleCopy: boolean
  /** Analysis was tried in this run, or cannot be: only then may it be lost un-analyzed. */
  isAnalysisTried: boolean
}

export interface Usage {
  rawBytes: number
  distilledBytes: number
}

/** `age` backstop pass, `soft_cap` budget pass, `hard_cap` last resort: the one that loses un-analyzed raw. */
export type Reason = 'age' | 'soft_cap' | 'hard_cap'

export interface Step {
  uid: string
  reason: Reason
  bytes: number
  isSoleCopy: boolean
  /** Expected usage once this step is done. */
  usageAfterBytes: number
}

export interface Plan {
  steps: Step[]
  /** Sessions to analyze at once: over the hard cap, with nothing analyzed left to drop. Plan again afterwards. */
  analyzeNow: string[]
  usageBeforeBytes: number
  usageAfterBytes: number
  /** What stays above the soft cap because it is pinned, or not analyzed while the hard cap is kept. */
  overSoftCapBytes: number
  overHardCapBytes: number
  /** Tier 2 above its cap: for people to look at, never dropped. */
  overDistilledCapBytes: number
}

/** The smallest prefix of the order prescribed that brings usage down. Equal input gives an equal plan. */
export function plan(policy: Policy, sessions: readonly RawSession[], usage: Usage, now: number): Plan {
  const draft = new Draft(policy, usage.rawBytes)
  const droppable = sessions.filter((session) => !session.isPinned)
  const [sole, again] = [droppable.filter(isSole), droppable.filter((session) => !isSole(session))]
  draft.dropAged(again, now)
  if (policy.soleCopies === 'age') draft.dropAged(sole, now)
  draft.keepBudget(again)
  // An only copy goes for room when nothing else is left that takes any, analyzed or not.
  if (!draft.isHolding(again)) draft.keepBudget(sole)
  const { steps, analyzeNow, usageBytes } = draft
  return {
    steps,
    analyzeNow,
    usageBeforeBytes: usage.rawBytes,
    usageAfterBytes: usageBytes,
    overSoftCapBytes: Math.max(0, usageBytes - policy.rawSoftCapBytes),
    overHardCapBytes: Math.max(0, usageBytes - policy.rawHardCapBytes),
    overDistilledCapBytes: Math.max(0, usage.distilledBytes - policy.distilledCapBytes),
  }
}

/** Whether the age rule would take a session, if it is analyzed. */
export function isAged({ lastAt, ingestedAt }: RawSession, rawMaxAgeDays: number, now: number): boolean {
  const settling = Math.min(rawMaxAgeDays, SETTLING_DAYS)
  return now - (lastAt ?? ingestedAt) > rawMaxAgeDays * DAY && now - ingestedAt > settling * DAY
}

/** A plan in the making. */
class Draft {
  readonly steps: Step[] = []
  readonly analyzeNow: string[] = []
  usageBytes: number
  readonly #policy: Policy
  readonly #gone = new Set<string>()

  constructor(policy: Policy, usageBytes: number) {
    this.#policy = policy
    this.usageBytes = usageBytes
  }

  /** The backstop pass. */
  dropAged(sessions: readonly RawSession[], now: number): void {
    for (const session of sessions.filter(isAnalyzed).sort(byAnalysis))
      if (isAged(session, this.#policy.rawMaxAgeDays, now)) this.#evict(session, 'age')
  }

  /** The budget pass and, above the hard cap, the overflow. */
  keepBudget(sessions: readonly RawSession[]): void {
    const { rawSoftCapBytes, rawHardCapBytes } = this.#policy
    const left = this.#holding(sessions)
    this.#evictDownTo(rawSoftCapBytes, left.filter(isAnalyzed).sort(byAnalysis), 'soft_cap')
    if (this.usageBytes <= rawHardCapBytes) return
    const rest = left.filter((session) => session.analyzedAt === null).sort(byActivity)
    this.analyzeNow.push(...worthAnalyzing(rest, this.usageBytes - rawSoftCapBytes))
    if (this.analyzeNow.length === 0) this.#evictDownTo(rawHardCapBytes, rest, 'hard_cap')
  }

  isHolding(sessions: readonly RawSession[]): boolean {
    return this.#holding(sessions).length > 0
  }

  /** What holds no bytes would go for nothing. */
  #holding(sessions: readonly RawSession[]): RawSession[] {
    return sessions.filter((session) => session.bytes > 0 && !this.#gone.has(session.uid))
  }

  #evictDownTo(capBytes: number, sessions: readonly RawSession[], reason: Reason): void {
    for (const session of sessions) {
      if (this.usageBytes <= capBytes) return
      this.#evict(session, reason)
    }
  }

  #evict({ uid, bytes, isSoleCopy }: RawSession, reason: Reason): void {
    this.usageBytes = Math.max(0, this.usageBytes - bytes)
    this.#gone.add(uid)
    this.steps.push({ uid, reason, bytes, isSoleCopy, usageAfterBytes: this.usageBytes })
  }
}

const isSole = (session: RawSession): boolean => session.isSoleCopy

type Analyzed = RawSession & { analyzedAt: number }
export const isAnalyzed = (session: RawSession): session is Analyzed => session.analyzedAt !== null

/** Oldest first, and as many as the budget pass will need. */
function worthAnalyzing(sessions: readonly RawSession[], excessBytes: number): string[] {
  const uids: string[] = []
  let bytes = 0
  for (const session of sessions) {
    if (bytes >= excessBytes) break
    if (session.isAnalysisTried) continue
    uids.push(session.uid)
    bytes += session.bytes
  }
  return uids
}

const compare = (a: number | string, b: number | string): number => (a < b ? -1 : a > b ? 1 : 0)
const activityOf = (session: RawSession): number => session.lastAt ?? session.ingestedAt

export function byActivity(a: RawSession, b: RawSession): number {
  return compare(activityOf(a), activityOf(b)) || compare(a.uid, b.uid)
}

/** Many are analyzed in one sweep: among those, the one that was active longest ago goes first. */
export function byAnalysis(a: Analyzed, b: Analyzed): number {
  return compare(a.analyzedAt, b.analyzedAt) || byActivity(a, b)
}
