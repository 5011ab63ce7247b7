// Prices for what is in the ledger: from what was looked up before, or from the list where a model or the list is new.
// And what one session cost.
import { parseStored } from '../errors.ts'
import type { Tokens } from '../model.ts'
import { SLOT_MS, slotsTable } from '../store/slots.ts'
import type { ReadHandle } from '../store/store.ts'
import { costOf } from '../usage/cost.ts'
import { exactUsd } from '../usage/money.ts'
import type { Overrides } from '../usage/overrides.ts'
import { type KeptPrices, type Listed, loadPrices, PRICE_LIST, type PriceBook } from '../usage/prices.ts'
import { modelsIn } from './models.ts'

type Memory = Pick<ReadHandle, 'memory'>

/** Prices of every model in the ledger, or of those that some sessions used. */
export function pricesFor(
  handle: Memory,
  overrides: Overrides,
  uids?: readonly string[],
): Promise<PriceBook> {
  return loadPrices(overrides, keptPrices(handle, modelsIn(handle, uids)))
}

/**
 * Prices of the models that some sessions used; keeps what was looked up. With a new list all there is in the ledger is
 * looked up again. For whoever may write.
 */
export async function keepPrices(
  handle: Memory,
  overrides: Overrides,
  uids: readonly string[],
): Promise<PriceBook> {
  const isListNew = !handle.memory
    .prepare('SELECT 1 FROM model_prices WHERE list = ? LIMIT 1')
    .get(PRICE_LIST.version)
  const models = modelsIn(handle, isListNew ? undefined : uids)
  const kept = keptPrices(handle, models)
  const book = await loadPrices(overrides, kept)
  const keep = handle.memory.prepare(
    'INSERT OR REPLACE INTO model_prices (name, list, listed) VALUES (?, ?, ?)',
  )
  for (const model of models) {
    const { name, listed } = book.lookUp(model)
    if (!kept.listed.has(name)) keep.run(name, PRICE_LIST.version, JSON.stringify(listed))
  }
  return book
}

function keptPrices({ memory }: Memory, names: readonly string[]): KeptPrices {
  const rows = memory
    .prepare('SELECT name, listed FROM model_prices WHERE list = ?')
    .all(PRICE_LIST.version) as unknown as { name: string; listed: string }[]
  return { names, listed: new Map(rows.map((row) => [row.name, parseStored<Listed>(row.listed)])) }
}

export interface SessionPrice {
  /** Exact, as a decimal; null when the price of a model is not known. */
  usd: string | null
  price_date: string
  unpriced_models: string[]
}

/** What sessions cost at list prices; null for one that used nothing. The same tokens and prices give the same. */
export function sessionPrices({ memory }: Memory, prices: PriceBook): (uid: string) => SessionPrice | null {
  const slots = memory.prepare(
    `SELECT slot, model, prompt_over AS promptOver, input, cache_read AS cacheRead, cache_write_5m AS cacheWrite5m,
     cache_write_1h AS cacheWrite1h, output, reasoning FROM ${slotsTable(memory)} WHERE session_uid = ?`,
  )
  return (uid) => {
    const rows = slots.all(uid) as unknown as (Tokens & { slot: number; model: string; promptOver: number })[]
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
