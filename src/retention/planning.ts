// A plan for what is in the store now: measures, looks at the clock, and asks plan.ts. Changes nothing.
import { join } from 'node:path'
import { bytesOnceErased } from '../store/erase.ts'
import type { StorePaths } from '../store/reading.ts'
import type { Store } from '../store/store.ts'
import { isClockAhead } from './clock.ts'
import { type Plan, type Policy, plan, type Step, type Usage } from './plan.ts'
import { type HeldSession, type Holdings, holdings, rawSessions } from './sessions.ts'
import { allocatedBytes, databaseBytes } from './usage.ts'

export interface PlanOptions {
  store: Pick<Store, 'read'>
  paths: StorePaths
  policy: Policy
  now?: number
  /** When a sweep last began whose clock was believed; 0: never. */
  lastSweepAt: number
}

/** A plan, and what would go by age if the clock were believed. */
export interface TimedPlan extends Plan {
  heldByClockBytes: number
}

/** What retention would do now. */
export function planNow(options: PlanOptions): TimedPlan {
  const held = holdings(options.store.read())
  return planAt(options, usageOf(options.paths), { held, isTried: () => false, scale: 1, isHeld: false })
}

/** What is known since the run began. */
interface Learned {
  held: Holdings
  /** Whether analysis was tried. */
  isTried: (uid: string) => boolean
  /** What share of the bytes expected in the database really went. */
  scale: number
  /** Only copies stay this time. */
  isHeld: boolean
}

export function planAt(options: PlanOptions, usage: Measured, learned: Learned): TimedPlan {
  const { store, policy, now = Date.now(), lastSweepAt } = options
  const timed = planWith(policy, usage, learned, now)
  const aged = timed.steps.filter((step) => step.reason === 'age')
  if (aged.length === 0 || !isClockAhead(store.read(), lastSweepAt, now))
    return { ...timed, heldByClockBytes: 0 }
  const heldByClockBytes = aged.reduce((sum, step) => sum + step.bytes, 0)
  return {
    ...planWith({ ...policy, rawMaxAgeDays: Number.POSITIVE_INFINITY }, usage, learned, now),
    heldByClockBytes,
  }
}

function planWith(
  policy: Policy,
  usage: Measured,
  { held, isTried, scale, isHeld }: Learned,
  now: number,
): Plan {
  const sessions = rawSessions(held, usage.databaseBytes, isTried).map((one) =>
    isHeld && one.isSoleCopy ? { ...one, isPinned: true } : one,
  )
  const planOf = (freed: (one: HeldSession) => number): Plan => {
    const scaled = sessions.map((one) => ({ ...one, bytes: one.fileBytes + Math.round(freed(one) * scale) }))
    return plan(policy, scaled, usage, now)
  }
  const optimistic = planOf((one) => one.rowBytes)
  return isMost(sessions, optimistic.steps) ? optimistic : planOf((one) => one.rowBytes - one.scatteredBytes)
}

/** Pages that sessions share are given back when more than half of what stands in them goes. */
function isMost(sessions: readonly HeldSession[], steps: readonly Step[]): boolean {
  const going = new Set(steps.map((step) => step.uid))
  const scattered = (some: readonly HeldSession[]): number =>
    some.reduce((sum, one) => sum + one.scatteredBytes, 0)
  return 2 * scattered(sessions.filter((one) => going.has(one.uid))) > scattered(sessions)
}

/** Of the raw bytes, those of the database are shared out among sessions. */
export interface Measured extends Usage {
  databaseBytes: number
}

export function usageOf(paths: StorePaths): Measured {
  return {
    rawBytes: allocatedBytes(paths.cacheDirectory),
    databaseBytes: databaseBytes(join(paths.cacheDirectory, 'cache.db')),
    distilledBytes: databaseBytes(paths.memoryPath),
  }
}

/** What will be used once what is deleted is erased. */
export function usageToCome({ store, paths }: PlanOptions): Measured {
  const now = usageOf(paths)
  const then = bytesOnceErased(store.read().cache)
  return { ...now, rawBytes: now.rawBytes - now.databaseBytes + then, databaseBytes: then }
}
