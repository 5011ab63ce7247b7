// How much of each allowance was used, over all sessions that told: an account has one, whoever draws on it.

import { listsBy } from '../lists.ts'
import { isoTime } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { LimitReading } from '../store/reader/usage.ts'

export interface LimitsQuestion {
  /** Epoch milliseconds of the reading; `untilAt` exclusive. */
  sinceAt?: number
  untilAt?: number
  flavor?: string
  /** Epoch milliseconds; the present by default. */
  now?: number
}

/** Between two resets: the highest that was told. */
export interface LimitWindow {
  used_percent: number | null
  resets_at: string | null
  /** It began anew since: how much is used by now nobody told. */
  is_over: boolean
  first_observed_at: string
  last_observed_at: string
}

/** The latest reading of one allowance, and the windows it went through, newest first. */
export interface LimitRow {
  flavor: string
  limit: string
  plan: string | null
  used_percent: number | null
  /** What is left of it, in the provider's own words. */
  left: string | null
  window_minutes: number | null
  resets_at: string | null
  is_over: boolean
  observed_at: string
  session_uid: string
  windows: LimitWindow[]
}

export interface LimitsReport {
  limits: LimitRow[]
}

export function limitsReport(handle: Reader, question: LimitsQuestion): LimitsReport {
  const { sinceAt = 0, untilAt = Number.MAX_SAFE_INTEGER, flavor = null, now = Date.now() } = question
  const readings = handle.usage.limits(sinceAt, untilAt, flavor)
  const byLimit = listsBy(readings, ({ flavor, name }) => `${flavor}\0${name}`)
  return { limits: [...byLimit.values()].map((some) => rowOf(some, now)) }
}

const isOver = (resetsAt: number | null, now: number): boolean => resetsAt !== null && resetsAt <= now

function rowOf(readings: readonly LimitReading[], now: number): LimitRow {
  const { flavor, name, plan, used_percent, left, window_minutes, resets_at, at, session_uid } = readings.at(
    -1,
  ) as LimitReading
  return {
    flavor,
    limit: name,
    plan,
    used_percent,
    left,
    window_minutes,
    resets_at: isoTime(resets_at),
    is_over: isOver(resets_at, now),
    observed_at: isoTime(at) as string,
    session_uid,
    windows: windowsOf(readings, now).reverse(),
  }
}

/** The same moment is told some minutes apart where an agent wrote how long it still was. */
const SAME_RESET_MS = 5 * 60_000

function windowsOf(readings: readonly LimitReading[], now: number): LimitWindow[] {
  const windows: LimitWindow[] = []
  let resetsAt: number | null = null
  for (const { used_percent, resets_at, at } of readings) {
    const observedAt = isoTime(at) as string
    const last = windows.at(-1)
    const isSame =
      resets_at === null || resetsAt === null
        ? resets_at === resetsAt
        : Math.abs(resets_at - resetsAt) <= SAME_RESET_MS
    resetsAt = resets_at
    if (!last || !isSame)
      windows.push({
        used_percent,
        resets_at: isoTime(resets_at),
        is_over: isOver(resets_at, now),
        first_observed_at: observedAt,
        last_observed_at: observedAt,
      })
    else {
      last.last_observed_at = observedAt
      if (used_percent !== null) last.used_percent = Math.max(last.used_percent ?? 0, used_percent)
    }
  }
  return windows
}
