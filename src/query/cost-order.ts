// Sessions by what they cost. Apart from the other orders, because prices are much to load. The dearest are found by sums
// in SQL, and only they are priced to the last decimal.
import type { Session } from '../model.ts'
import { slotsTable } from '../store/slots.ts'
import type { ReadHandle } from '../store/store.ts'
import type { PriceBook } from '../usage/prices.ts'
import { type Conditions, sessionConditions } from './filters.ts'
import { modelsIn } from './models.ts'
import { classRates, priceClasses } from './price-classes.ts'
import { type ListOptions, listUids, sessionsOf } from './sessions.ts'
import { TimeZone } from './timezone.ts'
import { type UsageQuestion, type UsageReport, usageConditions, usageReport } from './usage.ts'

type Memory = Pick<ReadHandle, 'memory'>

/** Dearest first, each with its `cost.usd`; those without a known price last. */
export function listByCost(
  handle: Memory,
  prices: PriceBook,
  { sort: _, limit, ...filter }: ListOptions = {},
): Session[] {
  const dearest =
    limit === undefined ? undefined : dearestUids(handle, prices, { are: sessionConditions(filter) }, limit)
  const { rows } = usageReport(handle, {
    group: 'session',
    zone: new TimeZone('UTC'),
    prices,
    ...(dearest ? { sessions: dearest } : {}),
  })
  const costs = new Map(rows.map((row, place) => [row.key ?? '', { place, usd: row.cost_usd }]))
  const place = (uid: string): number => costs.get(uid)?.place ?? Number.MAX_SAFE_INTEGER
  // Sessions that used nothing are asked for only where there is room for them.
  const uids = dearest && dearest.length === limit ? dearest : listUids(handle, filter)
  const sorted = uids.toSorted((a, b) => place(a) - place(b))
  return sessionsOf(handle, sorted.slice(0, limit)).map((session) => ({
    ...session,
    cost: { ...session.cost, usd: costs.get(session.session_uid)?.usd ?? null },
  }))
}

/** Rounded far below a cent, so that the same cost is the same sum however it was added up. */
const COST = `round(sum(u.input * r.input + u.cache_read * r.cache_read + u.cache_write_5m * r.cache_write_5m
  + u.cache_write_1h * r.cache_write_1h + max(u.output - u.reasoning, 0) * r.output
  + min(u.reasoning, u.output) * r.reasoning), 10)`
const RATES = 'model period quarter over input cache_read cache_write_5m cache_write_1h output reasoning'
  .split(' ')
  .map((name, at) => `value ->> ${at} AS ${name}`)

/** Of those that used anything; `used` is asked of their slots (`u`), `are` of the sessions (`s`). */
function dearestUids(
  handle: Memory,
  prices: PriceBook,
  { used = NO_CONDITIONS, are = NO_CONDITIONS }: { used?: Conditions; are?: Conditions },
  limit: number,
): string[] {
  const models = modelsIn(handle)
  const { period, quarter, over, named } = priceClasses(prices.changes(models))
  const rows = handle.memory
    .prepare(
      `WITH rates AS MATERIALIZED (SELECT ${RATES.join(', ')} FROM json_each(?)),
       costs AS MATERIALIZED (SELECT u.session_uid, ${COST} AS cost,
           sum(u.input + u.cache_read + u.cache_write_5m + u.cache_write_1h + u.output) AS tokens
         FROM ${slotsTable(handle.memory)} u ${/\bs\./.test(used.where) ? 'JOIN sessions s USING (session_uid)' : ''}
         LEFT JOIN rates r
           ON r.model = u.model AND r.period = ${period} AND r.quarter = ${quarter} AND r.over = ${over}
         WHERE ${used.where} GROUP BY u.session_uid)
       SELECT s.session_uid AS uid FROM costs c CROSS JOIN sessions s ON s.session_uid = c.session_uid
       WHERE ${are.where} ORDER BY c.cost DESC NULLS LAST, c.tokens DESC, s.session_uid LIMIT ?`,
    )
    .all(JSON.stringify(classRates(prices, models)), ...named, ...used.values, ...are.values, limit)
  return (rows as unknown as { uid: string }[]).map((row) => row.uid)
}

const NO_CONDITIONS: Conditions = { where: '1', values: [] }

/** The report by session with the dearest ones alone; total and models are those of all. */
export function dearestSessions(handle: Memory, question: UsageQuestion, limit: number): UsageReport {
  const all = usageReport(handle, { ...question, group: 'model' })
  const uids = dearestUids(handle, question.prices, { used: usageConditions(question) }, limit)
  const { rows } = usageReport(handle, { ...question, group: 'session', sessions: uids })
  return { ...all, group: 'session', rows }
}
