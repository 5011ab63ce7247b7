// Two states of one response, told on different lines, as one.
import type { PreparedUsage } from '../store/batch.ts'

export const laterState = (known: PreparedUsage, usage: PreparedUsage): PreparedUsage => ({
  ...(isGreater(usage, known) ? usage : known),
  ts: earlier(known.ts, usage.ts),
  model: usage.model ?? known.model,
  isSidechain: known.isSidechain && usage.isSidechain,
  reportedCost: usage.reportedCost ?? known.reportedCost,
})

/** The same order as the ledger's: more output, then more input, is the later state of a response. */
const isGreater = (a: PreparedUsage, b: PreparedUsage): boolean =>
  a.output !== b.output ? a.output > b.output : a.input + a.cacheRead > b.input + b.cacheRead

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)
