// Prices for what is in the ledger: from what was looked up before, or from the list where a model or the list is new.
// And what one session cost.
import { parseStored } from '../errors.ts'
import type { Reader } from '../store/reader/index.ts'
import { SLOT_MS } from '../store/slots.ts'
import type { Store } from '../store/store.ts'
import { costOf } from '../usage/cost.ts'
import { exactUsd } from '../usage/money.ts'
import type { Overrides } from '../usage/overrides.ts'
import { type KeptPrices, type Listed, loadPrices, PRICE_LIST, type PriceBook } from '../usage/prices.ts'

/** Prices of every model in the ledger, or of those that some sessions used. */
export function pricesFor(
  handle: Reader,
  overrides: Overrides,
  uids?: readonly string[],
): Promise<PriceBook> {
  return loadPrices(overrides, keptPrices(handle, handle.usage.models(uids)))
}

/**
 * Prices of the models that some sessions used; keeps what was looked up. With a new list all there is in the ledger is
 * looked up again. For whoever may write.
 */
export async function keepPrices(
  { reader, ingest }: Store,
  overrides: Overrides,
  uids: readonly string[],
): Promise<PriceBook> {
  const isListNew = reader.usage.keptPrices(PRICE_LIST.version).size === 0
  const models = reader.usage.models(isListNew ? undefined : uids)
  const kept = keptPrices(reader, models)
  const book = await loadPrices(overrides, kept)
  const found = models.map((model) => book.lookUp(model)).filter(({ name }) => !kept.listed.has(name))
  ingest.keepPrices(
    PRICE_LIST.version,
    new Map(found.map(({ name, listed }) => [name, JSON.stringify(listed)])),
  )
  return book
}

function keptPrices(handle: Reader, names: readonly string[]): KeptPrices {
  const kept = handle.usage.keptPrices(PRICE_LIST.version)
  return { names, listed: new Map([...kept].map(([name, listed]) => [name, parseStored<Listed>(listed)])) }
}

export interface SessionPrice {
  /** Exact, as a decimal; null when the price of a model is not known. */
  usd: string | null
  price_date: string
  unpriced_models: string[]
}

/** What sessions cost at list prices; null for one that used nothing. The same tokens and prices give the same. */
export function sessionPrices(handle: Reader, prices: PriceBook): (uid: string) => SessionPrice | null {
  return (uid) => {
    const rows = handle.usage.slotsOf(uid)
    if (rows.length === 0) return null
    let cost = 0n
    const unpriced = new Set<string>()
    for (const row of rows) {
      // What has no time is priced as of the list: the clock must not be in it.
      const at = row.slot < 0 ? Date.parse(PRICE_LIST.date) : row.slot * SLOT_MS
      const rates = prices.rates(row.model, at, row.promptOver)
      if (rates) cost += costOf(row, rates)
      else unpriced.add(row.model)
    }
    return {
      usd: unpriced.size > 0 ? null : exactUsd(cost),
      price_date: PRICE_LIST.date,
      unpriced_models: [...unpriced].sort(),
    }
  }
}
