// What retrospectives are made of, of one machine and of a team: the document, and the parts that both have.
import { OUTCOME_WORDS, type Outcome } from '../model.ts'
import { changeOf, costText, count, percent, tokens } from './words.ts'

/** `code` is shown as it would be typed; `refs` are places to look, `ID#SEQ`. */
export type Cell = string | { code: string } | { refs: readonly string[] }

export interface Table {
  columns: { title: string; isNumber?: boolean }[]
  rows: Cell[][]
}

export interface Chart {
  /** `columns`: one bar per day, standing; `parts`: one bar, divided. */
  kind: 'columns' | 'parts'
  title: string
  items: { label: string; value: number; shown: string; role?: string }[]
}

export interface Section {
  title: string
  lines: string[]
  charts: Chart[]
  table?: Table
}

export interface RetroDocument {
  title: string
  subtitle: string
  figures: { label: string; value: string; change: string }[]
  sections: Section[]
  notes: string[]
}

type Column = Table['columns'][number]

export const numbers = (...titles: string[]): Column[] => titles.map((title) => ({ title, isNumber: true }))

/** Nothing where there are no rows. */
export function tableSection(
  title: string,
  columns: readonly (string | Column)[],
  rows: Cell[][],
  lines: string[] = [],
): Section | undefined {
  if (rows.length === 0) return undefined
  const named = columns.map((one) => (typeof one === 'string' ? { title: one } : one))
  return { title, lines, charts: [], table: { columns: named, rows } }
}

/** `see`: what stands in further columns. */
export function outcomeSection(
  outcomes: readonly { outcome: Outcome; count: number; see?: Cell[] }[],
  sessions: number,
  more: readonly string[] = [],
): Section {
  const title = 'How sessions ended'
  const items = outcomes.map(({ outcome, count: value }) => ({
    label: OUTCOME_WORDS[outcome],
    value,
    shown: count(value),
    role: outcome,
  }))
  const rows = outcomes.map(({ outcome, count: value, see = [] }) => [
    OUTCOME_WORDS[outcome],
    count(value),
    percent(value, sessions),
    ...see,
  ])
  const columns = [
    { title: 'Outcome' },
    ...numbers('Sessions', 'Share'),
    ...more.map((one) => ({ title: one })),
  ]
  return {
    title,
    lines: [],
    charts: [{ kind: 'parts', title: 'Sessions by outcome', items }],
    table: { columns, rows },
  }
}

interface Spent {
  key: string | null
  total_tokens: number
  cost_usd: string | null
  unpriced_responses?: number
}

/** What was spent on each of something. */
export const spentSection = (
  title: string,
  column: string,
  rows: readonly Spent[],
  limit = 12,
): Section | undefined =>
  tableSection(
    title,
    [column, ...numbers('Tokens', 'Cost')],
    rows.slice(0, limit).map((one) => [one.key ?? '(unknown)', tokens(one.total_tokens), costText(one)]),
  )

type Costs = Omit<Spent, 'key' | 'unpriced_responses'> & { unpriced_responses: number }

export function costFigure(totals: Costs, then: Costs | null): RetroDocument['figures'][number] {
  const cents = (of: Costs): number => Number(of.cost_usd ?? 0)
  return {
    label: 'cost, list prices',
    value: costText(totals),
    change: then === null ? 'too few people before' : changeOf(cents(totals), cents(then)),
  }
}

export function costNotes(
  prices: { list: string; version: string; date: string },
  totals: Costs | null,
): string[] {
  const notes = [
    `Costs are list prices of ${prices.date} (${prices.list} ${prices.version}); subscriptions are not billed that way.`,
  ]
  if (totals !== null && totals.unpriced_responses > 0)
    notes.push(
      `${count(totals.unpriced_responses)} responses are of models without a known price and missing in the cost.`,
    )
  return notes
}
