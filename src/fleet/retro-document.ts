// The account of a team's days as the document that text, Markdown and HTML are made of.
import type { RetroAnswer } from '../contract.ts'
import { OUTCOME_WORDS } from '../model.ts'
import {
  costFigure,
  costNotes,
  numbers,
  outcomeSection,
  type RetroDocument,
  type Section,
  spentSection,
  tableSection,
} from '../retro/sections.ts'
import { changeOf, count, tokens } from '../retro/words.ts'

/** `labels`: the days it is about, and those before; `ids`: sessions as people type them. */
export function teamDocument(
  answer: RetroAnswer,
  labels: { period: string; before: string },
  ids: ReadonlyMap<string, string>,
): RetroDocument {
  const sections = [
    spentSection('Day by day', 'Day', answer.days, answer.days.length),
    endings(answer),
    failureSection(answer),
    largestSection(answer, ids),
    spentSection('By agent', 'Agent', answer.flavors),
    spentSection('By repository', 'Repository', answer.repos),
    spentSection('By model', 'Model', answer.models),
  ]
  return {
    title: 'Retrospective of a team',
    subtitle: `${labels.period} (${answer.timezone}), compared with ${labels.before}`,
    figures: figuresOf(answer),
    sections: sections.filter((one) => one !== undefined),
    notes: notesOf(answer),
  }
}

type Totals = NonNullable<RetroAnswer['totals']>

function figuresOf({ totals, previous_totals: then }: RetroAnswer): RetroDocument['figures'] {
  if (totals === null) return []
  const figure = (label: string, pick: (of: Totals) => number, show: (value: number) => string) => ({
    label,
    value: show(pick(totals)),
    change: then === null ? 'too few people before' : changeOf(pick(totals), pick(then)),
  })
  return [
    figure('people', (of) => of.people, count),
    figure('sessions', (of) => of.sessions, count),
    figure('sub-agents', (of) => of.subagents, count),
    figure('turns', (of) => of.turns, count),
    figure('tokens', (of) => of.total_tokens, tokens),
    costFigure(totals, then),
    figure('errors', (of) => of.errors, count),
    figure('retries', (of) => of.retries, count),
  ]
}

function endings({ outcomes, totals }: RetroAnswer): Section | undefined {
  if (totals === null || outcomes.length === 0) return undefined
  const counts = outcomes.map(({ outcome, sessions }) => ({ outcome, count: sessions }))
  return outcomeSection(counts, totals.sessions)
}

function failureSection({ failures }: RetroAnswer): Section {
  const title = 'What kept failing, and what fixed it'
  const mended = failures.filter((one) => one.mend !== null)
  const lines = mended.map((one) => `Mended: ${one.sample ?? one.fingerprint} → ${one.mend}`)
  const rows = failures.map((one) => [
    { code: one.sample ?? one.fingerprint },
    one.tool,
    count(one.count),
    count(one.sessions),
    count(one.hosts),
    count(one.mended_sessions),
    one.is_old ? 'before' : 'new',
  ])
  const columns = ['Failure', 'Tool', ...numbers('Times', 'Sessions', 'Machines', 'Mended in'), 'Since']
  const nothing = { title, lines: ['Nothing failed for five people or more.'], charts: [] }
  return tableSection(title, columns, rows, lines) ?? nothing
}

const largestSection = ({ largest }: RetroAnswer, ids: ReadonlyMap<string, string>): Section | undefined =>
  tableSection(
    'The sessions with most tokens',
    ['Session', 'Repository', 'Outcome', ...numbers('Tokens'), 'See'],
    largest.map((one) => [
      one.title ?? '',
      one.repo ?? '',
      OUTCOME_WORDS[one.outcome],
      tokens(one.total_tokens),
      { refs: [ids.get(one.session_uid) ?? one.session_uid] },
    ]),
  )

function notesOf({ totals, prices }: RetroAnswer): string[] {
  const notes = [
    'Figures of fewer than five people are put together, or not shown.',
    ...costNotes(prices, totals),
  ]
  if (totals === null) notes.unshift('Fewer than five people worked in these days: no sums are shown.')
  return notes
}
