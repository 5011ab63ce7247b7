// Questions about tokens: sums of the ledger, single responses, allowances, and the prices that were looked up.
import type { Tokens } from '../../model.ts'
import { firstColumn, prepared, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { SLOT_MS, slotsTable } from '../slots.ts'
import {
  type Conditions,
  type FilterNames,
  named,
  onHost,
  type SessionFilter,
  sessionConditions,
} from './filters.ts'
import { type PriceSteps, priceClasses, stepwise } from './price-classes.ts'

type Memory = Pick<Databases, 'memory'>

export interface UsageFilter {
  /** Epoch milliseconds, rounded down to a quarter of an hour. */
  sinceAt?: number
  /** Exclusive. */
  untilAt?: number
  flavor?: string
  repo?: FilterNames
  domain?: string
  model?: FilterNames
  host?: FilterNames
  /** Only these sessions. */
  sessions?: readonly string[]
}

/** From this slot on (until the next one) local time is UTC plus this many seconds. */
export interface Offset {
  fromSlot: number
  seconds: number
}

export interface SlotQuestion {
  /** `day`: as the offsets have it, counted from 1970-01-01. */
  by: 'slot' | 'day' | 'session' | 'model' | 'repo' | 'domain' | 'flavor'
  offsets: readonly Offset[]
  filter: UsageFilter
  /** What is not told apart by key or model but costs differently. */
  prices: PriceSteps
}

/** A part of the ledger that has one key, model and price. */
export interface SlotSum extends Tokens {
  key: string | number | null
  slot: number
  model: string
  promptOver: number
  responses: number
  reported: number
  reportedCost: number | null
}

/** The models in the ledger: all, or those that some sessions used. */
function models({ memory }: Memory, sessions?: readonly string[]): string[] {
  const where = sessions ? 'WHERE session_uid IN (SELECT value FROM json_each(?))' : ''
  return firstColumn<string>(
    memory,
    `SELECT DISTINCT model FROM ${slotsTable(memory)} ${where}`,
    ...(sessions ? [JSON.stringify(sessions)] : []),
  )
}

const countedModels = ({ memory }: Memory): string[] =>
  firstColumn<string>(
    memory,
    "SELECT DISTINCT model FROM usage WHERE is_counted AND coalesce(model, '') <> ''",
  )

/** The first and last slot with a time; undefined where nothing has one. */
function span({ memory }: Memory): { firstSlot: number; lastSlot: number } | undefined {
  const found = row<{ first: number | null; last: number }>(
    memory,
    `SELECT min(nullif(slot, -1)) AS first, max(slot) AS last FROM ${slotsTable(memory)}`,
  )
  return found && found.first !== null ? { firstSlot: found.first, lastSlot: found.last } : undefined
}

/** In the order they are selected. */
type SlotCells = [
  key: SlotSum['key'],
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

/** Few, however long the history. */
function slots({ memory }: Memory, question: SlotQuestion): SlotSum[] {
  const { where, values } = usageConditions(question.filter)
  const key = keyExpression(question)
  // Sessions are only looked up where something of them is asked: it takes a third of the time.
  const join = /\bs\./.test(`${key} ${where}`) ? 'JOIN sessions s USING (session_uid)' : ''
  const { period, quarter, over, named } = priceClasses(question.prices)
  const apart = [period, quarter, over].filter((expression) => expression !== '0')
  const statement = prepared(
    memory,
    `SELECT ${key} AS key, min(u.slot) AS slot, u.model,
      min(u.prompt_over) AS promptOver, sum(u.responses) AS responses, sum(u.reported) AS reported,
      sum(u.input) AS input, sum(u.cache_read) AS cacheRead, sum(u.cache_write_5m) AS cacheWrite5m,
      sum(u.cache_write_1h) AS cacheWrite1h, sum(u.output) AS output, sum(u.reasoning) AS reasoning,
      sum(u.reported_cost) AS reportedCost
    FROM ${slotsTable(memory)} u ${join} WHERE ${where} GROUP BY ${['key', ...apart, 'u.model'].join(', ')}`,
  )
  // Of 20,000 sessions: arrays cross from the database in half the time of objects with names.
  statement.setReturnArrays(true)
  return (statement.all(...values, ...named) as unknown as SlotCells[]).map(toSlotSum)
}

function toSlotSum(cells: SlotCells): SlotSum {
  const [key, slot, model, promptOver, responses, reported, ...rest] = cells
  const [input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning, reportedCost] = rest
  const tokens = { input, cacheRead, cacheWrite5m, cacheWrite1h, output, reasoning }
  return { key, slot, model, promptOver, responses, reported, ...tokens, reportedCost }
}

/** Over `u`, a row of the summed ledger, and `s`, its session. */
function usageConditions(filter: UsageFilter): Conditions {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, value: string | number | undefined): void => {
    if (value === undefined) return
    where.push(condition)
    values.push(value)
  }
  const slot = (at: number | undefined): number | undefined =>
    at === undefined ? undefined : Math.floor(at / SLOT_MS)
  add('u.slot >= ?', slot(filter.sinceAt))
  add('u.slot < ?', slot(filter.untilAt))
  if (filter.untilAt !== undefined) where.push('u.slot >= 0')
  add('s.flavor = ?', filter.flavor)
  add(...named('s.repo', filter.repo))
  add('s.domain = ?', filter.domain)
  add(...named('u.model', filter.model))
  add(...onHost(filter.host))
  if (filter.sessions)
    add('u.session_uid IN (SELECT value FROM json_each(?))', JSON.stringify(filter.sessions))
  return { where: where.join(' AND ') || '1', values }
}

/** Over the same. */
export function keyExpression({ by, offsets }: Pick<SlotQuestion, 'by' | 'offsets'>): string {
  if (by === 'session') return 'u.session_uid'
  if (by === 'model') return 'u.model'
  if (by === 'slot') return 'u.slot'
  if (by !== 'day') return `s.${by}`
  if (offsets.length === 0) return 'NULL'
  const seconds = stepwise(offsets.map((one) => [one.fromSlot, one.seconds]))
  return `CASE WHEN u.slot >= 0 THEN (u.slot * ${SLOT_MS / 1000} + ${seconds}) / 86400 END`
}

/** What a class of prices costs in USD per token: input, cache reads, both cache writes, output, reasoning. */
export type ClassRates = [model: string, period: number, quarter: number, over: number, ...rates: number[]]

/** Rounded far below a cent, so that the same cost is the same sum however it was added up. */
const COST = `round(sum(u.input * r.input + u.cache_read * r.cache_read + u.cache_write_5m * r.cache_write_5m
  + u.cache_write_1h * r.cache_write_1h + max(u.output - u.reasoning, 0) * r.output
  + min(u.reasoning, u.output) * r.reasoning), 10)`
const RATES = 'model period quarter over input cache_read cache_write_5m cache_write_1h output reasoning'
  .split(' ')
  .map((name, at) => `value ->> ${at} AS ${name}`)
const NO_CONDITIONS: Conditions = { where: '1', values: [] }

export interface DearestQuestion {
  prices: PriceSteps
  rates: readonly ClassRates[]
  /** What of their usage counts. */
  used?: UsageFilter
  /** Which sessions count. */
  are?: SessionFilter
  limit: number
}

/** Uids of those that used anything, by what that costs. */
function dearest({ memory }: Memory, question: DearestQuestion): string[] {
  const { period, quarter, over, named } = priceClasses(question.prices)
  const used = question.used ? usageConditions(question.used) : NO_CONDITIONS
  const are = question.are ? sessionConditions(question.are) : NO_CONDITIONS
  return firstColumn<string>(
    memory,
    `WITH rates AS MATERIALIZED (SELECT ${RATES.join(', ')} FROM json_each(?)),
     costs AS MATERIALIZED (SELECT u.session_uid, ${COST} AS cost,
         sum(u.input + u.cache_read + u.cache_write_5m + u.cache_write_1h + u.output) AS tokens
       FROM ${slotsTable(memory)} u ${/\bs\./.test(used.where) ? 'JOIN sessions s USING (session_uid)' : ''}
       LEFT JOIN rates r
         ON r.model = u.model AND r.period = ${period} AND r.quarter = ${quarter} AND r.over = ${over}
       WHERE ${used.where} GROUP BY u.session_uid)
     SELECT s.session_uid AS uid FROM costs c CROSS JOIN sessions s ON s.session_uid = c.session_uid
     WHERE ${are.where} ORDER BY c.cost DESC NULLS LAST, c.tokens DESC, s.session_uid LIMIT ?`,
    JSON.stringify(question.rates),
    ...named,
    ...used.values,
    ...are.values,
    question.limit,
  )
}

const TOKENS = `input, cache_read AS cacheRead, cache_write_5m AS cacheWrite5m, cache_write_1h AS cacheWrite1h,
  output, reasoning`

export interface SessionSlot extends Tokens {
  slot: number
  model: string
  promptOver: number
}

const slotsOf = ({ memory }: Memory, uid: string): SessionSlot[] =>
  rows(
    memory,
    `SELECT slot, model, prompt_over AS promptOver, ${TOKENS} FROM ${slotsTable(memory)} WHERE session_uid = ?`,
    uid,
  )

/** One answer of a model. */
export interface Response extends Tokens {
  id: string
  ts: number | null
  model: string | null
  is_sidechain: number
  /** 0 for what is counted elsewhere (a fork's prefix). */
  is_counted: number
}

/** Of one session, by time; what has none first. */
const responses = ({ memory }: Memory, uid: string): Response[] =>
  rows(
    memory,
    `SELECT response_id AS id, ts, model, ${TOKENS}, is_sidechain, is_counted
     FROM usage WHERE session_uid = ? AND NOT is_nested ORDER BY coalesce(ts, 0), response_id`,
    uid,
  )

/** How an allowance stood at a time. */
export interface LimitReading {
  flavor: string
  name: string
  plan: string | null
  used_percent: number | null
  left: string | null
  window_minutes: number | null
  resets_at: number | null
  at: number
  session_uid: string
}

/** By flavor and name, oldest first; `untilAt` exclusive. */
const limits = (
  { memory }: Memory,
  sinceAt: number,
  untilAt: number,
  flavor: string | null,
): LimitReading[] =>
  rows(
    memory,
    `SELECT s.flavor, l.name, l.plan, l.used_percent, l.left, l.window_minutes, l.resets_at, l.at, l.session_uid
     FROM limits l JOIN sessions s USING (session_uid)
     WHERE l.at >= ?1 AND l.at < ?2 AND (?3 IS NULL OR s.flavor = ?3) ORDER BY s.flavor, l.name, l.at, l.session_uid`,
    sinceAt,
    untilAt,
    flavor,
  )

/** What a version of the price list said of models, as JSON by name. */
const keptPrices = ({ memory }: Memory, list: string): Map<string, string> =>
  new Map(
    rows<{ name: string; listed: string }>(
      memory,
      'SELECT name, listed FROM model_prices WHERE list = ?',
      list,
    ).map((one) => [one.name, one.listed]),
  )

export const usageQuestions = {
  models,
  countedModels,
  span,
  slots,
  dearest,
  slotsOf,
  responses,
  limits,
  keptPrices,
}
