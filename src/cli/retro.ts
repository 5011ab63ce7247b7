// `recollect retro`: asks for the account and prints it as text, Markdown, HTML or JSON.
import { RecollectError } from '../errors.ts'
import { pricesFor } from '../query/prices.ts'
import { shortIds } from '../query/short-ids.ts'
import { TimeZone } from '../query/timezone.ts'
import { retroDocument } from '../retro/document.ts'
import { toHtml } from '../retro/html.ts'
import { type RetroQuestion, retroReport } from '../retro/index.ts'
import { toMarkdown } from '../retro/markdown.ts'
import { periodOf } from '../retro/period.ts'
import type { Cell, Chart, RetroDocument, Section, Table } from '../retro/sections.ts'
import { overridesOf } from '../usage/overrides.ts'
import { type Answers, answerFrom } from './answers.ts'
import { paint } from './colour.ts'
import { printFolded, printJson, write } from './print.ts'
import { type Column, tableLines } from './table.ts'
import { oneLine, widthOf } from './text.ts'
import { parseChoice, parseFlavor, parseName } from './values.ts'
import { withTier2 } from './with-memory.ts'

const FORMATS = ['text', 'md', 'html', 'json'] as const

export interface RetroCommand {
  week?: string | true
  month?: string | true
  since?: string
  until?: string
  flavor?: string
  repo?: string
  host?: string
  domain?: string
  timezone?: string
  format: string
  json?: boolean
}

export async function showRetro(options: RetroCommand): Promise<void> {
  const format = options.json ? 'json' : parseChoice(options.format, FORMATS, '--format', 'format')
  refuseTwo(options)
  const zone = new TimeZone(options.timezone)
  const question: Omit<RetroQuestion, 'prices'> = {
    period: periodOf(options, zone, Date.now()),
    zone,
  }
  if (options.flavor !== undefined) question.flavor = parseFlavor(options.flavor)
  for (const name of ['repo', 'host', 'domain'] as const)
    if (options[name] !== undefined) question[name] = parseName(options[name], `--${name}`)
  const ask = await answerFrom('retro', inMemory)
  const { report, document } = await ask(question)
  if (format === 'json') printJson(report)
  else if (format === 'html') write(toHtml(document))
  else if (format === 'md') write(toMarkdown(document))
  else printFolded(toText(document))
}

const inMemory: Answers['retro'] = (question) =>
  withTier2(async (handle, config) => {
    const prices = await pricesFor(handle, overridesOf(config))
    const report = retroReport(handle, { ...question, prices })
    const known = new Map<string, string>()
    const shorten = (ref: string): string => {
      const [, uid, seq] = /^(.*?)(#\d+)?$/s.exec(ref) as unknown as [string, string, string | undefined]
      const short = known.get(uid) ?? (shortIds(handle, [uid]).get(uid) as string)
      known.set(uid, short)
      return short + (seq ?? '')
    }
    return { report, document: retroDocument(report, shorten) }
  })

function refuseTwo(options: RetroCommand): void {
  const given = [
    options.week === undefined ? '' : '--week',
    options.month === undefined ? '' : '--month',
    options.since === undefined && options.until === undefined ? '' : '--since/--until',
  ].filter(Boolean)
  if (given.length < 2) return
  throw new RecollectError('USAGE', `${given.join(' and ')} say different days`, {
    where: given[1] as string,
    hint: 'give one of them',
  })
}

function toText(document: RetroDocument): string {
  const widest = Math.max(...document.figures.map((one) => one.label.length))
  const lines = [
    paint.bold(`${document.title}  ${document.subtitle}`),
    '',
    ...document.figures.map(
      ({ label, value, change }) =>
        `${label.padEnd(widest)}  ${paint.bold(value.padStart(10))}  ${paint.dim(change)}`,
    ),
    ...document.sections.flatMap(sectionLines),
    '',
    ...document.notes.map((note) => paint.dim(note)),
  ]
  return lines.join('\n')
}

function sectionLines({ title, lines, charts, table }: Section): string[] {
  const columns = table ? columnsOf(table) : []
  const chart = charts.find((one) => one.kind === 'columns')
  if (chart && table) columns.push(barColumn(chart, table.rows))
  return [
    '',
    paint.bold(title),
    ...lines.map((line) => oneLine(line)),
    ...(table ? tableLines(table.rows, columns) : []),
  ]
}

/** What it is about and where to look stay; of the rest, words go before figures, and the last figure goes last. */
function columnsOf({ columns, rows }: Table): Column<Cell[]>[] {
  return columns.map(({ title, isNumber }, at) => {
    const isEnd = at === 0 || at === columns.length - 1
    const cells = rows.map((row) => row[at] ?? '')
    return {
      title: title.toUpperCase(),
      cell: (row) => cellText(row[at] ?? ''),
      ...(isNumber ? { right: true } : roomFor(cells)),
      ...(isEnd ? {} : { optional: (isNumber ? 1 : 100) + columns.length - at }),
    }
  })
}

/** Of references whole ones are shown, and a date without its end is none. */
function roomFor(cells: readonly Cell[]): Pick<Column<Cell[]>, 'least' | 'isList'> {
  if (cells.some((cell) => typeof cell === 'object' && 'refs' in cell)) {
    const first = cells.map((cell) => cellText(cell).split(' ')[0] as string)
    return { isList: true, least: Math.max(...first.map(widthOf)) }
  }
  return cells.every((cell) => /^\d{4}-\d\d-\d\d$/.test(cellText(cell))) ? {} : { least: 12 }
}

const cellText = (cell: Cell): string =>
  oneLine(typeof cell === 'string' ? cell : 'code' in cell ? cell.code : cell.refs.join(' '))

/** A chart of days is one more column of their table. */
function barColumn({ title, items }: Chart, rows: readonly Cell[][]): Column<Cell[]> {
  const most = Math.max(...items.map((item) => item.value), 0)
  const length = (row: Cell[]): number => {
    const value = items[rows.indexOf(row)]?.value ?? 0
    return value > 0 ? Math.max(1, Math.round((24 * value) / most)) : 0
  }
  return { title: title.toUpperCase(), cell: (row) => '▇'.repeat(length(row)), least: 4, optional: 1000 }
}
