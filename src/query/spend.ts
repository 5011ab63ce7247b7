// What the responses of one session used, in order: how full the context was, and what each turn cost.
import { parseStored } from '../errors.ts'
import type { Tokens } from '../model.ts'
import { FLAG, NO_TURN } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'
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

interface LedgerRow extends Tokens {
  ts: number | null
  model: string | null
  is_sidechain: number
  is_counted: number
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

export function spendOf(handle: ReadHandle, uid: string, prices: PriceBook): Spend {
  const rows = handle.memory
    .prepare(
      `SELECT ts, model, input, cache_read AS cacheRead, cache_write_5m AS cacheWrite5m, cache_write_1h AS cacheWrite1h,
         output, reasoning, is_sidechain, is_counted
       FROM usage WHERE session_uid = ? AND NOT is_nested ORDER BY coalesce(ts, 0), response_id`,
    )
    .all(uid) as unknown as LedgerRow[]
  const turns = new Turns(handle, uid)
  const responses = rows.map((row) => {
    const context = row.input + row.cacheRead + row.cacheWrite5m + row.cacheWrite1h
    const rates = row.model === null ? undefined : prices.rates(row.model, row.ts ?? Date.now(), context)
    const cost = rates ? costOf(row, rates) : null
    if (row.is_counted) turns.add(row, cost)
    return {
      ts: iso(row.ts),
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

const NO_PROMPT = NO_TURN | FLAG.inherited | FLAG.superseded

/** Prompts of the person, and what was spent until the next one. */
class Turns {
  readonly #turns: (SpentTurn & { at: number; units: bigint | null })[]
  #current = 0

  constructor(handle: ReadHandle, uid: string) {
    const prompts = handle.cache
      .prepare(
        `SELECT e.seq, e.ts, e.summary FROM cached c JOIN events e ON e.session = c.id
         WHERE c.session_uid = ? AND e.kind = 0 AND e.flags & ${NO_PROMPT} = 0 AND e.ts IS NOT NULL ORDER BY e.ts, e.seq`,
      )
      .all(uid) as unknown as { seq: number; ts: number; summary: string }[]
    const before = { seq: 0, ts: 0, summary: '' }
    this.#turns = [before, ...prompts].map(({ seq, ts, summary }) => ({
      at: ts,
      units: null,
      seq,
      ts: seq === 0 ? null : iso(ts),
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

  add(row: LedgerRow, cost: bigint | null): void {
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
function compactionsOf(handle: ReadHandle, uid: string): Spend['compactions'] {
  const row = handle.memory
    .prepare("SELECT digest -> '$.compactions' AS seqs FROM digests WHERE session_uid = ?")
    .get(uid) as { seqs: string | null } | undefined
  const seqs = parseStored<number[]>(row?.seqs ?? '[]')
  const time = handle.cache.prepare(
    'SELECT e.ts FROM cached c JOIN events e ON e.session = c.id WHERE c.session_uid = ? AND e.seq = ?',
  )
  return seqs.map((seq) => ({
    seq,
    ts: iso((time.get(uid, seq) as { ts: number | null } | undefined)?.ts ?? null),
  }))
}

/** How full the context was over a session, in few points: for a line as small as a word. */
export function contextFill(handle: Pick<ReadHandle, 'memory'>, uid: string, points = 24): number[] {
  const rows = handle.memory
    .prepare(
      `SELECT input + cache_read + cache_write_5m + cache_write_1h AS size FROM usage
       WHERE session_uid = ? AND NOT is_nested AND NOT is_sidechain ORDER BY coalesce(ts, 0), response_id`,
    )
    .all(uid) as unknown as { size: number }[]
  if (rows.length <= points) return rows.map((row) => row.size)
  return Array.from({ length: points }, (_, i) => {
    const from = Math.floor((i * rows.length) / points)
    const to = Math.max(from + 1, Math.floor(((i + 1) * rows.length) / points))
    return Math.max(...rows.slice(from, to).map((row) => row.size))
  })
}
