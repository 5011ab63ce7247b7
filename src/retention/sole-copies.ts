// Only copies do not go without a word: the first time they would, it is said, and they stay for a day in which they can be
// pinned. Above the hard cap there is no such day; then it is said right before.
import { DAY } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { TimedPlan } from './planning.ts'

export class SoleCopies {
  /** Nothing has to be said any more. */
  readonly #isFree: boolean

  constructor(storage: Reader['storage'], isAsked: boolean, now: number) {
    const at = storage.firstLoggedAt('session_memory.only_copies')
    // It may bear a time that is still to come, by a clock that was wrong.
    this.#isFree = isAsked || (at !== null && Math.abs(now - at) >= DAY)
  }

  /** The plan to carry out, without only copies where they are to stay; and the bytes of those to be told of. */
  spare(planOf: (isHeld: boolean) => TimedPlan): { next: TimedPlan; toldBytes: number } {
    const next = planOf(false)
    const going = next.steps.filter((step) => step.isSoleCopy)
    if (this.#isFree || going.length === 0) return { next, toldBytes: 0 }
    const held = planOf(true)
    const isNeeded = held.overHardCapBytes > 0 && held.analyzeNow.length === 0
    return { next: isNeeded ? next : held, toldBytes: going.reduce((sum, step) => sum + step.bytes, 0) }
  }
}
