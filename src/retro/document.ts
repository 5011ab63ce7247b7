// A retrospective as a document: figures, sections, tables and charts, in words. The three renderers (text, Markdown,
// HTML) know nothing of what it is about, so all three say the same.
import { OUTCOME_WORDS, type Outcome } from '../model.ts'
import type { RetroReport, RetroShare, RetroTotals } from './report.ts'
import {
  type Cell,
  costFigure,
  costNotes,
  numbers,
  outcomeSection,
  type RetroDocument,
  type Section,
  spentSection,
  tableSection,
} from './sections.ts'
import { changeOf, costText, count, duration, money, percent, tokens } from './words.ts'

/** `shorten` turns `uid#seq` into what people type. */
export function retroDocument(report: RetroReport, shorten: (ref: string) => string): RetroDocument {
  const refs = (all: readonly string[]): Cell => ({ refs: all.map(shorten) })
  const sections = [
    daysSection(report),
    endings(report, refs),
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
  return [
    figure('sessions', (of) => of.sessions, count),
    figure('active time', (of) => of.active_s, duration),
    figure('tokens', (of) => of.total_tokens, tokens),
    costFigure(totals, then),
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
      columns: [{ title: 'Day' }, ...numbers('Sessions', 'Active', 'Tokens', 'Cost')],
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

type Refs = (all: readonly string[]) => Cell

function endings({ outcomes, totals }: RetroReport, refs: Refs): Section {
  const entries = Object.entries(outcomes) as [Outcome, { count: number; evidence: readonly string[] }][]
  const counts = entries.map(([outcome, one]) => ({ outcome, count: one.count, see: [refs(one.evidence)] }))
  return outcomeSection(counts, totals.sessions, ['See'])
}

function failureSection(report: RetroReport, refs: Refs, shorten: (ref: string) => string): Section {
  const { failures } = report
  const lines = failures.length === 0 ? ['Nothing failed twice.'] : []
  for (const { sample, mended_by } of failures) {
    if (!mended_by) continue
    // The last step is the success itself.
    const steps = mended_by.steps.map((step) => `${cut(step.what)} (${shorten(step.at)})`)
    const cure =
      steps.length > 0 ? steps.join(', then ') : `it passed when tried again (${shorten(mended_by.at)})`
    lines.push(`Fixed: ${sample} → ${cure}`)
  }
  const title = 'What kept failing, and what fixed it'
  const rows = failures.map((one) => [
    { code: one.sample },
    one.tool,
    count(one.count),
    count(one.sessions),
    one.is_old ? 'before' : 'new',
    one.mended_by ? 'yes' : 'no',
    refs(one.evidence),
  ])
  const columns = ['Failure', 'Tool', ...numbers('Times', 'Sessions'), 'Since', 'Fixed', 'See']
  return tableSection(title, columns, rows, lines) ?? { title, lines, charts: [] }
}

const STEP_LENGTH = 140

const cut = (text: string): string =>
  text.length > STEP_LENGTH ? `${text.slice(0, STEP_LENGTH - 1).toWellFormed()}…` : text

const loopSection = ({ loops, totals }: RetroReport, refs: Refs): Section | undefined =>
  tableSection(
    'Retry loops',
    ['Call', ...numbers('In a row'), 'See'],
    loops.map((one) => [{ code: one.subject }, count(one.count), refs(one.evidence)]),
    [
      `${count(totals.retries)} retries in all. These calls failed again and again with no success in between.`,
    ],
  )

const dearestSection = ({ dearest }: RetroReport, refs: Refs): Section | undefined =>
  tableSection(
    'The most expensive sessions',
    ['Session', 'Repository', 'Outcome', ...numbers('Active', 'Tokens', 'Cost'), 'See'],
    dearest.map((one) => [
      one.title,
      one.repo ?? '',
      OUTCOME_WORDS[one.outcome],
      duration(one.active_s),
      tokens(one.total_tokens),
      costText(one),
      refs([one.session_uid]),
    ]),
  )

const sharesSection = (title: string, column: string, shares: readonly RetroShare[]): Section | undefined =>
  tableSection(
    title,
    [column, ...numbers('Sessions', 'Active', 'Tokens', 'Cost')],
    shares
      .slice(0, 12)
      .map((one) => [
        one.key ?? '(unknown)',
        count(one.sessions),
        duration(one.active_s),
        tokens(one.total_tokens),
        costText(one),
      ]),
  )

const fileSection = ({ files }: RetroReport, refs: Refs): Section | undefined =>
  tableSection(
    'Files most edited',
    ['File', 'Repository', ...numbers('Edits', 'Sessions'), 'See'],
    files.map((one) => [
      { code: one.path },
      one.repo,
      count(one.edits),
      count(one.sessions),
      refs(one.evidence),
    ]),
  )

const testSection = ({ tests, totals }: RetroReport, refs: Refs): Section | undefined =>
  tableSection(
    'Tests',
    ['Command', ...numbers('Runs', 'Failed'), 'See'],
    tests.map((one) => [{ code: one.command }, count(one.runs), count(one.failures), refs(one.evidence)]),
    [`${count(totals.test_runs)} runs, ${count(totals.test_failures)} of them failed.`],
  )

const signalSection = ({ signals }: RetroReport, refs: Refs): Section | undefined =>
  tableSection(
    'Also noticed',
    ['Signal', ...numbers('Sessions'), 'See'],
    signals.map((one) => [one.signal.replaceAll('_', ' '), count(one.sessions), refs(one.evidence)]),
  )

const decisionSection = ({ decisions }: RetroReport, refs: Refs): Section | undefined =>
  tableSection(
    'Decisions',
    ['Decision', 'By', 'When', 'See'],
    decisions.map((one) => [one.text, one.author, one.ts.slice(0, 10), refs([one.at])]),
  )

function notesOf(
  { totals, prices, infra, undigested }: RetroReport,
  shorten: (ref: string) => string,
): string[] {
  const notes = ['Each ID#SEQ is an event: recollect show ID#SEQ.', ...costNotes(prices, totals)]
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
