// The user's own prices and names, from config.toml. A price that cannot be meant is refused, with its place: money
// computed from a misread setting would look like any other.
import type { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { rateOf } from './money.ts'

/** USD per million tokens, as units per token. */
export interface OwnPrice {
  /** Epoch milliseconds; in force from here on. */
  sinceAt: number
  input: bigint
  output: bigint
  cacheRead: bigint
  cacheWrite5m: bigint
  cacheWrite1h: bigint
}

export interface Overrides {
  /** By model name, oldest first. */
  prices: Map<string, OwnPrice[]>
  aliases: Map<string, string>
}

const PRICE_KEYS = ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'] as const

/** Those in force. */
export function overridesOf(config: Config): Overrides {
  try {
    return readOverrides(config.get('prices'), config.get('price_aliases'))
  } catch (error) {
    if (!(error instanceof RecollectError)) throw error
    const { code, message, where, hint, cause } = error
    throw new RecollectError(code, message, { where: `${config.file}: ${where}`, hint, cause })
  }
}

/** Reads the `prices` and `price_aliases` tables of config.toml. */
export function readOverrides(prices: Record<string, unknown>, aliases: Record<string, unknown>): Overrides {
  const read: Overrides = { prices: new Map(), aliases: new Map() }
  for (const [model, value] of Object.entries(prices)) {
    const entries = (Array.isArray(value) && value.length > 0 ? value : [value]).map((entry) =>
      readPrice(model, entry),
    )
    read.prices.set(
      model,
      entries.sort((a, b) => a.sinceAt - b.sinceAt),
    )
  }
  for (const [name, model] of Object.entries(aliases)) {
    if (typeof model !== 'string' || model === '') refuse(`price_aliases."${name}"`, 'the name of a model')
    read.aliases.set(name, model as string)
  }
  return read
}

function readPrice(model: string, entry: unknown): OwnPrice {
  const place = `prices."${model}"`
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry) || entry instanceof Date)
    return refuse(place, 'a table with input and output')
  const table = entry as Record<string, unknown>
  for (const key of Object.keys(table)) {
    if (key !== 'since' && !(PRICE_KEYS as readonly string[]).includes(key))
      refuse(`${place}.${key}`, `one of ${PRICE_KEYS.join(', ')}, since`)
  }
  const rate = (key: (typeof PRICE_KEYS)[number]): bigint | undefined => {
    const value = table[key]
    if (value === undefined) return undefined
    const units = typeof value === 'number' || typeof value === 'string' ? rateOf(value) : undefined
    return units ?? refuse(`${place}.${key}`, 'a price in USD per million tokens, such as 0.25')
  }
  const input = rate('input') ?? refuse(`${place}.input`, 'given')
  const output = rate('output') ?? refuse(`${place}.output`, 'given')
  const cacheWrite5m = rate('cache_write_5m') ?? input
  return {
    sinceAt: readDate(`${place}.since`, table['since']),
    input,
    output,
    cacheRead: rate('cache_read') ?? input,
    cacheWrite5m,
    cacheWrite1h: rate('cache_write_1h') ?? cacheWrite5m,
  }
}

function readDate(place: string, value: unknown): number {
  if (value === undefined) return Number.NEGATIVE_INFINITY
  // A TOML date comes as a Date whose ISO text is the date alone.
  const text = value instanceof Date ? value.toISOString() : value
  const at = typeof text === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? refuse(place, 'a date such as 2026-11-01') : at
}

function refuse(where: string, expected: string): never {
  throw new RecollectError('BAD_CONFIG', `${where} must be ${expected}`, {
    where,
    hint: 'docs/usage.md has an example',
  })
}
