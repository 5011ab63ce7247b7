// The account of a team's days as the document that text, Markdown and HTML are made of.
import type { RetroAnswer } from '../contract.ts'
import { OUTCOME_WORDS } from '../model.ts'
import { numberColumn, type RetroDocument, type Section, spentSection } from '../retro/document.ts'
import { changeOf, costText, count, percent, tokens } from '../retro/words.ts'

/** `labels`: the days it is about, and those before; `ids`: sessions as people type them. */
export function teamDocument(
  answer: RetroAnswer,
  labels: { period: string; before: string },
  ids: ReadonlyMap<string, string>,
): RetroDocument {
  const sections = [
    spentSection('Day by day', 'Day', answer.days, answer.days.length),
    outcomeSection(answer),
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
    figure(
      'cost, list prices',
      (of) => Number(of.cost_usd ?? 0),
      () => costText(totals),
    ),
    figure('errors', (of) => of.errors, count),
    figure('retries', (of) => of.retries, count),
  ]
}

function outcomeSection({ outcomes, totals }: RetroAnswer): Section | undefined {
  if (totals === null || outcomes.length === 0) return undefined
  return {
    title: 'How sessions ended',
    lines: [],
    charts: [
      {
        kind: 'parts',
        title: 'Sessions by outcome',
        items: outcomes.map(({ outcome, sessions }) => ({
          label: OUTCOME_WORDS[outcome],
          value: sessions,
          shown: count(sessions),
          role: outcome,
        })),
      },
    ],
    table: {
      columns: [{ title: 'Outcome' }, numberColumn('Sessions'), numberColumn('Share')],
      rows: outcomes.map(({ outcome, sessions }) => [
        OUTCOME_WORDS[outcome],
        count(sessions),
        percent(sessions, totals.sessions),
      ]),
    },
  }
}

function failureSection({ failures }: RetroAnswer): Section {
  const mended = failures.filter((one) => one.mend !== null)
  return {
    title: 'What kept failing, and what fixed it',
    lines:
      failures.length === 0
        ? ['Nothing failed for five people or more.']
        : mended.map((one) => `Mended: ${one.sample ?? one.fingerprint} → ${one.mend}`),
    charts: [],
    ...(failures.length === 0 ? {} : { table: failureTable(failures) }),
  }
}

const failureTable = (failures: RetroAnswer['failures']): NonNullable<Section['table']> => ({
  columns: [
    { title: 'Failure' },
    { title: 'Tool' },
    ...['Times', 'Sessions', 'Machines', 'Mended in'].map(numberColumn),
    { title: 'Since' },
  ],
  rows: failures.map((one) => [
    { code: one.sample ?? one.fingerprint },
    one.tool,
    count(one.count),
    count(one.sessions),
    count(one.hosts),
    count(one.mended_sessions),
    one.is_old ? 'before' : 'new',
  ]),
})

function largestSection({ largest }: RetroAnswer, ids: ReadonlyMap<string, string>): Section | undefined {
  if (largest.length === 0) return undefined
  return {
    title: 'The sessions with most tokens',
    lines: [],
    charts: [],
    table: {
      columns: [
        { title: 'Session' },
        { title: 'Repository' },
        { title: 'Outcome' },
        numberColumn('Tokens'),
        { title: 'See' },
      ],
      rows: largest.map((one) => [
        one.title ?? '',
        one.repo ?? '',
        OUTCOME_WORDS[one.outcome],
        tokens(one.total_tokens),
        { refs: [ids.get(one.session_uid) ?? one.session_uid] },
      ]),
    },
  }
}

function notesOf({ totals, prices }: RetroAnswer): string[] {
  const notes = [
    'Figures of fewer than five people are put together, or not shown.',
    `Costs are list prices of ${prices.date} (${prices.list} ${prices.version}); subscriptions are not billed that way.`,
  ]
  if (totals === null) notes.unshift('Fewer than five people worked in these days: no sums are shown.')
  else if (totals.unpriced_responses > 0)
    notes.push(
      `${count(totals.unpriced_responses)} responses are of models without a known price and missing in the cost.`,
    )
  return notes
}
