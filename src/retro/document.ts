// A retrospective as a document: figures, sections, tables and charts, in words. The three renderers (text, Markdown,
// HTML) know nothing of what it is about, so all three say the same.
import { OUTCOME_WORDS, type Outcome } from '../model.ts'
import type { RetroReport, RetroShare, RetroTotals } from './report.ts'
import { changeOf, costText, count, duration, money, percent, tokens } from './words.ts'

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

/** `shorten` turns `uid#seq` into what people type. */
export function retroDocument(report: RetroReport, shorten: (ref: string) => string): RetroDocument {
  const refs = (all: readonly string[]): Cell => ({ refs: all.map(shorten) })
  const sections = [
    daysSection(report),
    outcomeSection(report, refs),
    failureSection(report, refs, shorten),
    loopSection(report, refs),
    dearestSection(report, refs),
    sharesSection('By agent', 'Agent', report.flavors),
    sharesSection('By repository', 'Repository', report.repos),
    spentSection('By model', 'Model', report.models),
    fileSection(report, refs),
    testSection(report, refs),
    signalSection(report, refs),
    decisionSection(report, refs),
  ]
  return {
    title: 'Retrospective',
    subtitle: `${report.period.label} (${report.period.timezone}), compared with ${report.previous.label}`,
    figures: figuresOf(report),
    sections: sections.filter((one) => one !== undefined),
    notes: notesOf(report, shorten),
  }
}

function figuresOf({ totals, previous_totals: then }: RetroReport): RetroDocument['figures'] {
  const figure = (label: string, pick: (of: RetroTotals) => number, show: (value: number) => string) => ({
    label,
    value: show(pick(totals)),
    change: changeOf(pick(totals), pick(then)),
  })
  const cents = (of: RetroTotals): number => Number(of.cost_usd ?? 0)
  const cost = figure('cost, list prices', cents, () => costText(totals))
  return [
    figure('sessions', (of) => of.sessions, count),
    figure('active time', (of) => of.active_s, duration),
    figure('tokens', (of) => of.total_tokens, tokens),
    cost,
    figure('edits', (of) => of.edits, count),
    figure('test runs', (of) => of.test_runs, count),
    figure('errors', (of) => of.errors, count),
    figure('commits', (of) => of.commits, count),
  ]
}

function daysSection({ days }: RetroReport): Section {
  const label = (date: string): string => date.slice(5)
  return {
    title: 'Day by day',
    lines: ['Sessions on the day they ended; tokens and cost on the day of each response.'],
    charts: [
      {
        kind: 'columns',
        title: 'Cost per day',
        items: days.map((day) => ({
          label: label(day.date),
          value: Number(day.cost_usd ?? 0),
          shown: money(day.cost_usd ?? '0'),
        })),
      },
      {
        kind: 'columns',
        title: 'Active time per day',
        items: days.map((day) => ({
          label: label(day.date),
          value: day.active_s,
          shown: duration(day.active_s),
        })),
      },
    ],
    table: {
      columns: [{ title: 'Day' }, ...['Sessions', 'Active', 'Tokens', 'Cost'].map(numberColumn)],
      rows: days.map((day) => [
        day.date,
        count(day.sessions),
        duration(day.active_s),
        tokens(day.total_tokens),
        day.total_tokens === 0 ? '' : money(day.cost_usd),
      ]),
    },
  }
}

export const numberColumn = (title: string): Table['columns'][number] => ({ title, isNumber: true })
type Refs = (all: readonly string[]) => Cell

function outcomeSection({ outcomes, totals }: RetroReport, refs: Refs): Section {
  const entries = Object.entries(outcomes)
  return {
    title: 'How sessions ended',
    lines: [],
    charts: [
      {
        kind: 'parts',
        title: 'Sessions by outcome',
        items: entries.map(([outcome, { count: value }]) => ({
          label: OUTCOME_WORDS[outcome as Outcome],
          value,
          shown: count(value),
          role: outcome,
        })),
      },
    ],
    table: {
      columns: [{ title: 'Outcome' }, numberColumn('Sessions'), numberColumn('Share'), { title: 'See' }],
      rows: entries.map(([outcome, one]) => [
        OUTCOME_WORDS[outcome as Outcome],
        count(one.count),
        percent(one.count, totals.sessions),
        refs(one.evidence),
      ]),
    },
  }
}

function failureSection({ failures }: RetroReport, refs: Refs, shorten: (ref: string) => string): Section {
  const lines = failures.length === 0 ? ['Nothing failed twice.'] : []
  for (const { sample, mended_by } of failures) {
    if (!mended_by) continue
    // The last step is the success itself.
    const steps = mended_by.steps.map((step) => `${cut(step.what)} (${shorten(step.at)})`)
    const cure =
      steps.length > 0 ? steps.join(', then ') : `it passed when tried again (${shorten(mended_by.at)})`
    lines.push(`Fixed: ${sample} → ${cure}`)
  }
  return {
    title: 'What kept failing, and what fixed it',
    lines,
    charts: [],
    ...(failures.length === 0 ? {} : { table: failureTable(failures, refs) }),
  }
}

const STEP_LENGTH = 140

const cut = (text: string): string =>
  text.length > STEP_LENGTH ? `${text.slice(0, STEP_LENGTH - 1).toWellFormed()}…` : text

function failureTable(failures: RetroReport['failures'], refs: Refs): Table {
  return {
    columns: [
      { title: 'Failure' },
      { title: 'Tool' },
      numberColumn('Times'),
      numberColumn('Sessions'),
      { title: 'Since' },
      { title: 'Fixed' },
      { title: 'See' },
    ],
    rows: failures.map((one) => [
      { code: one.sample },
      one.tool,
      count(one.count),
      count(one.sessions),
      one.is_old ? 'before' : 'new',
      one.mended_by ? 'yes' : 'no',
      refs(one.evidence),
    ]),
  }
}

function loopSection({ loops, totals }: RetroReport, refs: Refs): Section | undefined {
  if (loops.length === 0) return undefined
  return {
    title: 'Retry loops',
    lines: [
      `${count(totals.retries)} retries in all. These calls failed again and again with no success in between.`,
    ],
    charts: [],
    table: {
      columns: [{ title: 'Call' }, numberColumn('In a row'), { title: 'See' }],
      rows: loops.map((one) => [{ code: one.subject }, count(one.count), refs(one.evidence)]),
    },
  }
}

function dearestSection({ dearest }: RetroReport, refs: Refs): Section | undefined {
  if (dearest.length === 0) return undefined
  return {
    title: 'The most expensive sessions',
    lines: [],
    charts: [],
    table: {
      columns: [
        { title: 'Session' },
        { title: 'Repository' },
        { title: 'Outcome' },
        numberColumn('Active'),
        numberColumn('Tokens'),
        numberColumn('Cost'),
        { title: 'See' },
      ],
      rows: dearest.map((one) => [
        one.title,
        one.repo ?? '',
        OUTCOME_WORDS[one.outcome],
        duration(one.active_s),
        tokens(one.total_tokens),
        costText(one),
        refs([one.session_uid]),
      ]),
    },
  }
}

function sharesSection(title: string, column: string, shares: readonly RetroShare[]): Section | undefined {
  if (shares.length === 0) return undefined
  return {
    title,
    lines: [],
    charts: [],
    table: {
      columns: [{ title: column }, ...['Sessions', 'Active', 'Tokens', 'Cost'].map(numberColumn)],
      rows: shares
        .slice(0, 12)
        .map((one) => [
          one.key ?? '(unknown)',
          count(one.sessions),
          duration(one.active_s),
          tokens(one.total_tokens),
          costText(one),
        ]),
    },
  }
}

/** What was spent on each of something. */
export function spentSection(
  title: string,
  column: string,
  rows: RetroReport['models'],
  limit = 12,
): Section | undefined {
  if (rows.length === 0) return undefined
  return {
    title,
    lines: [],
    charts: [],
    table: {
      columns: [{ title: column }, numberColumn('Tokens'), numberColumn('Cost')],
      rows: rows
        .slice(0, limit)
        .map((one) => [one.key ?? '(unknown)', tokens(one.total_tokens), costText(one)]),
    },
  }
}

function fileSection({ files }: RetroReport, refs: Refs): Section | undefined {
  if (files.length === 0) return undefined
  return {
    title: 'Files most edited',
    lines: [],
    charts: [],
    table: {
      columns: [
        { title: 'File' },
        { title: 'Repository' },
        numberColumn('Edits'),
        numberColumn('Sessions'),
        { title: 'See' },
      ],
      rows: files.map((one) => [
        { code: one.path },
        one.repo,
        count(one.edits),
        count(one.sessions),
        refs(one.evidence),
      ]),
    },
  }
}

function testSection({ tests, totals }: RetroReport, refs: Refs): Section | undefined {
  if (tests.length === 0) return undefined
  return {
    title: 'Tests',
    lines: [`${count(totals.test_runs)} runs, ${count(totals.test_failures)} of them failed.`],
    charts: [],
    table: {
      columns: [{ title: 'Command' }, numberColumn('Runs'), numberColumn('Failed'), { title: 'See' }],
      rows: tests.map((one) => [
        { code: one.command },
        count(one.runs),
        count(one.failures),
        refs(one.evidence),
      ]),
    },
  }
}

function signalSection({ signals }: RetroReport, refs: Refs): Section | undefined {
  if (signals.length === 0) return undefined
  return {
    title: 'Also noticed',
    lines: [],
    charts: [],
    table: {
      columns: [{ title: 'Signal' }, numberColumn('Sessions'), { title: 'See' }],
      rows: signals.map((one) => [one.signal.replaceAll('_', ' '), count(one.sessions), refs(one.evidence)]),
    },
  }
}

function decisionSection({ decisions }: RetroReport, refs: Refs): Section | undefined {
  if (decisions.length === 0) return undefined
  return {
    title: 'Decisions',
    lines: [],
    charts: [],
    table: {
      columns: [{ title: 'Decision' }, { title: 'By' }, { title: 'When' }, { title: 'See' }],
      rows: decisions.map((one) => [one.text, one.author, one.ts.slice(0, 10), refs([one.at])]),
    },
  }
}

function notesOf(
  { totals, prices, infra, undigested }: RetroReport,
  shorten: (ref: string) => string,
): string[] {
  const notes = [
    'Each ID#SEQ is an event: recollect show ID#SEQ.',
    `Costs are list prices of ${prices.date} (${prices.list} ${prices.version}); subscriptions are not billed that way.`,
  ]
  if (totals.unpriced_responses > 0)
    notes.push(
      `${count(totals.unpriced_responses)} responses are of models without a known price and missing in the cost.`,
    )
  if (totals.infra_s > 0) {
    const where = infra.map((one) => `${shorten(one.session_uid)} ${duration(one.infra_s)}`)
    notes.push(
      `About ${duration(totals.infra_s)} of the active time (${percent(totals.infra_s, totals.active_s)}) went into plumbing: estimated from the share of such calls. Most in ${where.join(', ')}.`,
    )
  }
  if (undigested > 0)
    notes.push(`${count(undigested)} sessions have no digest yet and are not counted: recollect sweep.`)
  return notes
}
