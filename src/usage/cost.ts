// The cost of counted tokens, and what caching changed about it.
import type { Tokens } from '../model.ts'
import type { Rates } from './prices.ts'

export function costOf(tokens: Tokens, rates: Rates): bigint {
  const reasoning = Math.min(tokens.reasoning, tokens.output)
  return (
    BigInt(tokens.input) * rates.input +
    BigInt(tokens.cacheRead) * rates.cacheRead +
    BigInt(tokens.cacheWrite5m) * rates.cacheWrite5m +
    BigInt(tokens.cacheWrite1h) * rates.cacheWrite1h +
    BigInt(tokens.output - reasoning) * rates.output +
    BigInt(reasoning) * rates.reasoning
  )
}

/** What the same tokens would have cost without a cache, less what they cost: reads save, writes cost extra. */
export function cacheSavings(tokens: Tokens, rates: Rates): bigint {
  return (
    BigInt(tokens.cacheRead) * (rates.input - rates.cacheRead) -
    BigInt(tokens.cacheWrite5m) * (rates.cacheWrite5m - rates.input) -
    BigInt(tokens.cacheWrite1h) * (rates.cacheWrite1h - rates.input)
  )
}
