// Rows in columns that fit the width there is: flexible columns are cut, then optional ones left out. In a pipe nothing
// is cut.
import { harmless } from '../export/text.ts'
import { paint } from './colour.ts'
import { outputWidth } from './print.ts'
import { cut, take, takeWords, widthOf } from './text.ts'

export interface Column<Row> {
  title: string
  cell: (row: Row) => string
  /** Numbers stand at the right. */
  right?: boolean
  /** May be cut down to so many cells when there is too little room. */
  least?: number
  /** Cut without a sign: the beginning of an id is an id. */
  isId?: boolean
  /** Cut between words only: each of them is good for itself. */
  isList?: boolean
  /** Left out, the highest number first, when cutting is not enough. */
  optional?: number
  /** Given the text that fits: how it looks. */
  style?: (text: string, row: Row) => string
}

/** Rows on a terminal, unless told: more would push the first ones, which matter most, off the screen. */
export const SCREENFUL = 50

const GAP = '  '

/** Names of models and repositories are foreign text, and a colour of theirs would hide what stands behind it. */
const plain = (text: string): string => harmless(text).replace(/[\n\t]/g, ' ')

/** The lines of a table, its titles first. */
export function tableLines<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width = outputWidth(),
): string[] {
  const cells = new Map(columns.map((column) => [column, rows.map((row) => plain(column.cell(row)))]))
  const natural = (column: Column<Row>): number =>
    (cells.get(column) ?? []).reduce((most, text) => Math.max(most, widthOf(text)), widthOf(column.title))
  const fitted = fitColumns(columns, natural, width)
  const line = (texts: string[], styled: (text: string, at: number) => string): string =>
    fitted
      .map(([column, size], at) => {
        const shorten = column.isId ? take : column.isList ? takeWords : cut
        const text = shorten(texts[at] as string, size)
        const isLast = at === fitted.length - 1
        const room = ' '.repeat(Math.max(0, size - widthOf(text)))
        const shown = styled(text, at)
        if (column.right) return room + shown
        return isLast ? shown : shown + room
      })
      .join(GAP)
      .trimEnd()
  const titles = line(
    fitted.map(([column]) => column.title),
    (text) => paint.bold(text),
  )
  const body = rows.map((row, index) =>
    line(
      fitted.map(([column]) => (cells.get(column) as string[])[index] as string),
      (text, at) => fitted[at]?.[0].style?.(text, row) ?? text,
    ),
  )
  return [titles, ...body]
}

function fitColumns<Row>(
  columns: readonly Column<Row>[],
  natural: (column: Column<Row>) => number,
  width: number,
): [Column<Row>, number][] {
  const sized = columns.map((column): [Column<Row>, number] => [column, natural(column)])
  let over = sized.reduce((sum, [, size]) => sum + size + GAP.length, -GAP.length) - width
  if (over <= 0) return sized
  // The widest flexible column gives first, so that no one column pays for all.
  const flexible = sized.filter(([column]) => column.least !== undefined)
  while (over > 0) {
    const widest = flexible
      .filter(([column, size]) => size > (column.least as number))
      .sort((a, b) => b[1] - a[1])[0]
    if (!widest) break
    widest[1]--
    over--
  }
  if (over <= 0) return sized
  const leaveOut = columns
    .filter((column) => column.optional !== undefined)
    .sort((a, b) => (b.optional as number) - (a.optional as number))[0]
  if (leaveOut)
    return fitColumns(
      columns.filter((column) => column !== leaveOut),
      natural,
      width,
    )
  // On a very narrow terminal a few letters are better than lines that run over.
  for (const one of flexible) {
    const given = Math.min(over, Math.max(0, one[1] - FEWEST))
    one[1] -= given
    over -= given
  }
  return sized
}

const FEWEST = 6
