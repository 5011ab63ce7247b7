// `recollect usage`: the table, and what has to be known to read it.
import { Config, parseDuration } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { pricesFor } from '../query/prices.ts'
import { TimeZone } from '../query/timezone.ts'
import {
  USAGE_GROUPS,
  type UsageQuestion,
  type UsageReport,
  type UsageRow,
  usageReport,
} from '../query/usage.ts'
import { SLOT_MS } from '../store/slots.ts'
import { openMemory, storePaths } from '../store/sqlite.ts'
import { shortUsd, unitsOf } from '../usage/money.ts'
import { readOverrides } from '../usage/overrides.ts'
import { paint } from './colour.ts'
import { formatCount } from './format.ts'
import { print, printJson } from './print.ts'
import { type Column, tableLines } from './table.ts'
import { parseChoice, parseFlavor } from './values.ts'

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
  const question: Omit<UsageQuestion, 'prices'> = {
    group: parseChoice(group, USAGE_GROUPS, 'usage', 'usage by'),
    zone,
  }
  if (options.since) question.sinceAt = parseTime(options.since, zone, '--since')
  if (options.until) question.untilAt = parseTime(options.until, zone, '--until')
  if (options.flavor) question.flavor = parseFlavor(options.flavor)
  for (const name of ['repo', 'domain', 'model'] as const) if (options[name]) question[name] = options[name]
  const overrides = readOverrides(config.get('prices'), config.get('price_aliases'))
  const handle = openMemory(storePaths(config.home, config.get('store.db_path')))
  try {
    const report = usageReport(handle, { ...question, prices: await pricesFor(handle, overrides) })
    if (options.json) printJson(report)
    else print(toText(report))
  } finally {
    handle.close()
  }
}

/** A day of the zone (with --until: its end), a time, or an age. */
function parseTime(text: string, zone: TimeZone, flag: '--since' | '--until'): number {
  const age = parseDuration(text)
  const at =
    zone.dayTime(text, flag === '--until') ?? (age === undefined ? Date.parse(text) : Date.now() - age)
  if (!Number.isNaN(at)) return Math.floor(at / SLOT_MS) * SLOT_MS
  throw new RecollectError('USAGE', `${text} is no time`, {
    where: flag,
    hint: 'a date such as 2026-11-01, or an age such as 30d',
  })
}

const count = (title: string, pick: (row: UsageRow) => number, optional?: number): Column<UsageRow> => ({
  title,
  right: true,
  cell: (row) => formatCount(pick(row)),
  ...(optional === undefined ? {} : { optional }),
})
const COLUMNS: Column<UsageRow>[] = [
  count('RESP', (row) => row.responses, 2),
  count('INPUT', (row) => row.input_tokens),
  count('CACHE-R', (row) => row.cache_read_tokens, 1),
  count('CACHE-W', (row) => row.cache_write_5m_tokens + row.cache_write_1h_tokens, 1),
  count('OUTPUT', (row) => row.output_tokens),
  { title: 'COST', right: true, cell: costCell },
]
/** Shown where an agent reported any. */
const REPORTED: Column<UsageRow> = {
  title: 'REPORTED',
  right: true,
  cell: (row) => usd(row.reported_cost_usd) ?? '',
}

function toText(report: UsageReport): string {
  if (report.rows.length === 0) return 'no usage in this range; recollect sweep reads what agents left'
  const key: Column<UsageRow> = {
    title: report.group.toUpperCase(),
    cell: (row) => (row === report.total ? 'total' : (row.key ?? '(unknown)')),
    least: 16,
    isId: report.group === 'session',
  }
  const columns = [key, ...COLUMNS, ...(report.total.reported_responses > 0 ? [REPORTED] : [])]
  const lines = tableLines([...report.rows, report.total], columns)
  return [...lines.slice(0, -1), paint.bold(lines.at(-1) as string), '', ...notes(report)].join('\n')
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
      `no price known for ${model ?? 'a model without a name'}: ${responses} responses, ${formatCount(total_tokens)} tokens`,
    )
  if (unpriced.length > 0) lines.push('give a price in config.toml: docs/usage.md')
  return lines
}
