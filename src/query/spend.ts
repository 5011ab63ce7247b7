// What the responses of one session used, in order: how full the context was, and what each turn cost.

import { isoTime } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Response } from '../store/reader/usage.ts'
import { costOf } from '../usage/cost.ts'
import { exactUsd } from '../usage/money.ts'
import type { PriceBook } from '../usage/prices.ts'

export interface SpentResponse {
  ts: string | null
  model: string | null
  input_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  output_tokens: number
  /** Tokens the model was given: how full its context was. */
  context_tokens: number
  is_sidechain: boolean
  /** False for what is counted elsewhere (a fork's prefix). */
  is_counted: boolean
  cost_usd: string | null
}

export interface SpentTurn {
  /** The prompt that began it; 0 for what came before the first. */
  seq: number
  ts: string | null
  prompt: string
  responses: number
  input_tokens: number
  cache_read_tokens: number
  cache_write_tokens: number
  output_tokens: number
  cost_usd: string | null
  unpriced_responses: number
}

export interface Spend {
  session_uid: string
  responses: SpentResponse[]
  turns: SpentTurn[]
  /** When the context was made smaller. */
  compactions: { seq: number; ts: string | null }[]
}

export function spendOf(handle: Reader, uid: string, prices: PriceBook): Spend {
  const rows = handle.usage.responses(uid)
  const turns = new Turns(handle, uid)
  const responses = rows.map((row) => {
    const context = row.input + row.cacheRead + row.cacheWrite5m + row.cacheWrite1h
    const rates = row.model === null ? undefined : prices.rates(row.model, row.ts ?? Date.now(), context)
    const cost = rates ? costOf(row, rates) : null
    if (row.is_counted) turns.add(row, cost)
    return {
      ts: isoTime(row.ts),
      model: row.model,
      input_tokens: row.input,
      cache_read_tokens: row.cacheRead,
      cache_write_tokens: row.cacheWrite5m + row.cacheWrite1h,
      output_tokens: row.output,
      context_tokens: context,
      is_sidechain: row.is_sidechain === 1,
      is_counted: row.is_counted === 1,
      cost_usd: cost === null ? null : exactUsd(cost),
    }
  })
  return { session_uid: uid, responses, turns: turns.list(), compactions: compactionsOf(handle, uid) }
}

/** Prompts of the person, and what was spent until the next one. */
class Turns {
  readonly #turns: (SpentTurn & { at: number; units: bigint | null })[]
  #current = 0

  constructor(handle: Reader, uid: string) {
    const before = { seq: 0, ts: 0, summary: '' }
    this.#turns = [before, ...handle.events.prompts(uid)].map(({ seq, ts, summary }) => ({
      at: ts,
      units: null,
      seq,
      ts: seq === 0 ? null : isoTime(ts),
      prompt: summary,
      responses: 0,
      input_tokens: 0,
      cache_read_tokens: 0,
      cache_write_tokens: 0,
      output_tokens: 0,
      cost_usd: null,
      unpriced_responses: 0,
    }))
  }

  add(row: Response, cost: bigint | null): void {
    const at = row.ts ?? 0
    while ((this.#turns[this.#current + 1]?.at ?? Number.POSITIVE_INFINITY) <= at) this.#current++
    const turn = this.#turns[this.#current]
    if (!turn) return
    turn.responses++
    turn.input_tokens += row.input
    turn.cache_read_tokens += row.cacheRead
    turn.cache_write_tokens += row.cacheWrite5m + row.cacheWrite1h
    turn.output_tokens += row.output
    if (cost === null) turn.unpriced_responses++
    else turn.units = (turn.units ?? 0n) + cost
  }

  list(): SpentTurn[] {
    return this.#turns
      .filter((turn) => turn.seq > 0 || turn.responses > 0)
      .map(({ at, units, ...turn }) => ({ ...turn, cost_usd: units === null ? null : exactUsd(units) }))
  }
}

/** From the digest, so that they outlive the events; their times from the events where those are here. */
const compactionsOf = (handle: Reader, uid: string): Spend['compactions'] =>
  handle.digests.compactions(uid).map((seq) => ({ seq, ts: isoTime(handle.events.timeOf(uid, seq)) }))

/** How full the context was over a session, in few points: for a line as small as a word. */
export function contextFill(handle: Reader, uid: string, points = 24): number[] {
  const sizes = handle.usage
    .responses(uid)
    .filter((row) => row.is_sidechain === 0)
    .map((row) => row.input + row.cacheRead + row.cacheWrite5m + row.cacheWrite1h)
  if (sizes.length <= points) return sizes
  return Array.from({ length: points }, (_, i) => {
    const from = Math.floor((i * sizes.length) / points)
    const to = Math.max(from + 1, Math.floor(((i + 1) * sizes.length) / points))
    return Math.max(...sizes.slice(from, to))
  })
}
