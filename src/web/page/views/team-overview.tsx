// The first look at a team: figures that five people or more made, cost per day, how sessions ended.
import type { JSX } from 'preact'
import { OUTCOME_WORDS, type Outcome } from '../../../model.ts'
import type { Brief } from '../../../query/briefs.ts'
import type { Overview } from '../../../query/overview.ts'
import type { UsageRow } from '../../../query/usage.ts'
import { timezone, useAnswer } from '../api.ts'
import { ShareBar } from '../charts/bars.tsx'
import { count, plural, share, short, usd } from '../format.ts'
import { Answered, Card, Empty, Figure } from '../parts.tsx'
import { param } from '../router.ts'
import { CostCard, DearestCard, LatestCard, Spans } from './overview.tsx'

interface TeamOverview extends Pick<Overview, 'days' | 'timezone' | 'cost_by_day'> {
  /** Null where fewer than five people did it. */
  counts: {
    people: number
    sessions: number
    subagents: number
    turns: number
    errors: number
    retries: number
  } | null
  usage: UsageRow | null
  outcomes: { outcome: Outcome; sessions: number }[]
  /** None for viewers. */
  dearest: Brief[]
}

export function TeamOverviewView(): JSX.Element {
  const days = param('days') ?? '30'
  const answer = useAnswer<TeamOverview>(`overview?days=${days}&timezone=${encodeURIComponent(timezone)}`)
  return (
    <>
      <div class="view-head">
        <h1>Overview</h1>
        <Spans days={days} />
      </div>
      <Answered answer={answer}>
        {(overview) => (
          <>
            <Figures overview={overview} />
            <div class="columns">
              <div class="stack wide">
                <LatestCard overview={{ live: [] }} title="Newest sessions" />
                <CostCard overview={overview} />
              </div>
              <div class="stack">
                <OutcomesCard overview={overview} />
                {overview.dearest.length > 0 && <DearestCard overview={overview} />}
              </div>
            </div>
          </>
        )}
      </Answered>
    </>
  )
}

function Figures({ overview: { counts, usage } }: { overview: TeamOverview }): JSX.Element {
  if (!counts || !usage)
    return (
      <Empty title="Fewer than five people worked in this span">
        <p>Their figures are not shown.</p>
      </Empty>
    )
  const given =
    usage.input_tokens + usage.cache_read_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens
  return (
    <dl class="figures">
      <Figure name="People" value={count(counts.people)} note="who worked with agents" />
      <Figure
        name="Sessions"
        value={count(counts.sessions)}
        note={`and ${plural(counts.subagents, 'sub-agent')}`}
      />
      <Figure name="Tokens" value={short(usage.total_tokens)} note={`${short(usage.output_tokens)} out`} />
      <Figure name="Cost" value={usd(usage.cost_usd, usage.unpriced_responses)} note="list prices" />
      <Figure name="Errors" value={count(counts.errors)} note={plural(counts.turns, 'turn')} />
      <Figure
        name="Cache hits"
        value={share(given === 0 ? null : usage.cache_read_tokens / given)}
        note="of the tokens given"
      />
    </dl>
  )
}

function OutcomesCard({ overview: { outcomes } }: { overview: TeamOverview }): JSX.Element {
  const most = outcomes.reduce((sum, one) => sum + one.sessions, 0)
  return (
    <Card title="How sessions ended">
      <ul class="parts">
        {outcomes.map(({ outcome, sessions }) => (
          <li>
            <span>{OUTCOME_WORDS[outcome]}</span> <span class="muted">{count(sessions)}</span>
            <ShareBar value={sessions} most={most} label={`${OUTCOME_WORDS[outcome]}: ${sessions}`} isGoal />
          </li>
        ))}
      </ul>
    </Card>
  )
}
