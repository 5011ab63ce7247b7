// Tables: sorted by a click on a heading (kept in the address), with their total below, in a box of their own that scrolls.
import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { count } from './format.ts'
import { param, setParams, withParams } from './router.ts'

export interface Column<T> {
  title: string
  cell: (row: T) => ComponentChildren
  isNumber?: boolean
  /** Takes the room that the others leave; what does not fit is clipped. */
  isRest?: boolean
  /** What it can be sorted by. */
  value?: (row: T) => number | string
}

interface TableProps<T> {
  columns: Column<T>[]
  rows: readonly T[]
  caption: string
  limit?: number
  /** A last row, of all of them. */
  total?: T
}

/** `cost` is greatest first, `-cost` the other way round. */
const orderOf = (): { by: string; isReversed: boolean } => {
  const order = param('order') ?? ''
  return { by: order.replace(/^-/, ''), isReversed: order.startsWith('-') }
}

const keyOf = (title: string): string => title.toLowerCase().replaceAll(' ', '_')

function sorted<T>(rows: readonly T[], columns: readonly Column<T>[]): readonly T[] {
  const { by, isReversed } = orderOf()
  const value = columns.find((one) => one.value && keyOf(one.title) === by)?.value
  if (!value) return rows
  const sign = isReversed ? -1 : 1
  return rows.toSorted((a, b) => {
    const [left, right] = [value(a), value(b)]
    if (left === right) return 0
    // Numbers greatest first, names from A.
    const isBefore = typeof left === 'number' ? left > (right as number) : left < right
    return isBefore ? -sign : sign
  })
}

export function Table<T>(props: TableProps<T>): JSX.Element {
  const [isAll, setAll] = useState(false)
  const limit = isAll ? props.rows.length : (props.limit ?? 100)
  const { columns } = props
  const cells = (row: T): JSX.Element[] =>
    columns.map((column) => (
      <td class={column.isNumber ? 'number' : column.isRest ? 'rest' : ''}>{column.cell(row)}</td>
    ))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="table-scroll" tabIndex={0} aria-label={props.caption}>
      <table>
        <caption class="visually-hidden">{props.caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted(props.rows, columns)
            .slice(0, limit)
            .map((row) => (
              <tr>{cells(row)}</tr>
            ))}
        </tbody>
        {props.total !== undefined && (
          <tfoot>
            <tr>{cells(props.total)}</tr>
          </tfoot>
        )}
      </table>
      {props.rows.length > limit && (
        <button type="button" class="quiet" onClick={() => setAll(true)}>
          show all {props.rows.length}
        </button>
      )}
    </section>
  )
}

function Heading<T>({ column }: { column: Column<T> }): JSX.Element {
  const { by, isReversed } = orderOf()
  const key = keyOf(column.title)
  const isHere = by === key
  if (!column.value)
    return (
      <th scope="col" class={column.isNumber ? 'number' : ''}>
        {column.title}
      </th>
    )
  const isDown = (column.isNumber === true) !== isReversed
  return (
    <th
      scope="col"
      class={column.isNumber ? 'number' : ''}
      aria-sort={isHere ? (isDown ? 'descending' : 'ascending') : undefined}
    >
      <a class="sorts" href={withParams({ order: isHere && !isReversed ? `-${key}` : key })}>
        {column.title}
        {isHere && <span aria-hidden="true">{isDown ? ' ↓' : ' ↑'}</span>}
      </a>
    </th>
  )
}

/** A drawing with the same figures as a table, one click away and always there for screen readers. */
export function ChartWithTable<T>(props: {
  name: string
  columns: Column<T>[]
  rows: readonly T[]
  children: ComponentChildren
}): JSX.Element {
  return (
    <div class="chart">
      <div class="drawing">{props.children}</div>
      <AsTable>
        <Table columns={props.columns} rows={props.rows} caption={props.name} />
      </AsTable>
    </div>
  )
}

export const AsTable = ({ children }: { children: ComponentChildren }): JSX.Element => (
  <details class="as-table">
    <summary>as a table</summary>
    {children}
  </details>
)

/** A part of a list, kept in the address, and the ways to what stands before and after it. */
export function Pager({ from, size, total }: { from: number; size: number; total: number }): JSX.Element {
  const move = (to: number): void => setParams({ from: to <= 0 ? undefined : String(to) })
  return (
    <span>
      {count(Math.min(from + 1, total))}–{count(Math.min(from + size, total))} of {count(total)}{' '}
      <button type="button" class="quiet" disabled={from === 0} onClick={() => move(from - size)}>
        ← earlier
      </button>{' '}
      <button type="button" class="quiet" disabled={from + size >= total} onClick={() => move(from + size)}>
        later →
      </button>
    </span>
  )
}
