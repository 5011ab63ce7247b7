// Tokens and money over time, sessions, models and places. Counted responses only, each at the time it came; prices are
// applied here, at the moment of asking, so a new price list prices all of history anew.

import type { Tokens } from '../model.ts'
import { SLOT_MS, slotsTable } from '../store/slots.ts'
import type { ReadHandle } from '../store/store.ts'
import { cacheSavings, costOf } from '../usage/cost.ts'
import { exactUsd, fromReported } from '../usage/money.ts'
import { PRICE_LIST, type PriceBook } from '../usage/prices.ts'
import type { Conditions } from './filters.ts'
import { modelsIn } from './models.ts'
import { priceClasses, stepwise } from './price-classes.ts'
import { dateOf, type TimeZone, weekOf } from './timezone.ts'

export const USAGE_GROUPS = ['day', 'week', 'month', 'session', 'model', 'repo', 'domain', 'flavor'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]

export interface UsageQuestion {
  group: UsageGroup
  zone: TimeZone
  prices: PriceBook
  /** Epoch milliseconds, rounded down to a quarter of an hour. */
  sinceAt?: number
  /** Exclusive. */
  untilAt?: number
  flavor?: string
  repo?: string
  domain?: string
  model?: string
  /** Only these sessions. */
  sessions?: readonly string[]
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
}

export interface UsageReport {
  group: UsageGroup
  timezone: string
  since: string | null
  until: string | null
  prices: { list: string; version: string; date: string }
  rows: UsageRow[]
  total: UsageRow
  models: { model: string | null; priced_as: string | null; responses: number; total_tokens: number }[]
}

interface SlotRow extends Tokens {
  key: string | number | null
  slot: number
  model: string
  promptOver: number
  responses: number
  reported: number
  reportedCost: number | null
}

/** Answers one question about usage. */
export function usageReport(handle: Pick<ReadHandle, 'memory'>, question: UsageQuestion): UsageReport {
  const sums = new Map<string | null, Sum>()
  const labels = new Map<SlotRow['key'], string | null>()
  const models = new Map<string, Sum>()
  const total = new Sum()
  for (const row of slotRows(handle, question)) {
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
  const iso = (at: number | undefined): string | null =>
    at === undefined ? null : new Date(at).toISOString()
  return {
    group: question.group,
    timezone: question.zone.name,
    since: iso(question.sinceAt),
    until: iso(question.untilAt),
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
export function usageByDayAndModel(handle: ReadHandle, question: UsageQuestion): DayModelCost[] {
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

const isTime = (group: UsageGroup): boolean => group === 'day' || group === 'week' || group === 'month'

/** Rows that share key, model, size of prompt and price: few, however long the history. */
function slotRows(handle: Pick<ReadHandle, 'memory'>, question: UsageQuestion): SlotRow[] {
  const table = slotsTable(handle.memory)
  const { where, values } = usageConditions(question)
  const key = keyExpression(question, isTime(question.group) ? spanOf(handle, table) : undefined)
  // Sessions are only looked up where something of them is asked: it takes a third of the time.
  const join = /\bs\./.test(`${key} ${where}`) ? 'JOIN sessions s USING (session_uid)' : ''
  const from = `FROM ${table} u ${join} WHERE ${where}`
  const models = modelsIn(handle, question.sessions)
  const { period, quarter, over, named } = priceClasses(question.prices.changes(models))
  const apart = [period, quarter, over].filter((expression) => expression !== '0')
  const sql = `SELECT ${key} AS key, min(u.slot) AS slot, u.model,
      min(u.prompt_over) AS promptOver, sum(u.responses) AS responses, sum(u.reported) AS reported,
      sum(u.input) AS input, sum(u.cache_read) AS cacheRead, sum(u.cache_write_5m) AS cacheWrite5m,
      sum(u.cache_write_1h) AS cacheWrite1h, sum(u.output) AS output, sum(u.reasoning) AS reasoning,
      sum(u.reported_cost) AS reportedCost
    ${from} GROUP BY ${['key', ...apart, 'u.model'].join(', ')}`
  const statement = handle.memory.prepare(sql)
  // Of 20,000 sessions: arrays cross from the database in half the time of objects with names.
  statement.setReturnArrays(true)
  return (statement.all(...values, ...named) as unknown as SlotCells[]).map(toSlotRow)
}

/** In the order they are selected. */
type SlotCells = [
  key: SlotRow['key'],
  slot: number,
  model: string,
  promptOver: number,
  responses: number,
  reported: number,
  input: number,
  cacheRead: number,
  cacheWrite5m: number,
  cacheWrite1h: number,
  output: number,
  reasoning: number,
  reportedCost: number | null,
]

function toSlotRow(cells: SlotCells): SlotRow {
  const [key, slot, model, promptOver, responses, reported, ...rest] = cells
  const [input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning, reportedCost] = rest
  const tokens = { input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning }
  return { key, slot, model, promptOver, responses, reported, ...tokens, reportedCost }
}

interface Span {
  firstSlot: number
  lastSlot: number
}

/** Undefined where nothing has a time. */
function spanOf({ memory }: Pick<ReadHandle, 'memory'>, table: string): Span | undefined {
  const { first, last } = memory
    .prepare(`SELECT min(nullif(slot, -1)) AS first, max(slot) AS last FROM ${table}`)
    .get() as { first: number | null; last: number }
  return first === null ? undefined : { firstSlot: first, lastSlot: last }
}

/** Over `u`, a row of the summed ledger, and `s`, its session. */
export function usageConditions(question: UsageQuestion): Conditions {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, value: string | number | undefined): void => {
    if (value === undefined) return
    where.push(condition)
    values.push(value)
  }
  const slot = (at: number | undefined): number | undefined =>
    at === undefined ? undefined : Math.floor(at / SLOT_MS)
  add('u.slot >= ?', slot(question.sinceAt))
  add('u.slot < ?', slot(question.untilAt))
  if (question.untilAt !== undefined) where.push('u.slot >= 0')
  add('s.flavor = ?', question.flavor)
  add('s.repo = ?', question.repo)
  add('s.domain = ?', question.domain)
  add('u.model = ?', question.model)
  if (question.sessions)
    add('u.session_uid IN (SELECT value FROM json_each(?))', JSON.stringify(question.sessions))
  return { where: where.join(' AND ') || '1', values }
}

function keyExpression({ group, zone }: UsageQuestion, span: Span | undefined): string {
  if (group === 'session') return 'u.session_uid'
  if (group === 'model') return 'u.model'
  if (!isTime(group)) return `s.${group}`
  if (!span) return 'NULL'
  const offsets = zone.offsets(span.firstSlot, span.lastSlot)
  const seconds = stepwise(offsets.map((one) => [one.fromSlot, one.seconds]))
  return `CASE WHEN u.slot >= 0 THEN (u.slot * ${SLOT_MS / 1000} + ${seconds}) / 86400 END`
}

function keyOf(group: UsageGroup, key: string | number | null): string | null {
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

  add(row: SlotRow, money: { cost: bigint; savings: bigint } | undefined): void {
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
