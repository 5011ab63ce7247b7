// Which raw sessions go, and why: a pure function of policy, sessions, usage and time. It decides, nothing else; what it
// returns is printed by a dry run and applied by apply.ts. The passes are those of the coding-session-memory design, §5.2.

const DAY = 86_400_000

export interface Policy {
  rawSoftCapBytes: number
  rawHardCapBytes: number
  rawMaxAgeDays: number
  distilledCapBytes: number
}

/** A session that has raw bytes in the cache. */
export interface RawSession {
  uid: string
  /** What dropping it is expected to free. */
  bytes: number
  /** When its raw last came in: the age of the raw is counted from here. */
  ingestedAt: number
  /** When it was last active; null when unknown. */
  lastAt: number | null
  /** When its digest was written; null while there is none that covers all of its raw. */
  analyzedAt: number | null
  isPinned: boolean
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
  const steps: Step[] = []
  let usageBytes = usage.rawBytes
  const evict = (session: RawSession, reason: Reason): void => {
    usageBytes = Math.max(0, usageBytes - session.bytes)
    steps.push({ uid: session.uid, reason, bytes: session.bytes, usageAfterBytes: usageBytes })
  }
  const droppable = sessions.filter((session) => !session.isPinned)
  const analyzed = droppable.filter(isAnalyzed).sort(byAnalysis)
  const isAged = (session: RawSession): boolean => now - session.ingestedAt > policy.rawMaxAgeDays * DAY
  for (const session of analyzed) if (isAged(session)) evict(session, 'age')
  for (const session of analyzed) {
    if (usageBytes <= policy.rawSoftCapBytes) break
    // What holds no bytes would go for nothing.
    if (!isAged(session) && session.bytes > 0) evict(session, 'soft_cap')
  }
  const analyzeNow: string[] = []
  if (usageBytes > policy.rawHardCapBytes) {
    const rest = droppable
      .filter((session) => session.analyzedAt === null && session.bytes > 0)
      .sort(byActivity)
    analyzeNow.push(...worthAnalyzing(rest, usageBytes - policy.rawSoftCapBytes))
    if (analyzeNow.length === 0) {
      for (const session of rest) {
        if (usageBytes <= policy.rawHardCapBytes) break
        evict(session, 'hard_cap')
      }
    }
  }
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

type Analyzed = RawSession & { analyzedAt: number }
const isAnalyzed = (session: RawSession): session is Analyzed => session.analyzedAt !== null

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

function byActivity(a: RawSession, b: RawSession): number {
  return compare(activityOf(a), activityOf(b)) || compare(a.uid, b.uid)
}

/** Many are analyzed in one sweep: among those, the one that was active longest ago goes first. */
function byAnalysis(a: Analyzed, b: Analyzed): number {
  return compare(a.analyzedAt, b.analyzedAt) || byActivity(a, b)
}
