// `recollect usage`: the table, and what has to be known to read it.
import { dearestSessions } from '../query/cost-order.ts'
import { pricesFor } from '../query/prices.ts'
import { sessionNames } from '../query/sessions.ts'
import { shortIds } from '../query/short-ids.ts'
import { TimeZone } from '../query/timezone.ts'
import {
  USAGE_GROUPS,
  type UsageGroup,
  type UsageReport,
  type UsageRow,
  usageReport,
} from '../query/usage.ts'
import type { Reader } from '../store/reader/index.ts'
import { SLOT_MS } from '../store/slots.ts'
import { parseInstant } from '../times.ts'
import { knownUsd, shortUsd, unitsOf } from '../usage/money.ts'
import { overridesOf } from '../usage/overrides.ts'
import { type Answers, answerFrom, sweepHint, type UsageAnswer } from './answers.ts'
import { paint } from './colour.ts'
import { printCsv } from './csv.ts'
import { refuseReversed, refuseUnknown } from './filter-values.ts'
import { formatCount } from './format.ts'
import { printFolded, printJson, tell } from './print.ts'
import { terminal } from './streams.ts'
import { type Column, SCREENFUL, tableLines } from './table.ts'
import { oneLine } from './text.ts'
import { noTime, parseChoice, parseFlavor, parseName } from './values.ts'
import { withTier2 } from './with-memory.ts'

export interface UsageCommand {
  since?: string
  until?: string
  flavor?: string
  repo?: string
  host?: string
  domain?: string
  model?: string
  timezone?: string
  json?: boolean
  csv?: boolean
}

export async function showUsage(group: string, options: UsageCommand): Promise<void> {
  const zone = new TimeZone(options.timezone)
  const question: Parameters<Answers['usage']>[0] = { group, zone }
  if (options.since !== undefined) question.sinceAt = slotAt(options.since, zone, '--since')
  if (options.until !== undefined) question.untilAt = slotAt(options.until, zone, '--until')
  refuseReversed(question)
  if (options.flavor !== undefined) question.flavor = parseFlavor(options.flavor)
  for (const name of ['repo', 'host', 'domain', 'model'] as const)
    if (options[name] !== undefined) question[name] = parseName(options[name], `--${name}`)
  // All sessions would push the dearest off a terminal.
  const isScreenful = group === 'session' && !options.json && !options.csv && terminal(1) !== undefined
  const ask = await answerFrom('usage', inMemory)
  const answer = await ask(question, isScreenful)
  const { report } = answer
  if (options.json) printJson(report)
  else if (options.csv) printCsv(report.rows)
  else printFolded(toText(answer))
  if (isScreenful && report.rows.length === SCREENFUL)
    tell(`the ${SCREENFUL} most expensive; all of them: recollect usage session | less\n`)
}

const inMemory: Answers['usage'] = async ({ group, ...question }, isScreenful) => {
  const by: UsageGroup = parseChoice(group, USAGE_GROUPS, 'usage', 'usage by')
  return withTier2(async (handle, config) => {
    const asked = { ...question, group: by, prices: await pricesFor(handle, overridesOf(config)) }
    const report = isScreenful ? dearestSessions(handle, asked, SCREENFUL) : usageReport(handle, asked)
    if (report.rows.length === 0) refuseUnknown(handle, question)
    return { report, names: namesOf(handle, report) }
  })
}

/** Days of the zone (with --until: their end), a time, or an age. */
function slotAt(text: string, zone: TimeZone, flag: '--since' | '--until'): number {
  const at = zone.dayTime(text, flag === '--until') ?? parseInstant(text)
  if (at === undefined) throw noTime(text, flag)
  return Math.floor(at / SLOT_MS) * SLOT_MS
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
  { title: 'COST', right: true, cell: knownUsd },
]
/** Shown where an agent reported any. */
const REPORTED: Column<UsageRow> = {
  title: 'REPORTED',
  right: true,
  cell: (row) => usd(row.reported_cost_usd) ?? '',
}

/** Shown where a session has sub-agents with sessions of their own. */
const TREE: Column<UsageRow> = {
  title: 'WITH-SUBS',
  right: true,
  cell: (row) => usd(row.tree_cost_usd) ?? '',
}

function namesOf(handle: Reader, { group, rows }: UsageReport): UsageAnswer['names'] {
  if (group !== 'session') return new Map()
  const uids = rows.flatMap((row) => (row.key === null ? [] : [row.key]))
  const titles = sessionNames(handle, uids)
  return new Map(
    [...shortIds(handle, uids)].map(([uid, id]) => [uid, { id, title: oneLine(titles.get(uid) ?? '') }]),
  )
}

function toText({ report, names }: UsageAnswer): string {
  const { total } = report
  if (total === null) return 'fewer than five people used anything in this range: not shown'
  if (report.rows.length === 0) return `no usage in this range${sweepHint()}`
  const key: Column<UsageRow> = {
    title: report.group.toUpperCase(),
    cell: (row) => (row === total ? 'total' : (names.get(row.key ?? '')?.id ?? row.key ?? '(unknown)')),
    ...(names.size > 0 ? {} : { least: 16 }),
  }
  const title: Column<UsageRow> = {
    title: 'TITLE',
    cell: (row) => names.get(row.key ?? '')?.title ?? '',
    least: 12,
    optional: 0,
  }
  const columns = [
    key,
    ...(names.size > 0 ? [title] : []),
    ...COLUMNS,
    ...(report.rows.some((row) => row.tree_cost_usd !== null) ? [TREE] : []),
    ...(total.reported_responses > 0 ? [REPORTED] : []),
  ]
  const lines = tableLines([...report.rows, total], columns)
  return [...lines.slice(0, -1), paint.bold(lines.at(-1) as string), '', ...notes({ ...report, total })].join(
    '\n',
  )
}

const usd = (amount: string | null): string | undefined =>
  amount === null ? undefined : shortUsd(unitsOf(amount))

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
      `no price known for ${oneLine(model ?? 'a model without a name')}: ${responses} responses, ${formatCount(total_tokens)} tokens`,
    )
  if (unpriced.length > 0) lines.push('give a price in config.toml: docs/usage.md')
  return lines
}
