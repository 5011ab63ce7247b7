// Usage as spreadsheets read it: a line per row, with the field names of --json.
import type { UsageReport, UsageRow } from '../../query/usage.ts'

const FIELDS = [
  'key',
  'name',
  'responses',
  'input_tokens',
  'cache_read_tokens',
  'cache_write_5m_tokens',
  'cache_write_1h_tokens',
  'output_tokens',
  'reasoning_tokens',
  'total_tokens',
  'cost_usd',
  'unpriced_responses',
  'reported_cost_usd',
  'cache_savings_usd',
] as const

/** Titles come from strangers: what a spreadsheet would take for a formula is quoted as text. */
function cell(value: string | number | null | undefined): string {
  if (typeof value === 'number') return String(value)
  const text = value ?? ''
  const harmless = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}

export function usageCsv({ rows }: Pick<UsageReport, 'rows'>): string {
  const line = (row: UsageRow & { name?: string }): string =>
    FIELDS.map((field) => cell(row[field])).join(',')
  return `${[FIELDS.join(','), ...rows.map(line)].join('\r\n')}\r\n`
}
