// What has to be told apart because its price differs: the time between two changes of prices, the quarter of an hour of
// models that are cheaper by night, the size of the prompt. As SQL over `u`, a row of the summed ledger; what does not
// differ is not told apart, since each distinction makes a question dearer.
import { SLOT_MS } from '../slots.ts'

export const QUARTERS = 96

/** When the prices of some models change. */
export interface PriceSteps {
  /** Epoch milliseconds, ascending: between two of these nothing changes. */
  startsAt: readonly number[]
  /** Models whose price depends on the time of day (UTC) as well… */
  byTimeOfDay: readonly string[]
  /** …or on the size of the prompt. */
  byPrompt: readonly string[]
}

interface PriceClasses {
  /** What has no time has a period of its own: it is priced as of now. */
  period: string
  quarter: string
  over: string
  /** For the parameters of `quarter`, then of `over`. */
  named: string[]
}

export function priceClasses({ startsAt, byTimeOfDay, byPrompt }: PriceSteps): PriceClasses {
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
