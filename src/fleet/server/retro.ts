// The account of a team's days: figures of five people or more, and for leads what they rest on. What only digests tell (active
// time, files, tests) is left out: a team whose machines push figures alone would read it as nothing done.
import type { RetroAnswer } from '../../contract.ts'
import { TimeZone } from '../../query/timezone.ts'
import type { UsageReport } from '../../query/usage.ts'
import type { Caller } from '../../store/postgres/access.ts'
import { countSpan, findSessions } from '../../store/postgres/questions.ts'
import { findPatterns } from '../../store/postgres/recurring.ts'
import { settle } from '../../store/postgres/settle.ts'
import { bad, numberIn, type Serving, settledUsage, textIn, wordless } from './answers.ts'

const SHOWN = 10

export function retro(serving: Serving, caller: Caller, query: URLSearchParams): Promise<RetroAnswer> {
  const [since, until, earlier] = ['since', 'until', 'before'].map((name) => timeIn(query, name)) as [
    number,
    number,
    number,
  ]
  if (!(earlier < since && since < until)) throw bad('the span', 'before < since < until')
  const zone = new TimeZone(textIn(query, 'zone') ?? 'UTC')
  return retroOf(serving, caller, zone, { since, until, before: earlier })
}

export async function retroOf(
  serving: Serving,
  { team, role }: Caller,
  zone: TimeZone,
  { since, until, before }: { since: number; until: number; before: number },
): Promise<RetroAnswer> {
  const [now, then] = [
    { sinceAt: since, untilAt: until },
    { sinceAt: before, untilAt: since },
  ]
  await settle(serving.fleet, team)
  const parts = (by: 'day' | 'flavor' | 'repo' | 'model'): ReturnType<typeof settledUsage> =>
    settledUsage(serving, team, by, zone, now)
  // Beside each other: each reads rows of its own.
  const [days, flavors, repos, models, whole, ended, endedBefore, failures, largest] = await Promise.all([
    parts('day'),
    parts('flavor'),
    parts('repo'),
    parts('model'),
    settledUsage(serving, team, 'team', zone, then),
    countSpan(serving.fleet, { team, ...now }),
    countSpan(serving.fleet, { team, ...then }),
    findPatterns(serving.fleet, { team, ...now, limit: SHOWN }),
    role === 'viewer' ? [] : findSessions(serving.fleet, { team, ...now, order: 'tokens', limit: SHOWN }),
  ])
  const [current, earlier] = [totalsOf(days, ended), totalsOf(whole, endedBefore)]
  const iso = (at: number): string => new Date(at).toISOString()
  return {
    timezone: zone.name,
    since: iso(since),
    until: iso(until),
    before: iso(before),
    prices: days.prices,
    totals: current.totals,
    previous_totals: earlier.totals,
    outcomes: current.outcomes,
    days: days.rows.map(spentOf),
    flavors: flavors.rows.map(spentOf),
    repos: repos.rows.map(spentOf),
    models: models.rows.map(spentOf),
    failures: failures.map((one) => wordless(one, role)),
    largest: largest.slice(0, SHOWN),
  }
}

function timeIn(query: URLSearchParams, name: string): number {
  const at = numberIn(query, name)
  if (at === undefined) throw bad(name, 'epoch milliseconds')
  return at
}

const spentOf = ({
  key,
  total_tokens,
  cost_usd,
}: UsageReport['rows'][number]): RetroAnswer['days'][number] => ({
  key,
  total_tokens,
  cost_usd,
})

/** Tokens and sessions of a span may be of different people: both have to be of enough. */
function totalsOf(
  { total }: Awaited<ReturnType<typeof settledUsage>>,
  ended: Awaited<ReturnType<typeof countSpan>>,
): Pick<RetroAnswer, 'totals' | 'outcomes'> {
  if (!ended || !total) return { totals: null, outcomes: [] }
  const { total_tokens, cost_usd, unpriced_responses } = total
  return { totals: { ...ended.counts, total_tokens, cost_usd, unpriced_responses }, outcomes: ended.outcomes }
}
