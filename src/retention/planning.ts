// A plan for what is in the store now: measures, looks at the clock, and asks plan.ts. Changes nothing.
import { join } from 'node:path'
import type { StorePaths } from '../store/reading.ts'
import type { Archive, Store } from '../store/store.ts'
import { type Candidates, candidates } from './candidates.ts'
import { isClockAhead } from './clock.ts'
import { type Plan, type Policy, plan, type Step, type Usage } from './plan.ts'
import { type HeldSession, Holdings } from './sessions.ts'
import { allocatedBytes, databaseBytes } from './usage.ts'

export interface PlanOptions {
  store: Pick<Store, 'reader'>
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

/** What retention would do now, to the end. */
export function planNow(options: PlanOptions): TimedPlan {
  const held = new Holdings(options.store.reader)
  const learned = { held, isTried: () => false, scale: 1, isHeld: false, limit: Number.POSITIVE_INFINITY }
  return planAt(options, usageOf(options.paths), learned)
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
  /** How many sessions of each kind a plan may take up: it can be made again for the rest. */
  limit: number
}

export function planAt(options: PlanOptions, usage: Measured, learned: Learned): TimedPlan {
  const { store, policy, now = Date.now(), lastSweepAt } = options
  const timed = planWith(policy, usage, learned, now)
  const aged = timed.steps.filter((step) => step.reason === 'age')
  if (aged.length === 0 || !isClockAhead(store.reader, lastSweepAt, now))
    return { ...timed, heldByClockBytes: 0 }
  const heldByClockBytes = aged.reduce((sum, step) => sum + step.bytes, 0)
  return {
    ...planWith({ ...policy, rawMaxAgeDays: Number.POSITIVE_INFINITY }, usage, learned, now),
    heldByClockBytes,
  }
}

function planWith(policy: Policy, usage: Measured, learned: Learned, now: number): Plan {
  const { held, isTried, scale, isHeld, limit } = learned
  const all = held.sessions(usage.databaseBytes, isTried)
  const first = candidates(isHeld ? pinningOnlyCopies(all) : all, policy, now, limit)
  const planOf = (freed: (one: HeldSession) => number): Plan => {
    const scaled = first.sessions.map((one) => ({
      ...one,
      bytes: one.fileBytes + Math.round(freed(one) * scale),
    }))
    return plan(policy, scaled, usage, now)
  }
  const optimistic = planOf((one) => one.rowBytes)
  return isMost(first, optimistic.steps) ? optimistic : planOf((one) => one.rowBytes - one.scatteredBytes)
}

function* pinningOnlyCopies(sessions: Iterable<HeldSession>): Generator<HeldSession> {
  for (const one of sessions) yield one.isSoleCopy ? { ...one, isPinned: true } : one
}

/** Pages that sessions share are given back when more than half of what stands in them goes. */
function isMost({ sessions, scatteredBytes }: Candidates, steps: readonly Step[]): boolean {
  const going = new Set(steps.map((step) => step.uid))
  const goingBytes = sessions.reduce((sum, one) => sum + (going.has(one.uid) ? one.scatteredBytes : 0), 0)
  return 2 * goingBytes > scatteredBytes
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
export function usageToCome(archive: Archive, paths: StorePaths): Measured {
  const now = usageOf(paths)
  const then = archive.bytesOnceErased()
  return { ...now, rawBytes: now.rawBytes - now.databaseBytes + then, databaseBytes: then }
}
