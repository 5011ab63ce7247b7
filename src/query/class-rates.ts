// What each class of prices (`store/reader/price-classes.ts`) costs, for sums that the store makes: good to order by, not
// to be told.
import { DAY } from '../model.ts'
import { QUARTERS } from '../store/reader/price-classes.ts'
import type { ClassRates } from '../store/reader/usage.ts'
import { PROMPT_STEPS, SLOT_MS } from '../store/slots.ts'
import type { PriceBook } from '../usage/prices.ts'

export function classRates(prices: PriceBook, models: readonly string[], now = Date.now()): ClassRates[] {
  const { startsAt, byTimeOfDay, byPrompt } = prices.changes(models)
  const periods: [number, number][] = [
    [0, (startsAt[0] ?? now) - DAY],
    ...startsAt.map((at, i): [number, number] => [i + 1, at]),
    [-1, now],
  ]
  const rows: ClassRates[] = []
  for (const model of models)
    for (const [period, at] of periods)
      for (const [quarter, then] of byTimeOfDay.includes(model) ? quartersOf(period, at) : [[0, at] as const])
        for (const over of byPrompt.includes(model) ? [0, ...PROMPT_STEPS] : [0]) {
          const rates = prices.rates(model, then, over)
          if (!rates) continue
          const { input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning } = rates
          const usd = [input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning].map(
            (rate) => Number(rate) / 1e18,
          )
          rows.push([model, period, quarter, over, ...usd])
        }
  return rows
}

/**
 * Each quarter of an hour, with the next time it is. −1 is what the remainder of a slot without a time is; its period is 0
 * where prices never changed, and then begins at the time of day it is now.
 */
function quartersOf(period: number, at: number): [quarter: number, at: number][] {
  const without: [number, number] = [-1, at]
  if (period === -1) return [without]
  const next = (quarter: number): number => at + ((((quarter * SLOT_MS - at) % DAY) + DAY) % DAY)
  const all = Array.from({ length: QUARTERS }, (_, i): [number, number] => [i, next(i)])
  return period === 0 ? [without, ...all] : all
}
