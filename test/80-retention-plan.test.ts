// The retention plan as properties over generated stores: what may go, in which order, how much, and what is reported.

import { describe, expect, it } from 'vitest'
import { Config } from '../src/config.ts'
import { candidates } from '../src/retention/candidates.ts'
import { type Plan, type Policy, plan, type RawSession, type Usage } from '../src/retention/plan.ts'
import { policyOf } from '../src/retention/policy.ts'
import { amountOf } from './setup/long.ts'
import fc from './setup/properties.ts'

const DAY = 86_400_000
const NOW = Date.parse('2026-11-15T12:00:00Z')
const RUNS = { numRuns: amountOf('PLANS', 2_000, 10_000) }
const POLICY: Policy = {
  rawSoftCapBytes: 1000,
  rawHardCapBytes: 2000,
  rawMaxAgeDays: 45,
  distilledCapBytes: 0,
  soleCopies: 'keep',
}

interface Case {
  policy: Policy
  sessions: RawSession[]
  usage: Usage
}

const session = fc.record({
  bytes: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 400 })),
  ingestedAt: fc.integer({ min: NOW - 100 * DAY, max: NOW }),
  lastAt: fc.option(fc.integer({ min: NOW - 400 * DAY, max: NOW })),
  // Few values, so that ties are common.
  analyzedAt: fc.option(fc.integer({ min: 0, max: 6 }).map((step) => NOW - step * DAY)),
  isPinned: fc.boolean(),
  isSoleCopy: fc.boolean(),
  isAnalysisTried: fc.boolean(),
})

const cases: fc.Arbitrary<Case> = fc
  .record({
    drafts: fc.array(session, { maxLength: 25 }),
    soft: fc.integer({ min: 0, max: 3000 }),
    above: fc.integer({ min: 0, max: 2000 }),
    rawMaxAgeDays: fc.integer({ min: 0, max: 90 }),
    distilledCapBytes: fc.integer({ min: 0, max: 100 }),
    // What no session accounts for: tables, cursors, the ballast.
    overhead: fc.integer({ min: 0, max: 500 }),
    distilledBytes: fc.integer({ min: 0, max: 200 }),
    soleCopies: fc.constantFrom('keep' as const, 'age' as const),
  })
  .map(({ drafts, soft, above, overhead, distilledBytes, ...policy }) => ({
    policy: { rawSoftCapBytes: soft, rawHardCapBytes: soft + above, ...policy },
    sessions: drafts.map((draft, at) => ({ uid: `f:${(at * 7919) % 101}-${at}`, ...draft })),
    usage: { rawBytes: overhead + drafts.reduce((sum, one) => sum + one.bytes, 0), distilledBytes },
  }))

const planOf = ({ policy, sessions, usage }: Case): Plan => plan(policy, sessions, usage, NOW)
const byUid = ({ sessions }: Case): Map<string, RawSession> => new Map(sessions.map((one) => [one.uid, one]))
/** By its last event, once its raw has lain for a week. */
const isAged = (one: RawSession, { rawMaxAgeDays }: Policy): boolean =>
  NOW - (one.lastAt ?? one.ingestedAt) > rawMaxAgeDays * DAY &&
  NOW - one.ingestedAt > Math.min(7, rawMaxAgeDays) * DAY

/** What a store looks like once the plan is carried out. */
function carriedOut(input: Case, done: Plan): Case {
  const gone = new Set(done.steps.map((step) => step.uid))
  return {
    ...input,
    sessions: input.sessions.filter((one) => !gone.has(one.uid)),
    usage: { ...input.usage, rawBytes: done.usageAfterBytes },
  }
}

describe('a plan', () => {
  it('drops nothing un-analyzed, except over the hard cap, after analysis was tried, and says so', () => {
    fc.assert(
      fc.property(cases, (input) => {
        const { steps, analyzeNow } = planOf(input)
        const known = byUid(input)
        let usage = input.usage.rawBytes
        for (const step of steps) {
          const one = known.get(step.uid) as RawSession
          if (one.analyzedAt === null) {
            expect(step.reason).toBe('hard_cap')
            expect(usage).toBeGreaterThan(input.policy.rawHardCapBytes)
            expect(analyzeNow.filter((uid) => !known.get(uid)?.isSoleCopy || one.isSoleCopy)).toEqual([])
            expect(
              input.sessions.every(
                (s) =>
                  s.isPinned ||
                  s.analyzedAt !== null ||
                  s.isAnalysisTried ||
                  s.bytes === 0 ||
                  (s.isSoleCopy && !one.isSoleCopy),
              ),
            ).toBe(true)
          } else expect(step.reason).not.toBe('hard_cap')
          usage -= one.bytes
        }
      }),
      RUNS,
    )
  })

  it('never drops a pinned session, nor one twice, nor one it was not given', () => {
    fc.assert(
      fc.property(cases, (input) => {
        const uids = planOf(input).steps.map((step) => step.uid)
        const known = byUid(input)
        expect(new Set(uids).size).toBe(uids.length)
        expect(uids.every((uid) => known.get(uid)?.isPinned === false)).toBe(true)
        expect(planOf(input).analyzeNow.every((uid) => known.get(uid)?.isPinned === false)).toBe(true)
      }),
      RUNS,
    )
  })

  it('drops all that is analyzed and aged, then the longest analyzed first, then the oldest', () => {
    fc.assert(
      fc.property(cases, (input) => {
        const { steps } = planOf(input)
        const known = byUid(input)
        const of = (reason: string, isSoleCopy: boolean): RawSession[] =>
          steps
            .map((step) => ({ ...step, ...(known.get(step.uid) as RawSession) }))
            .filter((step) => step.reason === reason && step.isSoleCopy === isSoleCopy)
        const aged = input.sessions.filter(
          (one) =>
            !one.isPinned &&
            one.analyzedAt !== null &&
            isAged(one, input.policy) &&
            (!one.isSoleCopy || input.policy.soleCopies === 'age'),
        )
        const goneByAge = [...of('age', false), ...of('age', true)].map((one) => one.uid)
        expect(new Set(goneByAge)).toEqual(new Set(aged.map((one) => one.uid)))
        const order = ['age', 'again soft_cap', 'again hard_cap', 'sole soft_cap', 'sole hard_cap']
        const passes = steps.map(({ reason, isSoleCopy }) =>
          order.indexOf(reason === 'age' ? reason : `${isSoleCopy ? 'sole' : 'again'} ${reason}`),
        )
        expect(passes).toEqual([...passes].sort())
        for (const isSoleCopy of [false, true]) {
          const budget = of('soft_cap', isSoleCopy).map((one) => one.analyzedAt as number)
          expect(budget).toEqual([...budget].sort((a, b) => a - b))
          const stay = input.sessions.filter(
            (one) =>
              one.isSoleCopy === isSoleCopy &&
              !one.isPinned &&
              one.analyzedAt !== null &&
              one.bytes > 0 &&
              !steps.some((step) => step.uid === one.uid),
          )
          for (const one of stay) expect(one.analyzedAt as number).toBeGreaterThanOrEqual(budget.at(-1) ?? 0)
          const lost = of('hard_cap', isSoleCopy).map((one) => one.lastAt ?? one.ingestedAt)
          expect(lost).toEqual([...lost].sort((a, b) => a - b))
        }
      }),
      RUNS,
    )
  })

  it('drops an only copy by age only when told to, and for room only when nothing else is left', () => {
    let forRoom = 0
    fc.assert(
      fc.property(cases, (input) => {
        const { steps } = planOf(input)
        const known = byUid(input)
        for (const [at, step] of steps.entries()) {
          expect(step.isSoleCopy).toBe(known.get(step.uid)?.isSoleCopy)
          if (!step.isSoleCopy) continue
          if (step.reason === 'age') {
            expect(input.policy.soleCopies).toBe('age')
            // And behind all that can be read again.
            expect(steps.slice(at).filter((one) => one.reason === 'age' && !one.isSoleCopy)).toEqual([])
            continue
          }
          forRoom++
          const gone = new Set(steps.slice(0, at).map((one) => one.uid))
          const left = input.sessions.filter(
            (one) => !one.isSoleCopy && !one.isPinned && one.bytes > 0 && !gone.has(one.uid),
          )
          expect(left).toEqual([])
        }
      }),
      RUNS,
    )
    expect(forRoom).toBeGreaterThan(100)
  })

  it('of 36 that can be read again and 5 only copies drops none of the five while one of the others is left', () => {
    const sessions: RawSession[] = Array.from({ length: 41 }, (_, at) => ({
      uid: `f:${at}`,
      bytes: 10,
      ingestedAt: NOW - 60 * DAY,
      // The only copies are the oldest, and were analyzed first.
      lastAt: NOW - (at < 5 ? 90 : 10) * DAY,
      analyzedAt: NOW - 50 * DAY + at,
      isPinned: false,
      isSoleCopy: at < 5,
      isAnalysisTried: false,
    }))
    const gone = (rawSoftCapBytes: number, soleCopies: Policy['soleCopies'] = 'keep'): string[] => {
      const policy = { ...POLICY, rawSoftCapBytes, rawHardCapBytes: 10_000, rawMaxAgeDays: 45, soleCopies }
      return plan(policy, sessions, { rawBytes: 410, distilledBytes: 0 }, NOW).steps.map((step) => step.uid)
    }
    const sole = ['f:0', 'f:1', 'f:2', 'f:3', 'f:4']
    expect(gone(410)).toEqual([])
    expect(gone(410, 'age')).toEqual(sole)
    expect(gone(360)).toEqual(['f:5', 'f:6', 'f:7', 'f:8', 'f:9'])
    expect(gone(50).filter((uid) => sole.includes(uid))).toEqual([])
    expect(gone(49).at(-1)).toBe('f:0')
  })

  it('counts the age from the last event, and lets lie for a week what came in', () => {
    const one = { uid: 'a', bytes: 1, isPinned: false, isSoleCopy: false, isAnalysisTried: true }
    const goes = (lastDays: number | null, ingestedDays: number, rawMaxAgeDays = 45): boolean => {
      const lastAt = lastDays === null ? null : NOW - lastDays * DAY
      const made = { ...one, lastAt, ingestedAt: NOW - ingestedDays * DAY, analyzedAt: NOW }
      const usage = { rawBytes: 1, distilledBytes: 0 }
      return plan({ ...POLICY, rawMaxAgeDays }, [made], usage, NOW).steps.length === 1
    }
    // Read again ten days ago, because the file was touched: it is as old as it was.
    expect([goes(60, 10), goes(44, 10), goes(60, 6), goes(400, 8)]).toEqual([true, false, false, true])
    expect([goes(null, 46), goes(null, 45)]).toEqual([true, false])
    expect([goes(3, 3, 2), goes(3, 1, 2), goes(3, 2, Number.POSITIVE_INFINITY)]).toEqual([true, false, false])
  })

  it('is minimal: each step of a cap was taken above that cap, and it stops only at the cap or with nothing left', () => {
    fc.assert(
      fc.property(cases, (input) => {
        const done = planOf(input)
        const { policy } = input
        let usage = input.usage.rawBytes
        for (const step of done.steps) {
          if (step.reason === 'soft_cap') expect(usage).toBeGreaterThan(policy.rawSoftCapBytes)
          if (step.reason === 'hard_cap') expect(usage).toBeGreaterThan(policy.rawHardCapBytes)
          if (step.reason !== 'age') expect(step.bytes).toBeGreaterThan(0)
          usage -= step.bytes
          expect(step.usageAfterBytes).toBe(usage)
        }
        expect(done.usageAfterBytes).toBe(usage)
        const gone = new Set(done.steps.map((step) => step.uid))
        const rest = input.sessions.filter((one) => !gone.has(one.uid) && !one.isPinned && one.bytes > 0)
        const again = rest.filter((one) => !one.isSoleCopy)
        if (usage > policy.rawSoftCapBytes) {
          expect(again.filter((one) => one.analyzedAt !== null)).toEqual([])
          if (again.length === 0) expect(rest.filter((one) => one.analyzedAt !== null)).toEqual([])
        }
        if (usage > policy.rawHardCapBytes && done.analyzeNow.length === 0) expect(rest).toEqual([])
        expect(done.overSoftCapBytes).toBe(Math.max(0, usage - policy.rawSoftCapBytes))
        expect(done.overHardCapBytes).toBe(Math.max(0, usage - policy.rawHardCapBytes))
      }),
      RUNS,
    )
  })

  it('asks for analysis exactly when the hard cap is passed and something untried could help', () => {
    fc.assert(
      fc.property(cases, (input) => {
        const done = planOf(input)
        const untried = input.sessions.filter(
          (one) => !one.isPinned && one.analyzedAt === null && !one.isAnalysisTried && one.bytes > 0,
        )
        const known = byUid(input)
        expect(done.analyzeNow.length > 0).toBe(done.overHardCapBytes > 0 && untried.length > 0)
        const bytes = done.analyzeNow.map((uid) => known.get(uid)?.bytes as number)
        const needed = done.usageAfterBytes - input.policy.rawSoftCapBytes
        expect(bytes.slice(0, -1).reduce((sum, one) => sum + one, 0)).toBeLessThan(Math.max(1, needed))
      }),
      RUNS,
    )
  })

  it('is the same whatever the order of its input, and empty once carried out', () => {
    fc.assert(
      fc.property(cases, fc.integer(), (input, seed) => {
        const done = planOf(input)
        const shuffled = [...input.sessions].sort(
          (a, b) => ((a.bytes * 31 + seed) % 7) - ((b.bytes * 31 + seed) % 7),
        )
        expect(planOf({ ...input, sessions: shuffled })).toEqual(done)
        expect(planOf(carriedOut(input, done)).steps).toEqual([])
      }),
      RUNS,
    )
  })

  it('carried out again and again, with analysis that may fail, ends, and only fails to meet the cap for pins', () => {
    fc.assert(
      fc.property(cases, fc.func(fc.boolean()), (input, canAnalyze) => {
        let state: Case = {
          ...input,
          sessions: input.sessions.map((one) => ({ ...one, isAnalysisTried: false })),
        }
        const lost = new Set<string>()
        for (let round = 0; ; round++) {
          expect(round).toBeLessThanOrEqual(2 * input.sessions.length + 1)
          const next = planOf(state)
          for (const step of next.steps) if (step.reason === 'hard_cap') lost.add(step.uid)
          if (next.steps.length === 0 && next.analyzeNow.length === 0) break
          state = carriedOut(state, next)
          const asked = new Set(next.analyzeNow)
          state.sessions = state.sessions.map((one) =>
            asked.has(one.uid)
              ? { ...one, isAnalysisTried: true, analyzedAt: canAnalyze(one.uid) ? NOW : null }
              : one,
          )
        }
        const rest = state.sessions.filter((one) => !one.isPinned && one.bytes > 0)
        if (state.usage.rawBytes > input.policy.rawHardCapBytes) expect(rest).toEqual([])
        // What was lost is exactly what is gone and never had a digest.
        const left = new Set(state.sessions.map((one) => one.uid))
        const undigested = input.sessions.filter(
          (one) => !left.has(one.uid) && one.analyzedAt === null && !canAnalyze(one.uid),
        )
        expect(lost).toEqual(new Set(undigested.map((one) => one.uid)))
      }),
      RUNS,
    )
  })

  it('leaves a cache alone that is exactly as large as it may be', () => {
    const policy = { ...POLICY, rawSoftCapBytes: 10, rawHardCapBytes: 20 }
    const one = {
      uid: 'a',
      ingestedAt: NOW,
      lastAt: NOW,
      isPinned: false,
      isSoleCopy: false,
      isAnalysisTried: true,
    }
    const steps = (bytes: number, analyzedAt: number | null): number =>
      plan(policy, [{ ...one, bytes, analyzedAt }], { rawBytes: bytes, distilledBytes: 0 }, NOW).steps.length
    expect([steps(10, NOW), steps(11, NOW), steps(20, null), steps(21, null)]).toEqual([0, 1, 0, 1])
    const aged = { ...one, bytes: 1, analyzedAt: NOW, lastAt: NOW - 45 * DAY, ingestedAt: NOW - 45 * DAY }
    const usage = { rawBytes: 1, distilledBytes: 0 }
    expect(plan(policy, [aged], usage, NOW).steps).toEqual([])
    expect(plan(policy, [aged], usage, NOW + 1).steps).toMatchObject([{ reason: 'age' }])
  })

  it('tells of Tier 2 above its cap and drops nothing for it', () => {
    const policy = { ...POLICY, rawSoftCapBytes: 10, rawHardCapBytes: 10, distilledCapBytes: 100 }
    const done = plan(policy, [], { rawBytes: 0, distilledBytes: 130 }, NOW)
    expect(done).toMatchObject({ steps: [], analyzeNow: [], overDistilledCapBytes: 30 })
  })
})

describe('the policy', () => {
  const flags = (soft: string, hard: string): Config =>
    new Config({
      env: { RECOLLECT_HOME: '/nowhere' },
      flags: {
        'session_memory.retention.raw_soft_cap_bytes': soft,
        'session_memory.retention.raw_hard_cap_bytes': hard,
      },
    })

  it('has the defaults of the design', () => {
    expect(policyOf(new Config({ env: { RECOLLECT_HOME: '/nowhere' } }))).toEqual({
      rawSoftCapBytes: 4 * 1024 ** 3,
      rawHardCapBytes: 6 * 1024 ** 3,
      rawMaxAgeDays: 45,
      distilledCapBytes: 1024 ** 3,
      soleCopies: 'keep',
      cadence: 'daily',
    })
  })

  it('refuses a soft cap above the hard one, and days or cadences that are none', () => {
    expect(policyOf(flags('1MiB', '1MiB')).rawSoftCapBytes).toBe(1 << 20)
    expect(() => policyOf(flags('2MiB', '1MiB'))).toThrow(
      expect.objectContaining({
        code: 'BAD_CONFIG',
        message: expect.stringContaining('must not be greater'),
      }),
    )
    const one = (key: 'raw_max_age_days' | 'cadence', value: string): Config =>
      new Config({
        env: { RECOLLECT_HOME: '/nowhere' },
        flags: { [`session_memory.retention.${key}`]: value },
      })
    expect(() => one('raw_max_age_days', '-1')).toThrow(/a whole number from 0 on/)
    expect(() => one('cadence', 'hourly')).toThrow(/one of daily, weekly, on-hook/)
  })
})

describe('of very many sessions', () => {
  /** The plan over the first so many of each pass. */
  const planOfFirst = ({ policy, sessions, usage }: Case, limit: number): Plan => {
    const held = sessions.map((one) => ({ ...one, fileBytes: one.bytes, rowBytes: 0, scatteredBytes: 0 }))
    return plan(policy, candidates(held, policy, NOW, limit).sessions, usage, NOW)
  }

  it('a plan over the first of each pass is the beginning of the plan over all, until nothing is left to do', () => {
    let cutCount = 0
    fc.assert(
      fc.property(cases, fc.integer({ min: 1, max: 6 }), (input, limit) => {
        const whole = planOf(input)
        const done: Plan['steps'] = []
        let now = input
        for (let next = planOfFirst(now, limit); ; next = planOfFirst(now, limit)) {
          expect(next.steps).toEqual(whole.steps.slice(done.length, done.length + next.steps.length))
          done.push(...next.steps)
          if (next.analyzeNow.length > 0) {
            expect(whole.analyzeNow).toEqual(expect.arrayContaining(next.analyzeNow))
            return
          }
          if (next.steps.length === 0) break
          if (done.length < whole.steps.length) cutCount++
          now = carriedOut(now, next)
        }
        expect(done).toEqual(whole.steps)
        expect(whole.analyzeNow).toEqual([])
      }),
      RUNS,
    )
    expect(cutCount).toBeGreaterThan(100)
  })
})
