// Sessions by what they cost. Apart from the other orders, because prices are much to load. The dearest are found by the
// store's own sums, and only they are priced to the last decimal.
import type { Session } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { DearestQuestion } from '../store/reader/usage.ts'
import type { PriceBook } from '../usage/prices.ts'
import { classRates } from './class-rates.ts'
import { meant } from './meant.ts'
import type { ListOptions } from './sessions.ts'
import { TimeZone } from './timezone.ts'
import { type UsageQuestion, type UsageReport, usageReport } from './usage.ts'

/** Dearest first, each with its `cost.usd`; those without a known price last. */
export function listByCost(
  handle: Reader,
  prices: PriceBook,
  { sort: _, limit, ...typed }: ListOptions = {},
): Session[] {
  const filter = meant(handle, typed)
  const dearest = limit === undefined ? undefined : dearestUids(handle, prices, limit, { are: filter })
  const { rows } = usageReport(handle, {
    group: 'session',
    zone: new TimeZone('UTC'),
    prices,
    ...(dearest ? { sessions: dearest } : {}),
  })
  const costs = new Map(rows.map((row, place) => [row.key ?? '', { place, usd: row.cost_usd }]))
  const place = (uid: string): number => costs.get(uid)?.place ?? Number.MAX_SAFE_INTEGER
  // Sessions that used nothing are asked for only where there is room for them.
  const uids = dearest && dearest.length === limit ? dearest : handle.sessions.uids(filter)
  const sorted = uids.toSorted((a, b) => place(a) - place(b))
  return handle.sessions.of(sorted.slice(0, limit)).map((session) => ({
    ...session,
    cost: { ...session.cost, usd: costs.get(session.session_uid)?.usd ?? null },
  }))
}

/** Of those that used anything; `used` is asked of their usage, `are` of the sessions. */
function dearestUids(
  handle: Reader,
  prices: PriceBook,
  limit: number,
  which: Pick<DearestQuestion, 'used' | 'are'>,
): string[] {
  const models = handle.usage.models()
  return handle.usage.dearest({
    prices: prices.changes(models),
    rates: classRates(prices, models),
    limit,
    ...which,
  })
}

/** The report by session with the dearest ones alone; total and models are those of all. */
export function dearestSessions(handle: Reader, typed: UsageQuestion, limit: number): UsageReport {
  const question = meant(handle, typed)
  const { group: _, zone: __, prices, ...filter } = question
  const all = usageReport(handle, { ...question, group: 'model' })
  const uids = dearestUids(handle, prices, limit, { used: filter })
  const { rows } = usageReport(handle, { ...question, group: 'session', sessions: uids })
  return { ...all, group: 'session', rows }
}
