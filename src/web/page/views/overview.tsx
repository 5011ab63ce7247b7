// The first look: figures, cost per day, the year, what runs, what fills the disk, what needs a person.
import type { JSX } from 'preact'
import type { DoctorDocument } from '../../../doctor/index.ts'
import type { Coverage } from '../../../query/coverage.ts'
import type { Overview } from '../../../query/overview.ts'
import type { DayModelCost } from '../../../query/usage.ts'
import type { Storage } from '../../server/storage.ts'
import { timezone, useAnswer } from '../api.ts'
import { Legend, type Series, ShareBar, StackedBars } from '../charts/bars.tsx'
import { Calendar, dayParams } from '../charts/calendar.tsx'
import { ago, bytes, count, duration, plural, share, short, usd } from '../format.ts'
import {
  Answered,
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
        <fieldset class="segmented">
          <legend class="visually-hidden">span</legend>
          {SPANS.map((span) => (
            <button type="button" aria-pressed={span === days} onClick={() => setParams({ days: span })}>
              {span === '365' ? '1 year' : `${span} days`}
            </button>
          ))}
        </fieldset>
        <SweepButton />
      </div>
      <Answered answer={answer}>
        {(overview) => (
          <>
            <Figures overview={overview} />
            <div class="columns">
              <CostCard overview={overview} />
              <Attention
                overview={overview}
                storage={storage.data}
                health={health.data}
                doctor={doctor.data}
              />
            </div>
            <CalendarCard overview={overview} />
            <div class="columns thirds">
              <LiveCard overview={overview} />
              <DearestCard overview={overview} />
              {storage.data && <StorageCard storage={storage.data} />}
            </div>
          </>
        )}
      </Answered>
    </>
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
        note={usage.cache_savings_usd ? `caching saved ${usd(usage.cache_savings_usd)}` : 'list prices'}
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
  const labels: string[] = []
  const date = new Date()
  date.setDate(date.getDate() - Math.min(days, 366) + 1)
  for (let i = 0; i < Math.min(days, 366); i++) {
    labels.push(
      `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}-${String(date.getDate()).padStart(2, '0')}`,
    )
    date.setDate(date.getDate() + 1)
  }
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

function CostCard({ overview }: { overview: Overview }): JSX.Element {
  const { labels, series } = toSeries(overview.cost_by_day, overview.days)
  return (
    <Card
      title="Cost per day"
      aside={<span class="muted">by model, list prices, {overview.timezone}</span>}
      class="wide"
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

function fromDoctor(doctor: DoctorDocument | undefined): Notice[] {
  const severe = (severity: string): Notice[] =>
    (doctor?.findings ?? [])
      .filter((one) => one.severity === severity && !TOLD.test(one.id))
      .map(({ text, fix }) => ({ sign: severity === 'error' ? '✕' : '▲', text, href: '/health', fix }))
  return [...severe('error'), ...severe('warning')]
}

function noticesOf(overview: Overview, storage: Storage | undefined, health: Coverage | undefined): Notice[] {
  const list: Notice[] = []
  const add = (isTrue: boolean, sign: string, text: string, href: string): void => {
    if (isTrue) list.push({ sign, text, href })
  }
  for (const one of overview.unpriced.slice(0, 3))
    add(
      true,
      '$',
      `No price known for ${one.model ?? 'a model without a name'}: ${plural(one.responses, 'response')}`,
      '/usage?group=model',
    )
  const gaps = health?.gap_count ?? 0
  add(gaps > 0, '≠', `${plural(gaps, 'part')} of the logs could not be read`, '/health')
  const unknown = health?.flavors.reduce((sum, one) => sum + one.unknown_records.length, 0) ?? 0
  add(unknown > 0, '?', `${plural(unknown, 'kind')} of records nobody described yet`, '/health')
  add(
    (health?.undigested ?? 0) > 0,
    '…',
    `${plural(health?.undigested ?? 0, 'session')} not analyzed yet`,
    '/health',
  )
  const steps = (storage?.plan['steps'] as unknown[] | undefined)?.length ?? 0
  add(steps > 0, '⌫', `${plural(steps, 'raw session')} will be evicted by the next sweep`, '/storage')
  add((health?.log.length ?? 0) > 0, '!', 'Retention had something to report', '/health')
  add(
    overview.sole_copies > 0,
    '1',
    `${plural(overview.sole_copies, 'session')} whose agent's own file is gone: this is the only copy`,
    '/storage',
  )
  return list
}

function Attention(props: {
  overview: Overview
  storage: Storage | undefined
  health: Coverage | undefined
  doctor: DoctorDocument | undefined
}): JSX.Element {
  const notices = [...fromDoctor(props.doctor), ...noticesOf(props.overview, props.storage, props.health)]
  return (
    <Card title="Needs attention">
      {notices.length === 0 ? (
        <p class="muted">
          Nothing: every byte was read, every model has a price, every tier is below its cap.
        </p>
      ) : (
        <ul class="notices">
          {notices.map((notice) => (
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
      )}
    </Card>
  )
}

function CalendarCard({ overview }: { overview: Overview }): JSX.Element {
  return (
    <Card title="Days" aside={<span class="muted">sessions begun, last 12 months</span>}>
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

function LiveCard({ overview }: { overview: Overview }): JSX.Element {
  return (
    <Card title="Live now">
      {overview.live.length === 0 ? (
        <p class="muted">No session was active in the last ten minutes.</p>
      ) : (
        <ul class="list">
          {overview.live.map((session) => (
            <li>
              <span class="live-dot" aria-hidden="true" /> <SessionLink session={session} />
              <span class="muted">
                {session.flavor} · {plural(session.event_count, 'event')} · {ago(session.ended_at)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function DearestCard({ overview }: { overview: Overview }): JSX.Element {
  return (
    <Card title="Dearest sessions" aside={<a href="/sessions?sort=cost">all</a>}>
      <ul class="list">
        {overview.dearest.map((session) => (
          <li>
            <SessionLink session={session} />
            <span class="muted">
              <strong>{usd(session.cost_usd)}</strong> · {session.flavor} · <When at={session.started_at} /> ·{' '}
              <OutcomeBadge outcome={session.outcome} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  )
}

function StorageCard({ storage }: { storage: Storage }): JSX.Element {
  return (
    <Card title="Storage" aside={<a href="/storage">details</a>}>
      {storage.tiers.map((tier) => (
        <div class="tier">
          <p>
            <strong>{tier.name === 'raw' ? 'Raw cache' : 'Durable memory'}</strong>{' '}
            <span class="muted">
              {bytes(tier.bytes)} of {bytes(tier.soft_cap_bytes ?? tier.hard_cap_bytes)}
            </span>
          </p>
          <ShareBar
            value={tier.bytes}
            most={tier.soft_cap_bytes ?? tier.hard_cap_bytes}
            label={`${bytes(tier.bytes)} of ${bytes(tier.soft_cap_bytes ?? tier.hard_cap_bytes)} used`}
          />
        </div>
      ))}
    </Card>
  )
}
