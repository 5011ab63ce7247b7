// Figures of a retrospective as people read them.
import { knownUsd, shortUsd, unitsOf } from '../usage/money.ts'

export { formatCount as tokens, grouped as count } from '../figures.ts'

export const money = (usd: string | null): string => (usd === null ? '?' : shortUsd(unitsOf(usd)))

/** What nobody used costs nothing; what is not known is never nothing. */
export const costText = (of: {
  cost_usd: string | null
  total_tokens: number
  unpriced_responses?: number
}): string =>
  of.cost_usd === null && of.total_tokens === 0
    ? money('0.00')
    : knownUsd({ cost_usd: of.cost_usd, unpriced_responses: of.unpriced_responses ?? 0 })

export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 60
    ? `${minutes} min`
    : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`
}

export const percent = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${Math.round((100 * part) / whole)} %`

/** Against the days before; nothing is said where there was nothing, or nothing changed. */
export function changeOf(now: number, then: number): string {
  if (then === 0) return now === 0 ? 'as before' : 'none before'
  // A percentage of four figures is read by nobody.
  if (now >= 10 * then) return `×${Math.round(now / then)}`
  const change = Math.round((100 * (now - then)) / then)
  if (change === 0) return 'as before'
  return `${change > 0 ? '+' : '−'}${Math.abs(change)} %`
}
