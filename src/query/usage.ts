// Tokens and money over time, sessions, models and places. Counted responses only, each at the time it came; prices are
// applied here, at the moment of asking, so a new price list prices all of history anew.

import { isoTime, type Tokens } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { SlotSum, UsageFilter } from '../store/reader/usage.ts'
import { SLOT_MS } from '../store/slots.ts'
import { cacheSavings, costOf } from '../usage/cost.ts'
import { exactUsd, fromReported } from '../usage/money.ts'
import { PRICE_LIST, type PriceBook } from '../usage/prices.ts'
import { meant } from './meant.ts'
import { dateOf, type TimeZone, weekOf } from './timezone.ts'
import { addTrees } from './tree-sums.ts'

export const USAGE_GROUPS = ['day', 'week', 'month', 'session', 'model', 'repo', 'domain', 'flavor'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]
/** A team server knows two more. */
export type ReportGroup = UsageGroup | 'host' | 'team'

export interface UsageQuestion extends UsageFilter {
  group: UsageGroup
  zone: TimeZone
  prices: PriceBook
}

/** Amounts are exact decimals in USD; null where nothing in the row has a known price. */
export interface UsageRow {
  /** The day, week, month, session uid, model, …; null where it is not known. */
  key: string | null
  responses: number
  input_tokens: number
  cache_read_tokens: number
  cache_write_5m_tokens: number
  cache_write_1h_tokens: number
  output_tokens: number
  /** A part of the output. */
  reasoning_tokens: number
  total_tokens: number
  cost_usd: string | null
  /** Responses whose model has no known price: their cost is missing in `cost_usd`. */
  unpriced_responses: number
  reported_cost_usd: string | null
  /** Responses (or turns) for which the agent reported a cost. */
  reported_responses: number
  cache_savings_usd: string | null
  /** Of a session: with the sub-agents it started, in the same span; null for one that started none, and of other rows. */
  tree_cost_usd: string | null
}

export interface UsageReport {
  group: ReportGroup
  timezone: string
  since: string | null
  until: string | null
  prices: { list: string; version: string; date: string }
  rows: UsageRow[]
  total: UsageRow
  models: { model: string | null; priced_as: string | null; responses: number; total_tokens: number }[]
}

/** Answers one question about usage. */
export function usageReport(handle: Reader, typed: UsageQuestion): UsageReport {
  const question = meant(handle, typed)
  const report = reportOf(slotRows(handle, question), question)
  if (question.group === 'session') addTrees(handle, report.rows)
  return report
}

export type ReportQuestion = Pick<UsageQuestion, 'zone' | 'prices' | 'sinceAt' | 'untilAt'> & {
  group: ReportGroup
}

/** The account of parts of a ledger, wherever that lies. */
export function reportOf(parts: readonly SlotSum[], question: ReportQuestion): UsageReport {
  const sums = new Map<string | null, Sum>()
  const labels = new Map<SlotSum['key'], string | null>()
  const models = new Map<string, Sum>()
  const total = new Sum()
  for (const row of parts) {
    const rates = question.prices.rates(
      row.model,
      row.slot < 0 ? Date.now() : row.slot * SLOT_MS,
      row.promptOver,
    )
    const money = rates ? { cost: costOf(row, rates), savings: cacheSavings(row, rates) } : undefined
    let key = labels.get(row.key)
    if (key === undefined) {
      key = keyOf(question.group, row.key)
      labels.set(row.key, key)
    }
    for (const sum of [sumOf(sums, key), sumOf(models, row.model), total]) sum.add(row, money)
  }
  const rows = [...sums].sort(isTime(question.group) ? byKey : byMoney).map(([key, sum]) => sum.toRow(key))
  return {
    group: question.group,
    timezone: question.zone.name,
    since: isoTime(question.sinceAt),
    until: isoTime(question.untilAt),
    prices: { list: PRICE_LIST.name, version: PRICE_LIST.version, date: PRICE_LIST.date },
    rows,
    total: total.toRow(null),
    models: [...models].sort(byMoney).map(([model, sum]) => ({
      model: model === '' ? null : model,
      priced_as: question.prices.pricedAs(model),
      responses: sum.responses,
      total_tokens: sum.tokens,
    })),
  }
}

export interface DayModelCost {
  day: string | null
  model: string | null
  cost_usd: string | null
  total_tokens: number
}

/** The days of a span with each day's models apart, oldest first. */
export function usageByDayAndModel(handle: Reader, question: UsageQuestion): DayModelCost[] {
  const sums = new Map<string, { day: string | null; model: string; sum: Sum }>()
  for (const row of slotRows(handle, { ...question, group: 'day' })) {
    const rates = question.prices.rates(
      row.model,
      row.slot < 0 ? Date.now() : row.slot * SLOT_MS,
      row.promptOver,
    )
    const key = `${row.key}\0${row.model}`
    const known = sums.get(key) ?? { day: keyOf('day', row.key), model: row.model, sum: new Sum() }
    sums.set(key, known)
    known.sum.add(row, rates ? { cost: costOf(row, rates), savings: 0n } : undefined)
  }
  return [...sums.values()]
    .map(({ day, model, sum }) => ({
      day,
      model: model === '' ? null : model,
      cost_usd: sum.cost === null ? null : exactUsd(sum.cost),
      total_tokens: sum.tokens,
    }))
    .sort((a, b) => byText(a.day, b.day) || byText(a.model, b.model))
}

const byText = (a: string | null, b: string | null): number =>
  (a ?? '') === (b ?? '') ? 0 : (a ?? '') < (b ?? '') ? -1 : 1

const isTime = (group: ReportGroup): group is 'day' | 'week' | 'month' =>
  group === 'day' || group === 'week' || group === 'month'

/** Rows that share key, model, size of prompt and price: few, however long the history. */
function slotRows(handle: Reader, { group, zone, prices, ...filter }: UsageQuestion): SlotSum[] {
  const span = isTime(group) ? handle.usage.span() : undefined
  return handle.usage.slots({
    by: isTime(group) ? 'day' : group,
    offsets: span ? zone.offsets(span.firstSlot, span.lastSlot) : [],
    filter,
    prices: prices.changes(handle.usage.models(filter.sessions)),
  })
}

function keyOf(group: ReportGroup, key: string | number | null): string | null {
  if (typeof key !== 'number') return key === '' ? null : key
  if (group === 'week') return weekOf(key)
  return group === 'month' ? dateOf(key).slice(0, -3) : dateOf(key)
}

const COUNTERS = ['input', 'cacheRead', 'cacheWrite5m', 'cacheWrite1h', 'output', 'reasoning'] as const

class Sum {
  responses = 0
  tokens = 0
  cost: bigint | null = null
  readonly #counts: Tokens = {
    input: 0,
    cacheRead: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    output: 0,
    reasoning: 0,
  }
  #unpriced = 0
  #savings = 0n
  #reportedCost = 0n
  #reported = 0

  add(row: SlotSum, money: { cost: bigint; savings: bigint } | undefined): void {
    this.responses += row.responses
    for (const name of COUNTERS) this.#counts[name] += row[name]
    this.tokens += row.input + row.cacheRead + row.cacheWrite5m + row.cacheWrite1h + row.output
    if (money) {
      this.cost = (this.cost ?? 0n) + money.cost
      this.#savings += money.savings
    } else this.#unpriced += row.responses
    this.#reported += row.reported
    if (row.reportedCost !== null) this.#reportedCost += fromReported(row.reportedCost)
  }

  toRow(key: string | null): UsageRow {
    return {
      key,
      responses: this.responses,
      input_tokens: this.#counts.input,
      cache_read_tokens: this.#counts.cacheRead,
      cache_write_5m_tokens: this.#counts.cacheWrite5m,
      cache_write_1h_tokens: this.#counts.cacheWrite1h,
      output_tokens: this.#counts.output,
      reasoning_tokens: this.#counts.reasoning,
      total_tokens: this.tokens,
      cost_usd: this.cost === null ? null : exactUsd(this.cost),
      unpriced_responses: this.#unpriced,
      reported_cost_usd: this.#reported === 0 ? null : exactUsd(this.#reportedCost),
      reported_responses: this.#reported,
      cache_savings_usd: this.cost === null ? null : exactUsd(this.#savings),
      tree_cost_usd: null,
    }
  }
}

function sumOf<K>(sums: Map<K, Sum>, key: K): Sum {
  const known = sums.get(key) ?? new Sum()
  sums.set(key, known)
  return known
}

type Entry = [key: string | null, sum: Sum]
/** Oldest first; what has no time comes before. */
const byKey = ([a]: Entry, [b]: Entry): number => ((a ?? '') < (b ?? '') ? -1 : 1)

/** Dearest first, then most tokens, then by name: the same order every time. */
function byMoney(a: Entry, b: Entry): number {
  const [left, right] = [a[1].cost ?? -1n, b[1].cost ?? -1n]
  if (left !== right) return left > right ? -1 : 1
  return b[1].tokens - a[1].tokens || byKey(a, b)
}
