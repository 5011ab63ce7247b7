// Of very many sessions those that may go next: the first of each pass of plan.ts. Where a pass has more than that, the
// passes after it are left out: their turn comes when the plan is made again. So a plan over these sessions is the
// beginning of the plan over all.
import { byActivity, byAnalysis, isAged, isAnalyzed, type Policy, type RawSession } from './plan.ts'
import type { HeldSession } from './sessions.ts'

export interface Candidates {
  sessions: HeldSession[]
  /** Of all there are. */
  scatteredBytes: number
}

/** Within a pass. What can still be analyzed comes before what goes only where nothing can. */
function inOrder(a: RawSession, b: RawSession): number {
  if (isAnalyzed(a) && isAnalyzed(b)) return byAnalysis(a, b)
  return Number(a.isAnalysisTried) - Number(b.isAnalysisTried) || byActivity(a, b)
}

export function candidates(
  all: Iterable<HeldSession>,
  policy: Policy,
  now: number,
  limit: number,
): Candidates {
  const passes = Array.from({ length: PASS_COUNT }, () => new First(limit))
  let scatteredBytes = 0
  for (const session of all) {
    scatteredBytes += session.scatteredBytes
    const pass = passOf(session, policy, now)
    if (pass !== undefined) passes[pass]?.add(session)
  }
  const cut = passes.findIndex((pass) => pass.isCut)
  const reached = cut < 0 ? passes : passes.slice(0, cut + 1)
  return { sessions: reached.flatMap((pass) => pass.take()), scatteredBytes }
}

const PASS_COUNT = 6
/** Less may be nothing once it is scaled down. */
const LEAST_BYTES = 2

/** In the order of plan.ts: by age, then by the budget, analyzed before un-analyzed; an only copy after all others. */
function passOf(session: HeldSession, policy: Policy, now: number): number | undefined {
  const { isPinned, isSoleCopy, fileBytes, rowBytes, scatteredBytes } = session
  if (isPinned) return undefined
  const goesByAge = isAnalyzed(session) && (!isSoleCopy || policy.soleCopies === 'age')
  if (goesByAge && isAged(session, policy.rawMaxAgeDays, now)) return isSoleCopy ? 1 : 0
  if (fileBytes === 0 && rowBytes - scatteredBytes < LEAST_BYTES) return undefined
  return (isSoleCopy ? 4 : 2) + (isAnalyzed(session) ? 0 : 1)
}

/** The first so many of those that were added. */
class First {
  readonly #limit: number
  #kept: HeldSession[] = []
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  get isCut(): boolean {
    return this.#count > this.#limit
  }

  add(session: HeldSession): void {
    this.#count++
    this.#kept.push(session)
    if (this.#kept.length >= 2 * this.#limit) this.#cut()
  }

  take(): HeldSession[] {
    this.#cut()
    return this.#kept
  }

  #cut(): void {
    if (this.#kept.length > this.#limit) this.#kept = this.#kept.sort(inOrder).slice(0, this.#limit)
  }
}
