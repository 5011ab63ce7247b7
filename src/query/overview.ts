// The first look: figures of a span of time, cost per day and model, a year of days, what runs now.
import { DAY, LIVE_MS } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { PriceBook } from '../usage/prices.ts'
import { type Brief, briefsOf, type Line } from './briefs.ts'
import { isOwn } from './narrow.ts'
import type { TimeZone } from './timezone.ts'
import { type DayModelCost, type UsageRow, usageByDayAndModel, usageReport } from './usage.ts'

export interface OverviewQuestion {
  days: number
  zone: TimeZone
  prices: PriceBook
  now: number
}

export interface Overview {
  days: number
  timezone: string
  since: string
  totals: OverviewTotals
  cost_by_day: DayModelCost[]
  calendar: { day: string; sessions: number; active_s: number }[]
  live: Brief[]
  dearest: Brief[]
  outcomes: Record<string, number>
  unpriced: { model: string | null; responses: number; total_tokens: number }[]
  sole_copies: number
  sessions_ever: number
}

export interface OverviewTotals {
  sessions: number
  active_s: number
  tool_calls: number
  errors: number
  /** Errors per tool call; null without a call. */
  error_rate: number | null
  /** What part of the tokens given to models came from their cache. */
  cache_hit_share: number | null
  usage: UsageRow
}

const DEAREST = 6
export function overviewOf(handle: Reader, lines: readonly Line[], question: OverviewQuestion): Overview {
  const { zone, prices, now, days } = question
  const sinceAt = now - days * DAY
  const since = new Date(sinceAt).toISOString()
  const own = lines.filter(isOwn)
  const recent = own.filter((line) => (line.ended_at ?? line.started_at ?? 0) >= sinceAt)
  const usage = usageReport(handle, { group: 'model', zone, prices, sinceAt })
  return {
    days,
    timezone: zone.name,
    since,
    totals: totalsOf(recent, usage.total),
    cost_by_day: usageByDayAndModel(handle, { group: 'day', zone, prices, sinceAt }),
    calendar: calendarOf(own, zone.name, now),
    live: briefsOf(
      handle,
      own.filter((line) => line.ended_at !== null && now - line.ended_at < LIVE_MS),
    ),
    dearest: briefsOf(handle, dearestOf(recent)),
    outcomes: countBy(recent, (line) => line.outcome),
    unpriced: usage.models
      .filter((one) => one.priced_as === null)
      .map(({ model, responses, total_tokens }) => ({ model, responses, total_tokens })),
    sole_copies: own.filter((line) => line.is_sole_copy === 1).length,
    sessions_ever: own.length,
  }
}

/** Sorted as numbers once, not at each comparison. */
function dearestOf(lines: readonly Line[]): Line[] {
  const costs = lines.map((line) => ({ line, usd: Number(line.cost_usd ?? 0) }))
  return costs
    .sort((a, b) => b.usd - a.usd)
    .slice(0, DEAREST)
    .map((one) => one.line)
}

function totalsOf(recent: readonly Line[], usage: UsageRow): OverviewTotals {
  const sum = (of: (line: Line) => number): number => recent.reduce((total, line) => total + of(line), 0)
  const calls = sum((line) => line.tool_calls)
  const errors = sum((line) => line.error_count)
  const given =
    usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  return {
    sessions: recent.length,
    active_s: sum((line) => line.active_s),
    tool_calls: calls,
    errors,
    error_rate: calls === 0 ? null : Math.min(1, errors / calls),
    cache_hit_share: given === 0 ? null : usage.cache_read_tokens / given,
    usage,
  }
}

const countBy = (rows: readonly Line[], of: (line: Line) => string): Record<string, number> => {
  const counts: Record<string, number> = {}
  for (const row of rows) counts[of(row)] = (counts[of(row)] ?? 0) + 1
  return counts
}

/** The last year, days with something in them only. */
function calendarOf(lines: readonly Line[], timeZone: string, now: number): Overview['calendar'] {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  const from = now - 371 * DAY
  const days = new Map<string, { day: string; sessions: number; active_s: number }>()
  for (const line of lines) {
    if (line.started_at === null || line.started_at < from) continue
    const day = format.format(line.started_at)
    const known = days.get(day) ?? { day, sessions: 0, active_s: 0 }
    days.set(day, known)
    known.sessions++
    known.active_s += line.active_s
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1))
}
