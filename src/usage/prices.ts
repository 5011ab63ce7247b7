// What a token of a model cost at a time. The list comes from a maintained package, loaded only when money is asked for;
// the user's own prices go before it. A model that neither knows has no price: never a price of zero.

import type { ConditionalPrice, ModelPrice, TieredPrices } from '@pydantic/genai-prices'
import { DAY } from '../model.ts'
import aliases from './aliases.json' with { type: 'json' }
import { rateOf } from './money.ts'
import type { Overrides, OwnPrice } from './overrides.ts'

/** The price list and the day it was published; a test holds the version against the one that is installed. */
export const PRICE_LIST = {
  name: '@pydantic/genai-prices',
  version: '0.1.8',
  date: '2026-09-23',
} as const

/** Units (1e-18 USD) per token. */
export interface Rates {
  input: bigint
  cacheRead: bigint
  cacheWrite5m: bigint
  cacheWrite1h: bigint
  output: bigint
  reasoning: bigint
}

/** When the prices of some models change: between two of these instants they do not. */
export interface PriceChanges {
  /** Epoch milliseconds, ascending. */
  startsAt: number[]
  /** Models whose price depends on the time of day (UTC) as well… */
  byTimeOfDay: string[]
  /** …or on the size of the prompt. */
  byPrompt: string[]
}

type Package = typeof import('@pydantic/genai-prices')

/** What the list says of a model, as plain data; null: it is not in the list. */
export type Listed = { provider: string; id: string; prices: ConditionalPrice[] } | null

/** What was looked up before, so that the list (50 ms of CPU) need not be loaded. */
export interface KeptPrices {
  /** All there is to be priced. */
  names: readonly string[]
  listed: ReadonlyMap<string, Listed>
}

interface Listing {
  own: OwnPrice[]
  listed: Listed
  startsAt: number[]
  dependsOnHour: boolean
  dependsOnPrompt: boolean
  /** By period and size of the prompt. */
  known: Map<string, Rates | undefined>
}

const QUARTER = 900_000
/** Loads the list, unless all there is to be priced was looked up before. */
export async function loadPrices(overrides: Overrides, kept?: KeptPrices): Promise<PriceBook> {
  const names = kept?.names.map((model) => listedName(model, overrides))
  if (kept && names?.every((name) => kept.listed.has(name)))
    return new PriceBook(overrides, (name) => kept.listed.get(name) as Listed)
  const list = await import('@pydantic/genai-prices')
  return new PriceBook(overrides, (name) => find(list, name))
}

/** Under which name the list may have a model. */
function listedName(model: string, overrides: Overrides): string {
  // A model may be called as the transcript likes, also `constructor`.
  const own = Object.hasOwn(aliases, model) ? aliases[model as keyof typeof aliases] : undefined
  return overrides.aliases.get(model) ?? own ?? model
}

export class PriceBook {
  readonly #overrides: Overrides
  readonly #find: (name: string) => Listed
  readonly #listings = new Map<string, Listing>()

  constructor(overrides: Overrides, findListed: (name: string) => Listed) {
    this.#overrides = overrides
    this.#find = findListed
  }

  /** To be kept, for another time. */
  lookUp(model: string): { name: string; listed: Listed } {
    const name = listedName(model, this.#overrides)
    return { name, listed: this.#find(name) }
  }

  /** Prices at a time (epoch milliseconds) for a prompt of more than `promptOver` tokens; undefined: not known. */
  rates(model: string, at: number, promptOver: number): Rates | undefined {
    const listing = this.#listing(model)
    const period = listing.startsAt.filter((start) => start <= at).length
    const quarter = listing.dependsOnHour ? Math.floor((at % DAY) / QUARTER) : 0
    const key = `${period} ${quarter} ${promptOver}`
    if (!listing.known.has(key)) listing.known.set(key, ratesAt(listing, at, promptOver))
    return listing.known.get(key)
  }

  /** Where the price of a model comes from: `config.toml`, `<provider>/<model>` of the list, or null. */
  pricedAs(model: string): string | null {
    const { own, listed } = this.#listing(model)
    if (own.length > 0) return 'config.toml'
    return listed ? `${listed.provider}/${listed.id}` : null
  }

  changes(models: readonly string[]): PriceChanges {
    const listings = models.map((model) => this.#listing(model))
    return {
      startsAt: [...new Set(listings.flatMap((one) => one.startsAt))].sort((a, b) => a - b),
      byTimeOfDay: models.filter((_, i) => listings[i]?.dependsOnHour),
      byPrompt: models.filter((_, i) => listings[i]?.dependsOnPrompt),
    }
  }

  #listing(model: string): Listing {
    const known = this.#listings.get(model)
    if (known) return known
    const { name, listed } = this.lookUp(model)
    const own = this.#overrides.prices.get(model) ?? this.#overrides.prices.get(name) ?? []
    const conditions = listed?.prices ?? []
    const starts = conditions.flatMap(({ constraint }) =>
      constraint?.type === 'start_date' ? [Date.parse(constraint.start_date)] : [],
    )
    const listing: Listing = {
      own,
      listed,
      startsAt: [...starts, ...own.map((one) => one.sinceAt).filter(Number.isFinite)].sort((a, b) => a - b),
      dependsOnHour: conditions.some(({ constraint }) => constraint?.type === 'time_of_date'),
      dependsOnPrompt: conditions.some((one) =>
        Object.values(one.prices).some((price) => typeof price === 'object'),
      ),
      known: new Map(),
    }
    this.#listings.set(model, listing)
    return listing
  }
}

const FAST = '-fast'
/** Dearer by a factor that the list does not have. */
const PRIORITY = '-priority'

/**
 * A model served faster costs what the model costs, times what the list asks more for it. The list has that only under a
 * router's name; by its bare name it would be taken for the model itself, at the plain price.
 */
function find(list: Package, name: string): Listed {
  const found = findByName(list, name)
  if (name.endsWith(PRIORITY) && !found?.id.includes('priority')) return null
  if (!name.endsWith(FAST) || found?.id.includes('fast')) return found
  const plain = findByName(list, name.slice(0, -FAST.length))
  if (!plain) return null
  const routed = `${plain.provider}/${plain.id.replace(/(\d)-(?=\d)/g, '$1.')}${FAST}`
  const faster = list.calcPrice({}, routed, { providerId: 'openrouter' })?.model_price.input_mtok
  const base = list.calcPrice({}, plain.id, { providerId: plain.provider })?.model_price.input_mtok
  if (typeof faster !== 'number' || typeof base !== 'number' || base <= 0) return null
  const times = faster / base
  return { ...plain, id: `${plain.id}${FAST}`, prices: plain.prices.map((one) => dearer(one, times)) }
}

function dearer(entry: ConditionalPrice, times: number): ConditionalPrice {
  const raised = (price: ModelPrice[string]): ModelPrice[string] => {
    if (typeof price === 'number') return price * times
    if (price === undefined) return price
    const tiers = price.tiers.map((one) => ({ ...one, price: one.price * times }))
    return { ...price, base: price.base * times, tiers }
  }
  const prices = Object.entries(entry.prices).map(([key, price]) => [key, raised(price)])
  return { ...entry, prices: Object.fromEntries(prices) as ModelPrice }
}

/**
 * By the bare name, also as an API calls it (`models/<name>`); as `<provider>/<name>`; as a router's name; as a cloud's
 * `<region>.<maker>.<name>`.
 */
function findByName(list: Package, model: string): Listed {
  const name = model.replace(/^models\//, '')
  const [provider, ...rest] = name.split('/')
  const tries: [string, string | undefined][] = [[name, undefined]]
  if (rest.length > 0) tries.push([rest.join('/'), provider], [name, 'openrouter'])
  if (/^(?:[a-z]+\.)?[a-z]+\.[a-z]/.test(name)) tries.push([name, 'aws'])
  for (const [one, providerId] of tries) {
    const found = list.calcPrice({}, one, providerId ? { providerId } : {})
    if (!found) continue
    const { id, prices } = found.model
    return { provider: found.provider.id, id, prices: Array.isArray(prices) ? prices : [{ prices }] }
  }
  return null
}

/** The last entry that holds at a time: as the list means it. */
function priceAt({ prices }: NonNullable<Listed>, at: number): ModelPrice {
  const holds = ({ constraint }: ConditionalPrice): boolean => {
    if (constraint === undefined) return true
    if (constraint.type === 'start_date') return at >= Date.parse(constraint.start_date)
    const time = ((at % DAY) + DAY) % DAY
    const [from, to] = [timeOfDay(constraint.start_time), timeOfDay(constraint.end_time)]
    return from <= to ? time >= from && time < to : time >= from || time < to
  }
  return (prices.findLast(holds) ?? prices[0])?.prices ?? {}
}

/** Milliseconds since midnight UTC of `09:30:00Z`, `09:30:00+08:00`. */
const timeOfDay = (text: string): number => Date.parse(`1970-01-02T${text}`) % DAY

function ratesAt({ own, listed }: Listing, at: number, promptOver: number): Rates | undefined {
  const mine = own.findLast((one) => one.sinceAt <= at)
  if (mine) return { ...mine, reasoning: mine.output }
  if (!listed) return undefined
  const price = priceAt(listed, at)
  const rate = (key: string): bigint | undefined => {
    const value = price[key]
    return value === undefined
      ? undefined
      : rateOf(typeof value === 'number' ? value : tier(value, promptOver))
  }
  const input = rate('input_mtok')
  const output = rate('output_mtok')
  // The list has entries without prices: what they cost is not known, which is not nothing.
  if (input === undefined || output === undefined) return undefined
  const cacheWrite5m = rate('cache_write_mtok') ?? input
  return {
    input,
    output,
    cacheRead: rate('cache_read_mtok') ?? input,
    cacheWrite5m,
    cacheWrite1h: rate('cache_write_1h_mtok') ?? cacheWrite5m,
    reasoning: rate('output_reasoning_mtok') ?? output,
  }
}

/** The size of the prompt sets the price of the whole response, not only of the tokens beyond the step. */
function tier(prices: TieredPrices, promptOver: number): number {
  let price = prices.base
  for (const one of [...prices.tiers].sort((a, b) => a.start - b.start))
    if (promptOver >= one.start) price = one.price
  return price
}
