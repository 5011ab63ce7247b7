// Whether a sweep has to evict at all. Answered from sums the databases hold: under all caps it costs next to nothing.

import { join } from 'node:path'
import { DAY } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { StorePaths } from '../store/reading.ts'
import { type Policy, SETTLING_DAYS } from './plan.ts'
import type { Cadence } from './policy.ts'
import { databaseBytes, MAX_OVERHEAD_BYTES } from './usage.ts'

const PERIOD: Record<Cadence, number> = { daily: DAY, weekly: 7 * DAY, 'on-hook': 0 }
const BLOCK = 4096

/** `asked`: a sweep that a person or the schedule started. `hook`: one that an agent's hook set off, perhaps each minute. */
export type Trigger = 'asked' | 'hook'

export function isDue(
  handle: Reader,
  paths: StorePaths,
  policy: Policy & { cadence: Cadence },
  trigger: Trigger,
  now: number,
): boolean {
  const { storage } = handle
  if (storage.hasUnfinished()) return true
  const rawBytesAtMost =
    storage.segmentBytes(BLOCK) + databaseBytes(join(paths.cacheDirectory, 'cache.db')) + MAX_OVERHEAD_BYTES
  const isOver =
    rawBytesAtMost > policy.rawSoftCapBytes ||
    databaseBytes(paths.memoryPath) > policy.distilledCapBytes ||
    hasAged(storage, policy, now)
  if (!isOver) return false
  if (trigger === 'asked' || rawBytesAtMost > policy.rawHardCapBytes) return true
  // A little less than the period: a schedule is never exact. The last one may bear a time that is still to come, by a
  // clock that was wrong.
  return Math.abs(now - storage.lastEvictionAt()) >= 0.9 * PERIOD[policy.cadence]
}

/** As `isAged` of plan.ts has it. */
function hasAged(storage: Reader['storage'], { rawMaxAgeDays, soleCopies }: Policy, now: number): boolean {
  const settling = Math.min(rawMaxAgeDays, SETTLING_DAYS)
  return storage.hasAged(now - settling * DAY, now - rawMaxAgeDays * DAY, soleCopies === 'age')
}
