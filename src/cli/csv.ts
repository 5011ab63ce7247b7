// Rows as CSV (RFC 4180), for spreadsheets: the fields of the JSON document, one column each, values as they are.
import { RecollectError } from '../errors.ts'
import { write } from './print.ts'

type Row = Record<string, unknown>

export interface FormFlags {
  csv?: boolean
  json?: boolean
}

/** Where something is written there is no table. */
export function refuseCsv({ csv }: FormFlags): void {
  if (csv)
    throw new RecollectError('USAGE', '--csv is the form of a list, and this is none', {
      where: '--csv',
      hint: 'leave it out, or ask for --json',
    })
}

/** Every row has the columns of all; of no rows nobody knows the columns. */
export function printCsv(rows: readonly object[]): void {
  if (rows.length === 0) return
  const flat = rows.map((row) => new Map(fieldsOf(row as Row, '')))
  const columns = [...new Set(flat.flatMap((row) => [...row.keys()]))]
  const lines = flat.map((row) => columns.map((name) => cell(row.get(name))).join(','))
  write([columns.map((name) => cell(name)).join(','), ...lines].map((line) => `${line}\r\n`).join(''))
}

/** Parts of objects by their path (`cost.turns`), texts of a list together, other lists by how many they hold. */
function* fieldsOf(row: Row, path: string): Generator<[string, unknown]> {
  for (const [name, value] of Object.entries(row)) {
    if (Array.isArray(value))
      yield [path + name, value.every((one) => typeof one === 'string') ? value.join(' ') : value.length]
    else if (typeof value === 'object' && value !== null) yield* fieldsOf(value as Row, `${path}${name}.`)
    else yield [path + name, value]
  }
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') return String(value)
  // A spreadsheet would run what looks like a formula, and titles are foreign text.
  const text = /^[=+\-@\t\r]/.test(value) && !/^-?\d+(?:\.\d+)?$/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
