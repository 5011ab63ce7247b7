// What has to be told apart because its price differs: the time between two changes of prices, the quarter of an hour of
// models that are cheaper by night, the size of the prompt. As SQL over `u`, a row of the summed ledger; what does not
// differ is not told apart, since each distinction makes a question dearer.
import { DAY } from '../model.ts'
import { PROMPT_STEPS, SLOT_MS } from '../store/slots.ts'
import type { PriceBook, PriceChanges } from '../usage/prices.ts'

const QUARTERS = 96

export interface PriceClasses {
  /** What has no time has a period of its own: it is priced as of now. */
  period: string
  quarter: string
  over: string
  /** For the parameters of `quarter`, then of `over`. */
  named: string[]
}

export function priceClasses({ startsAt, byTimeOfDay, byPrompt }: PriceChanges): PriceClasses {
  return {
    period: startsAt.length === 0 ? '0' : stepwise(startsAt.map((at, i) => [at / SLOT_MS, i + 1])),
    quarter: onlyFor(byTimeOfDay, `u.slot % ${QUARTERS}`),
    over: onlyFor(byPrompt, 'u.prompt_over'),
    named: [...byTimeOfDay, ...byPrompt],
  }
}

/** The value of the last step a slot has reached; 0 before the first, -1 for what has no time. */
export function stepwise(steps: [fromSlot: number, value: number][]): string {
  const cases = steps.toReversed().map(([from, value]) => `WHEN u.slot >= ${from} THEN ${value}`)
  return `CASE WHEN u.slot < 0 THEN -1 ${cases.join(' ')} ELSE 0 END`
}

/** Keeps apart only what has different prices; one parameter for each model. */
function onlyFor(models: readonly string[], expression: string): string {
  if (models.length === 0) return '0'
  return `CASE WHEN u.model IN (${models.map(() => '?').join(', ')}) THEN ${expression} ELSE 0 END`
}

/** USD per token: input, cache reads, both cache writes, output, reasoning. */
type Row = [model: string, period: number, quarter: number, over: number, ...rates: number[]]

/** What each class of these models costs, for sums in SQL: good to order by, not to be told. */
export function classRates(prices: PriceBook, models: readonly string[], now = Date.now()): Row[] {
  const { startsAt, byTimeOfDay, byPrompt } = prices.changes(models)
  const periods: [number, number][] = [
    [0, (startsAt[0] ?? now) - DAY],
    ...startsAt.map((at, i): [number, number] => [i + 1, at]),
    [-1, now],
  ]
  const rows: Row[] = []
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
