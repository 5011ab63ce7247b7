// Whether the clock can be believed when it says that something is old. One that is years ahead, if only for one sweep, would
// make everything old at once.
import { DAY } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'

/** Whoever works with agents leaves a file, or sweeps, more often than this; who was away for longer waits for the next file. */
export const BOUND_DAYS = 30

/** Whether the clock is beyond the newest file and the last sweep by more than the bound. */
export function isClockAhead({ sources }: Reader, lastSweepAt: number, now: number): boolean {
  // The first sweep has nothing to compare with, and of what it brings nothing is old yet.
  if (lastSweepAt === 0) return false
  // A file from the future says nothing of the present.
  const at = sources.newestAt(now)
  return now - Math.max(at ?? 0, lastSweepAt) > BOUND_DAYS * DAY
}
