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

interface Span {
  sinceAt: number
  untilAt: number
}

export async function retro(serving: Serving, caller: Caller, query: URLSearchParams): Promise<RetroAnswer> {
  const [since, until, before] = ['since', 'until', 'before'].map((name) => timeIn(query, name)) as [
    number,
    number,
    number,
  ]
  if (!(before < since && since < until)) throw bad('the span', 'before < since < until')
  const zone = new TimeZone(textIn(query, 'zone') ?? 'UTC')
  const { team, role } = caller
  const [now, then] = [
    { sinceAt: since, untilAt: until },
    { sinceAt: before, untilAt: since },
  ]
  await settle(serving.fleet, team)
  const parts = async (by: 'flavor' | 'repo' | 'model'): Promise<RetroAnswer['days']> =>
    (await settledUsage(serving, team, by, zone, now)).rows.map(spentOf)
  const days = await settledUsage(serving, team, 'day', zone, now)
  const [current, earlier] = [
    await totalsOf(serving, team, days, now),
    await totalsOf(serving, team, await settledUsage(serving, team, 'team', zone, then), then),
  ]
  const failures = await findPatterns(serving.fleet, { team, ...now, limit: SHOWN })
  const largest =
    role === 'viewer'
      ? []
      : await findSessions(serving.fleet, { team, ...now, order: 'tokens', limit: SHOWN })
  const iso = (at: number): string => new Date(at).toISOString()
  return {
    timezone: zone.name,
    since: iso(since),
    until: iso(until),
    before: iso(before),
    prices: current.prices,
    totals: current.totals,
    previous_totals: earlier.totals,
    outcomes: current.outcomes,
    days: days.rows.map(spentOf),
    flavors: await parts('flavor'),
    repos: await parts('repo'),
    models: await parts('model'),
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
async function totalsOf(
  serving: Serving,
  team: string,
  { total, prices }: Awaited<ReturnType<typeof settledUsage>>,
  span: Span,
): Promise<Pick<RetroAnswer, 'totals' | 'outcomes' | 'prices'>> {
  const ended = await countSpan(serving.fleet, { team, ...span })
  if (!ended || !total) return { totals: null, outcomes: [], prices }
  const { total_tokens, cost_usd, unpriced_responses } = total
  const totals = { ...ended.counts, total_tokens, cost_usd, unpriced_responses }
  return { totals, outcomes: ended.outcomes, prices }
}
