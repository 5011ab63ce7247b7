// Whether a sweep has to evict at all. Answered from sums the databases hold: under all caps it costs next to nothing.

import { join } from 'node:path'
import { DAY } from '../model.ts'
import type { StorePaths } from '../store/reading.ts'
import type { ReadHandle } from '../store/store.ts'
import { type Policy, SETTLING_DAYS } from './plan.ts'
import type { Cadence } from './policy.ts'
import { databaseBytes, MAX_OVERHEAD_BYTES } from './usage.ts'

const PERIOD: Record<Cadence, number> = { daily: DAY, weekly: 7 * DAY, 'on-hook': 0 }
const BLOCK = 4096

/** `asked`: a sweep that a person or the schedule started. `hook`: one that an agent's hook set off, perhaps each minute. */
export type Trigger = 'asked' | 'hook'

export function isDue(
  handle: ReadHandle,
  paths: StorePaths,
  policy: Policy & { cadence: Cadence },
  trigger: Trigger,
  now: number,
): boolean {
  if (hasUnfinished(handle)) return true
  const rawBytesAtMost =
    segmentBytes(handle) + databaseBytes(join(paths.cacheDirectory, 'cache.db')) + MAX_OVERHEAD_BYTES
  const isOver =
    rawBytesAtMost > policy.rawSoftCapBytes ||
    databaseBytes(paths.memoryPath) > policy.distilledCapBytes ||
    hasAged(handle, policy, now)
  if (!isOver) return false
  if (trigger === 'asked' || rawBytesAtMost > policy.rawHardCapBytes) return true
  // A little less than the period: a schedule is never exact. The last one may bear a time that is still to come, by a
  // clock that was wrong.
  return Math.abs(now - lastEvictionAt(handle)) >= 0.9 * PERIOD[policy.cadence]
}

function hasUnfinished(handle: ReadHandle): boolean {
  return handle.memory.prepare("SELECT 1 FROM receipts WHERE state <> 'evicted' LIMIT 1").get() !== undefined
}

/** Never less than the segments occupy, and far cheaper to know than a look at each. */
function segmentBytes(handle: ReadHandle): number {
  const { bytes } = handle.cache
    .prepare(
      `SELECT coalesce(sum((segment_size + ${BLOCK} - 1) / ${BLOCK} * ${BLOCK}), 0) AS bytes FROM cached`,
    )
    .get() as { bytes: number }
  return bytes
}

/** As `isAged` of plan.ts has it. */
function hasAged(handle: ReadHandle, { rawMaxAgeDays, soleCopies }: Policy, now: number): boolean {
  const aged = handle.memory.prepare(
    `SELECT 1 FROM sessions WHERE evicted_at IS NULL AND analyzed_at IS NOT NULL AND ingested_at < ?
     AND coalesce(ended_at, started_at, ingested_at) < ? AND is_sole_copy <= ?
     AND session_uid NOT IN (SELECT session_uid FROM pins) LIMIT 1`,
  )
  const settling = Math.min(rawMaxAgeDays, SETTLING_DAYS)
  const found = aged.get(now - settling * DAY, now - rawMaxAgeDays * DAY, soleCopies === 'age' ? 1 : 0)
  return found !== undefined
}

function lastEvictionAt(handle: ReadHandle): number {
  const row = handle.memory.prepare("SELECT max(at) AS at FROM receipts WHERE reason <> 'forgotten'").get()
  return (row as { at: number | null }).at ?? 0
}
