// The first look: figures, cost per day, the year, what runs, what fills the disk, what needs a person.
import type { JSX } from 'preact'
import type { DoctorDocument } from '../../../doctor/index.ts'
import type { Coverage } from '../../../query/coverage.ts'
import type { BriefPage } from '../../../query/narrow.ts'
import type { Overview } from '../../../query/overview.ts'
import type { DayModelCost } from '../../../query/usage.ts'
import type { Storage } from '../../server/storage.ts'
import { type Answer, timezone, useAnswer } from '../api.ts'
import { Legend, type Series, ShareBar, StackedBars } from '../charts/bars.tsx'
import { Calendar, dayParams } from '../charts/calendar.tsx'
import { dayOf, keysOf } from '../days.ts'
import { ago, bytes, count, duration, exactly, plural, share, short, usd } from '../format.ts'
import { isTeam } from '../here.ts'
import {
  Answered,
  AnsweredLine,
  basisOf,
  Card,
  ChartWithTable,
  Empty,
  Figure,
  OutcomeBadge,
  SessionLink,
  SweepButton,
  When,
} from '../parts.tsx'
import { param, setParams, to } from '../router.ts'

const SPANS = ['7', '30', '90', '365']

export function OverviewView(): JSX.Element {
  const days = param('days') ?? '30'
  const answer = useAnswer<Overview>(`overview?days=${days}&timezone=${encodeURIComponent(timezone)}`)
  const storage = useAnswer<Storage>('storage')
  const health = useAnswer<Coverage>('health')
  const doctor = useAnswer<DoctorDocument>('doctor')
  return (
    <>
      <div class="view-head">
        <h1>Overview</h1>
        <Spans days={days} />
        <SweepButton />
      </div>
      <Answered answer={answer}>
        {(overview) => (
          <>
            <Figures overview={overview} />
            <div class="columns">
              <LatestCard overview={overview} />
              <Attention overview={overview} storage={storage} health={health} doctor={doctor} />
            </div>
            <div class="columns">
              <div class="stack wide">
                <CostCard overview={overview} />
                <CalendarCard overview={overview} />
              </div>
              <div class="stack">
                <DearestCard overview={overview} />
                <StorageCard answer={storage} />
              </div>
            </div>
          </>
        )}
      </Answered>
    </>
  )
}

export function Spans({ days }: { days: string }): JSX.Element {
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">span</legend>
      {SPANS.map((span) => (
        <button type="button" aria-pressed={span === days} onClick={() => setParams({ days: span })}>
          {span === '365' ? '1 year' : `${span} days`}
        </button>
      ))}
    </fieldset>
  )
}

function Figures({ overview }: { overview: Overview }): JSX.Element {
  const { totals } = overview
  const { usage } = totals
  return (
    <dl class="figures">
      <Figure
        name="Sessions"
        value={count(totals.sessions)}
        note={`${count(overview.sessions_ever)} remembered`}
      />
      <Figure
        name="Active time"
        value={duration(totals.active_s)}
        note={plural(totals.tool_calls, 'tool call')}
      />
      <Figure name="Tokens" value={short(usage.total_tokens)} note={`${short(usage.output_tokens)} out`} />
      <Figure
        name="Cost"
        value={usd(usage.cost_usd, usage.unpriced_responses)}
        note={
          usage.unpriced_responses > 0
            ? `and ${plural(usage.unpriced_responses, 'response')} without a price`
            : usage.cache_savings_usd
              ? `caching saved ${usd(usage.cache_savings_usd)}`
              : 'list prices'
        }
      />
      <Figure name="Error rate" value={share(totals.error_rate)} note={plural(totals.errors, 'error')} />
      <Figure name="Cache hits" value={share(totals.cache_hit_share)} note="of the tokens given" />
    </dl>
  )
}

const MAX_SERIES = 7

/** Days without gaps; models that cost least are put together. */
function toSeries(rows: readonly DayModelCost[], days: number): { labels: string[]; series: Series[] } {
  const sums = new Map<string, number>()
  for (const row of rows) {
    const name = row.model ?? 'unknown model'
    sums.set(name, (sums.get(name) ?? 0) + Number(row.cost_usd ?? 0))
  }
  const names = [...sums].sort((a, b) => b[1] - a[1]).map(([name]) => name)
  const own = names.slice(0, MAX_SERIES)
  const now = new Date()
  const first = new Date(now.getFullYear(), now.getMonth(), now.getDate() - Math.min(days, 366) + 1, 12)
  const labels = keysOf('day', dayOf(first), dayOf(now))
  const at = new Map(labels.map((label, i) => [label, i]))
  const series = own.map((name) => ({ name, values: labels.map(() => 0) }))
  if (names.length > own.length)
    series.push({ name: `${names.length - own.length} more`, values: labels.map(() => 0) })
  for (const row of rows) {
    const i = at.get(row.day ?? '')
    const which = own.indexOf(row.model ?? 'unknown model')
    const one = series[which === -1 ? own.length : which]
    if (i !== undefined && one) one.values[i] = (one.values[i] ?? 0) + Number(row.cost_usd ?? 0)
  }
  return { labels, series }
}

export function CostCard(props: {
  overview: Pick<Overview, 'cost_by_day' | 'days' | 'timezone'>
}): JSX.Element {
  const { overview } = props
  const { labels, series } = toSeries(overview.cost_by_day, overview.days)
  return (
    <Card
      title="Cost per day"
      aside={
        <span class="muted">
          {!isTeam && 'by model, '}list prices, {overview.timezone}
        </span>
      }
    >
      {overview.cost_by_day.length === 0 ? (
        <Empty title="No model answered in this span" />
      ) : (
        <ChartWithTable
          name="Cost per day and model"
          columns={[
            { title: 'Day', cell: (row) => row.day ?? 'unknown' },
            { title: 'Model', cell: (row) => row.model ?? 'unknown' },
            { title: 'Tokens', cell: (row) => count(row.total_tokens), isNumber: true },
            { title: 'Cost', cell: (row) => usd(row.cost_usd), isNumber: true },
          ]}
          rows={overview.cost_by_day}
        >
          <StackedBars
            labels={labels}
            series={series}
            format={(value) => usd(String(value))}
            name="Cost per day, stacked by model"
          />
          <Legend series={series} />
        </ChartWithTable>
      )}
    </Card>
  )
}

interface Notice {
  sign: string
  text: string
  href: string
  fix?: string | null
}

/** Told in our own words below, with figures. */
const TOLD = /^(source\.gaps|source\.drift|prices\.unknown)$/

function fromDoctor({ findings }: DoctorDocument): Notice[] {
  const severe = (severity: string): Notice[] =>
    findings
      .filter((one) => one.severity === severity && !TOLD.test(one.id))
      .map(({ text, fix }) => ({ sign: severity === 'error' ? '✕' : '▲', text, href: '/health', fix }))
  return [...severe('error'), ...severe('warning')]
}

function fromOverview({ unpriced, sole_copies: sole }: Overview): Notice[] {
  const list = unpriced.slice(0, 3).map((one) => ({
    sign: '$',
    text: `No price known for ${one.model ?? 'a model without a name'}: ${plural(one.responses, 'response')}`,
    href: '/usage?group=model',
  }))
  const copies = `${plural(sole, 'session')} whose agent's own file is gone: this is the only copy`
  return sole > 0 ? [...list, { sign: '1', text: copies, href: '/storage' }] : list
}

function fromHealth({ gap_count: gaps, flavors, undigested, log }: Coverage): Notice[] {
  const unknown = flavors.reduce((sum, one) => sum + one.unknown_records.length, 0)
  const list: [boolean, string, string][] = [
    [gaps > 0, '≠', `${plural(gaps, 'part')} of the logs could not be read`],
    [unknown > 0, '?', `${plural(unknown, 'kind')} of records nobody described yet`],
    [undigested > 0, '…', `${plural(undigested, 'session')} not analyzed yet`],
    [log.length > 0, '!', 'Retention had something to report'],
  ]
  return list.filter(([isTrue]) => isTrue).map(([, sign, text]) => ({ sign, text, href: '/health' }))
}

function fromStorage({ plan }: Storage): Notice[] {
  const steps = (plan['steps'] as unknown[] | undefined)?.length ?? 0
  const text = `${plural(steps, 'raw session')} will be evicted by the next sweep`
  return steps > 0 ? [{ sign: '⌫', text, href: '/storage' }] : []
}

/** Each source says for itself that it is being read or failed; that nothing needs attention is said when all have answered. */
function Attention(props: {
  overview: Overview
  storage: Answer<Storage>
  health: Answer<Coverage>
  doctor: Answer<DoctorDocument>
}): JSX.Element {
  const count = <T,>(answer: Answer<T>, of: (data: T) => Notice[]): number | undefined =>
    answer.match({ loading: () => undefined, failed: () => undefined, answered: (data) => of(data).length })
  const counts = [
    fromOverview(props.overview).length,
    count(props.doctor, fromDoctor),
    count(props.health, fromHealth),
    count(props.storage, fromStorage),
  ]
  return (
    <Card title="Needs attention">
      <AnsweredLine answer={props.doctor}>{(data) => <Notices list={fromDoctor(data)} />}</AnsweredLine>
      <Notices list={fromOverview(props.overview)} />
      <AnsweredLine answer={props.health}>{(data) => <Notices list={fromHealth(data)} />}</AnsweredLine>
      <AnsweredLine answer={props.storage}>{(data) => <Notices list={fromStorage(data)} />}</AnsweredLine>
      {counts.every((one) => one === 0) && (
        <p class="muted">
          Nothing: every byte was read, every model has a price, every tier is below its cap.
        </p>
      )}
    </Card>
  )
}

function Notices({ list }: { list: Notice[] }): JSX.Element | null {
  if (list.length === 0) return null
  return (
    <ul class="notices">
      {list.map((notice) => (
        <li>
          <span class="sign" aria-hidden="true">
            {notice.sign}
          </span>
          <span>
            <a href={notice.href}>{notice.text}</a>
            {notice.fix && <small class="muted fix">→ {notice.fix}</small>}
          </span>
        </li>
      ))}
    </ul>
  )
}

function CalendarCard({ overview }: { overview: Overview }): JSX.Element {
  return (
    <Card title="Sessions per day" aside={<span class="muted">the last 12 months</span>}>
      <ChartWithTable
        name="Sessions per day"
        columns={[
          { title: 'Day', cell: (row) => <a href={to('/sessions', dayParams(row.day))}>{row.day}</a> },
          { title: 'Sessions', cell: (row) => row.sessions, isNumber: true },
          { title: 'Active', cell: (row) => duration(row.active_s), isNumber: true },
        ]}
        rows={overview.calendar.toReversed()}
      >
        <Calendar days={overview.calendar} />
      </ChartWithTable>
    </Card>
  )
}

const LATEST = 8

/** Where one left off: what runs, then what was begun last, each with how it ended and why. */
export function LatestCard(props: { overview: Pick<Overview, 'live'>; title?: string }): JSX.Element {
  const { overview, title = 'Where you left off' } = props
  const answer = useAnswer<BriefPage>(`sessions?limit=${LATEST}`)
  return (
    <Card title={title} aside={<a href="/sessions">all sessions</a>} class="wide">
      <AnsweredLine answer={answer}>
        {({ sessions }) => {
          const live = new Set(overview.live.map((one) => one.session_uid))
          const rest = sessions.filter((one) => !live.has(one.session_uid))
          return (
            <ul class="list latest">
              {[...overview.live, ...rest].slice(0, LATEST).map((session) => (
                <li>
                  <span class="clip">
                    {live.has(session.session_uid) && <span class="live-dot" aria-hidden="true" />}{' '}
                    <SessionLink session={session} />
                  </span>
                  <OutcomeBadge
                    outcome={session.outcome}
                    endedAt={session.ended_at}
                    basis={basisOf(session)}
                  />
                  <span class="muted clip">
                    {[session.repo, session.flavor, session.outcome_reason].filter(Boolean).join(' · ')}
                  </span>
                  <time
                    class="muted"
                    dateTime={session.ended_at ?? session.started_at ?? ''}
                    title={exactly(session.ended_at ?? session.started_at)}
                  >
                    {ago(session.ended_at ?? session.started_at)}
                  </time>
                </li>
              ))}
            </ul>
          )
        }}
      </AnsweredLine>
    </Card>
  )
}

const MOST_EXPENSIVE = 5

export function DearestCard({ overview }: { overview: Pick<Overview, 'dearest'> }): JSX.Element {
  return (
    <Card
      title={isTeam ? 'Largest sessions' : 'Most expensive sessions'}
      aside={<a href={`/sessions?sort=${isTeam ? 'tokens' : 'cost'}`}>all</a>}
    >
      <ul class="list two-lines">
        {overview.dearest.slice(0, MOST_EXPENSIVE).map((session) => (
          <li>
            <SessionLink session={session} />
            <span class="muted">
              <strong>{usd(session.cost_usd, session.unpriced_responses)}</strong> · {session.flavor} ·{' '}
              <When at={session.started_at} /> ·{' '}
              <OutcomeBadge outcome={session.outcome} endedAt={session.ended_at} basis={basisOf(session)} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function StorageCard({ answer }: { answer: Answer<Storage> }): JSX.Element {
  return (
    <Card title="Storage" aside={<a href="/storage">details</a>}>
      <AnsweredLine answer={answer}>
        {({ tiers }) =>
          tiers.map((tier) => {
            const most = tier.soft_cap_bytes ?? tier.hard_cap_bytes
            return (
              <div class="tier">
                <p>
                  <strong>{tier.name === 'raw' ? 'Raw cache' : 'Durable memory'}</strong>{' '}
                  <span class="muted">
                    {bytes(tier.bytes)} of {bytes(most)}
                  </span>
                </p>
                <ShareBar
                  value={tier.bytes}
                  most={most}
                  label={`${bytes(tier.bytes)} of ${bytes(most)} used`}
                />
              </div>
            )
          })
        }
      </AnsweredLine>
    </Card>
  )
}
