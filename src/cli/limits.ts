// `recollect usage limits`: how much of an account's allowances was used, as agents were told.
import { RecollectError } from '../errors.ts'
import { type LimitRow, type LimitsQuestion, type LimitsReport, limitsReport } from '../query/limits.ts'
import { printCsv } from './csv.ts'
import { refuseReversed } from './filter-values.ts'
import { formatTime } from './format.ts'
import { printFolded, printJson } from './print.ts'
import { type Column, tableLines } from './table.ts'
import type { UsageCommand } from './usage.ts'
import { parseFlavor, readTime } from './values.ts'
import { withTier2 } from './with-memory.ts'

/** Of an account: an agent and a time narrow it, nothing else does. */
export function accountQuestion(what: string, options: UsageCommand): LimitsQuestion {
  for (const name of ['repo', 'host', 'domain', 'model', 'timezone'] as const)
    if (options[name] !== undefined)
      throw new RecollectError('USAGE', `${what} is an account's: --${name} says nothing of it`, {
        where: `--${name}`,
        hint: 'narrow it by --flavor, --since or --until',
      })
  const question: LimitsQuestion = {}
  if (options.since !== undefined) question.sinceAt = readTime(options.since, '--since')
  if (options.until !== undefined) question.untilAt = readTime(options.until, '--until')
  refuseReversed(question)
  if (options.flavor !== undefined) question.flavor = parseFlavor(options.flavor)
  return question
}

export async function showLimits(options: UsageCommand): Promise<void> {
  const question = accountQuestion('an allowance', options)
  const report = await withTier2((handle) => limitsReport(handle, question))
  if (options.json) printJson(report)
  else if (options.csv) printCsv(report.limits)
  else printFolded(toText(report))
}

const COLUMNS: Column<LimitRow>[] = [
  { title: 'FLAVOR', cell: (row) => row.flavor },
  { title: 'LIMIT', cell: (row) => row.limit, least: 12 },
  { title: 'PLAN', cell: (row) => row.plan ?? '', optional: 1 },
  { title: 'WINDOW', right: true, cell: (row) => windowText(row.window_minutes), optional: 0 },
  { title: 'USED', right: true, cell: usedText },
  { title: 'RESETS', cell: (row) => `${formatTime(row.resets_at)}${row.is_over ? ', past' : ''}` },
  { title: 'SEEN', cell: (row) => formatTime(row.observed_at) },
]

function toText({ limits }: LimitsReport): string {
  if (limits.length === 0) return 'no agent told of an allowance in this range'
  return tableLines(limits, COLUMNS).join('\n')
}

/** Of a window that is over: what it was, not what it is. */
function usedText({ used_percent, left, is_over }: LimitRow): string {
  return `${is_over ? 'was ' : ''}${used_percent === null ? `${left ?? '?'} left` : `${used_percent}%`}`
}

/** Some providers tell a minute less than they mean. */
function windowText(minutes: number | null): string {
  if (minutes === null) return ''
  const hours = Math.round(minutes / 60)
  return hours >= 48 ? `${Math.round(hours / 24)}d` : hours >= 1 ? `${hours}h` : `${minutes}m`
}
