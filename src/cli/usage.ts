// `recollect usage`: the table, and what has to be known to read it.
import { Config, nearest, parseDuration } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { TimeZone } from '../query/timezone.ts'
import {
  USAGE_GROUPS,
  type UsageGroup,
  type UsageQuestion,
  type UsageReport,
  type UsageRow,
  usageReport,
} from '../query/usage.ts'
import { SLOT_MS } from '../store/slots.ts'
import { openForReading, storePaths } from '../store/sqlite.ts'
import { shortUsd, unitsOf } from '../usage/money.ts'
import { readOverrides } from '../usage/overrides.ts'
import { loadPrices } from '../usage/prices.ts'

export interface UsageCommand {
  since?: string
  until?: string
  flavor?: string
  repo?: string
  domain?: string
  model?: string
  timezone?: string
  json?: boolean
}

export async function showUsage(group: string, options: UsageCommand): Promise<void> {
  const config = new Config()
  const zone = new TimeZone(options.timezone)
  const question: UsageQuestion = {
    group: parseGroup(group),
    zone,
    prices: await loadPrices(readOverrides(config.get('prices'), config.get('price_aliases'))),
  }
  if (options.since) question.sinceAt = parseTime(options.since, zone, '--since')
  if (options.until) question.untilAt = parseTime(options.until, zone, '--until')
  for (const name of ['flavor', 'repo', 'domain', 'model'] as const)
    if (options[name]) question[name] = options[name]
  const handle = openForReading(storePaths(config.home, config.get('store.db_path')))
  try {
    const report = usageReport(handle, question)
    process.stdout.write(options.json ? `${JSON.stringify(report, null, 2)}\n` : toText(report))
  } finally {
    handle.close()
  }
}

function parseGroup(text: string): UsageGroup {
  if ((USAGE_GROUPS as readonly string[]).includes(text)) return text as UsageGroup
  const near = nearest(text, USAGE_GROUPS)
  throw new RecollectError('USAGE', `no usage by ${text}`, {
    where: 'usage',
    hint: near ? `did you mean ${near}?` : `one of ${USAGE_GROUPS.join(', ')}`,
  })
}

/** A day of the zone (with --until: its end), a time, or an age. */
function parseTime(text: string, zone: TimeZone, flag: '--since' | '--until'): number {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) / 86_400_000 : undefined
  if (day !== undefined && Number.isInteger(day))
    return zone.firstSlotOf(flag === '--until' ? day + 1 : day) * SLOT_MS
  const age = parseDuration(text)
  const at = day === undefined ? (age === undefined ? Date.parse(text) : Date.now() - age) : Number.NaN
  if (!Number.isNaN(at)) return Math.floor(at / SLOT_MS) * SLOT_MS
  throw new RecollectError('USAGE', `${text} is no time`, {
    where: flag,
    hint: 'a date such as 2026-11-01, or an age such as 30d',
  })
}

interface Column {
  title: string
  cell: (row: UsageRow) => string
}

const WIDTH = 80
const COLUMNS: Column[] = [
  { title: 'RESP', cell: (row) => short(row.responses) },
  { title: 'INPUT', cell: (row) => short(row.input_tokens) },
  { title: 'CACHE-R', cell: (row) => short(row.cache_read_tokens) },
  { title: 'CACHE-W', cell: (row) => short(row.cache_write_5m_tokens + row.cache_write_1h_tokens) },
  { title: 'OUTPUT', cell: (row) => short(row.output_tokens) },
  { title: 'COST', cell: costCell },
]
/** Shown where an agent reported any. */
const REPORTED: Column = { title: 'REPORTED', cell: (row) => usd(row.reported_cost_usd) ?? '' }

function toText(report: UsageReport): string {
  if (report.rows.length === 0) return 'no usage in this range; recollect sweep reads what agents left\n'
  const columns = report.total.reported_responses > 0 ? [...COLUMNS, REPORTED] : COLUMNS
  const body = [...report.rows, report.total].map((row) => columns.map(({ cell }) => cell(row)))
  const titles = columns.map(({ title }) => title)
  const widths = titles.map((title, i) =>
    body.reduce((most, cells) => Math.max(most, cells[i]?.length ?? 0), title.length),
  )
  const keyWidth = WIDTH - widths.reduce((sum, width) => sum + width + 2, 0)
  const keys = report.rows.map((row) => keyCell(row.key, report.group, keyWidth))
  const line = (key: string, cells: string[]): string =>
    [key.padEnd(keyWidth), ...cells.map((cell, i) => cell.padStart(widths[i] ?? 0))].join('  ').trimEnd()
  const lines = [
    line(report.group.toUpperCase(), titles),
    ...body.map((cells, i) => line(keys[i] ?? 'total', cells)),
    '',
    ...notes(report),
  ]
  return `${lines.join('\n')}\n`
}

/** Sessions are cut without a sign: the beginning of an id is an id. */
function keyCell(key: string | null, group: UsageGroup, width: number): string {
  const text = key ?? '(unknown)'
  if (text.length <= width) return text
  return group === 'session' ? text.slice(0, width) : `${text.slice(0, width - 1)}…`
}

const usd = (amount: string | null): string | undefined =>
  amount === null ? undefined : shortUsd(unitsOf(amount))

function costCell(row: UsageRow): string {
  const cost = usd(row.cost_usd)
  if (cost === undefined) return '?'
  return row.unpriced_responses > 0 ? `${cost}+?` : cost
}

function notes(report: UsageReport): string[] {
  const { total, prices } = report
  const lines = [
    `days in ${report.timezone}; list prices of ${prices.date} (${prices.list} ${prices.version})`,
  ]
  const saved = usd(total.cache_savings_usd)
  if (saved !== undefined) lines.push(`caching saved ${saved}, extra cost of cache writes already taken off`)
  const unpriced = report.models.filter((one) => one.priced_as === null)
  for (const { model, responses, total_tokens } of unpriced)
    lines.push(
      `no price known for ${model ?? 'a model without a name'}: ${responses} responses, ${short(total_tokens)} tokens`,
    )
  if (unpriced.length > 0) lines.push('give a price in config.toml: docs/usage.md')
  return lines
}

/** 1234567 → 1.2M, in at most six characters. */
export function short(count: number): string {
  const units = ['', 'K', 'M', 'G', 'T']
  let power = 0
  let value = count
  while (value >= 1000 && power < units.length - 1) {
    value /= 1000
    power++
  }
  const text = power === 0 ? String(count) : value.toFixed(1)
  return text === '1000.0' && power < units.length - 1 ? `1.0${units[power + 1]}` : `${text}${units[power]}`
}
