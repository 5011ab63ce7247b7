// Tokens and money: when, on what, and from there down to single sessions and their turns. The address holds the whole question.
import type { JSX } from 'preact'
import type { UsageGroup, UsageReport, UsageRow } from '../../../query/usage.ts'
import { type Answer, timezone, useAnswer } from '../api.ts'
import { StackedBars } from '../charts/bars.tsx'
import { dayOf, keysOf, namedSpans, spanOfKey, unitFor } from '../days.ts'
import { count, share, short, titleOf, usd } from '../format.ts'
import { isTeam } from '../here.ts'
import { Answered, Card, ChartWithTable, type Column, Empty, Figure, Table } from '../parts.tsx'
import { param, sessionPath, setParams, to, withParams } from '../router.ts'

type Report = Omit<UsageReport, 'total'> & { total: UsageRow | null }

const ALL_GROUPS: [UsageGroup, string][] = [
  ['month', 'Month'],
  ['week', 'Week'],
  ['day', 'Day'],
  ['repo', 'Repository'],
  ['model', 'Model'],
  ['session', 'Session'],
  ['flavor', 'Agent'],
  ['domain', 'Domain'],
]
/** A session is of one person: a team server tells no sum of it. */
const GROUPS = ALL_GROUPS.filter(([group]) => !isTeam || group !== 'session')
/** What a click on a row leads to: ever more of what it was spent on. */
const NEXT: Partial<Record<UsageReport['group'], UsageGroup>> = {
  month: 'repo',
  week: 'repo',
  day: 'repo',
  repo: 'model',
  domain: 'repo',
  flavor: 'model',
  model: 'session',
}
const FILTERS = ['flavor', 'repo', 'domain', 'model'] as const
const nameOf = (group: string): string => GROUPS.find(([one]) => one === group)?.[1] ?? group
const isTime = (group: string): boolean => group === 'day' || group === 'week' || group === 'month'
/** Of sessions the server says what they are called. */
type NamedRow = UsageRow & { name?: string }

/** The address may also say a time as the server reads it, `7d`, or none. */
const isDay = (text: string | undefined): text is string => /^\d{4}-\d\d-\d\d$/.test(text ?? '')

/** The address as the server is asked, with another group where one is given. */
function question(group: string): string {
  const query = new URLSearchParams({ group, timezone })
  // The part of a few people would be the difference between two answers: a team's sums are not narrowed.
  for (const name of ['since', 'until', ...(isTeam ? [] : FILTERS)]) {
    const value = param(name)
    if (value !== undefined && value !== '') query.set(name, value)
  }
  return query.toString()
}

export function UsageView(): JSX.Element {
  const group = (param('group') ?? 'repo') as UsageGroup
  const [since, until] = [param('since'), param('until')]
  const unit = isDay(since) ? unitFor(since, isDay(until) ? until : dayOf(new Date())) : 'month'
  const answer = useAnswer<Report>(`usage?${question(group)}`)
  const times = useAnswer<UsageReport>(`usage?${question(unit)}`)
  return (
    <>
      <Head group={group} />
      <Spans />
      <Answered answer={answer}>
        {(report) =>
          !hasTotal(report) ? (
            <Empty title="Fewer than five people used anything in this span">
              <p>Their figures are not shown.</p>
            </Empty>
          ) : report.rows.length === 0 ? (
            <Empty title="No model answered in this span">
              <p>
                Choose another span above, or <a href="/usage">look at all of it</a>.
              </p>
            </Empty>
          ) : (
            <>
              <Totals report={report} />
              <TimeCard answer={times} unit={unit} />
              <Card
                title={`By ${nameOf(report.group).toLowerCase()}`}
                aside={
                  <a href={`/api/usage.csv?${question(group)}`} download={`usage-${group}.csv`}>
                    CSV
                  </a>
                }
              >
                <Table
                  columns={columnsOf(report)}
                  rows={report.rows}
                  total={report.total}
                  caption={`Usage by ${nameOf(report.group).toLowerCase()}`}
                />
              </Card>
              {report.models.length > 0 && <Models report={report} />}
            </>
          )
        }
      </Answered>
    </>
  )
}

const hasTotal = (report: Report): report is UsageReport => report.total !== null

function Head({ group }: { group: string }): JSX.Element {
  return (
    <div class="view-head">
      <h1>Usage</h1>
      {FILTERS.filter((name) => param(name) !== undefined).map((name) => (
        <button type="button" class="chip" onClick={() => setParams({ [name]: undefined })}>
          {nameOf(name).toLowerCase()}: {param(name)} <span aria-hidden="true">×</span>
          <span class="visually-hidden">take away</span>
        </button>
      ))}
      <fieldset class="segmented">
        <legend class="visually-hidden">group by</legend>
        {GROUPS.map(([value, name]) => (
          <button
            type="button"
            aria-pressed={value === group}
            onClick={() => setParams({ group: value, order: undefined })}
          >
            {name}
          </button>
        ))}
      </fieldset>
    </div>
  )
}

/** Spans by name, of which the address holds the days. */
export function SpanChips(props: { spans: { name: string; since?: string; until?: string }[] }): JSX.Element {
  return (
    <>
      {props.spans.map(({ name, since, until }) => (
        <a
          class="chip"
          href={withParams({ since, until })}
          aria-current={since === param('since') && until === param('until') ? 'true' : undefined}
        >
          {name}
        </a>
      ))}
    </>
  )
}

/** Months and years as the calendar has them, and any two days. */
function Spans(): JSX.Element {
  const day = (name: 'since' | 'until', label: string): JSX.Element => (
    <label>
      {label}{' '}
      <input
        type="date"
        value={isDay(param(name)) ? param(name) : ''}
        onChange={(event) => setParams({ [name]: event.currentTarget.value || undefined })}
      />
    </label>
  )
  return (
    <div class="spans">
      <SpanChips spans={[{ name: 'All time' }, ...namedSpans()]} />
      <span class="span-days">
        {day('since', 'from')} {day('until', 'to')}
      </span>
    </div>
  )
}

function Totals({ report }: { report: UsageReport }): JSX.Element {
  const { total } = report
  const given =
    total.input_tokens + total.cache_read_tokens + total.cache_write_5m_tokens + total.cache_write_1h_tokens
  return (
    <dl class="figures">
      <Figure
        name="Cost"
        value={usd(total.cost_usd, total.unpriced_responses)}
        note={
          total.unpriced_responses > 0
            ? `${count(total.unpriced_responses)} responses without a known price`
            : `list prices of ${report.prices.date}`
        }
      />
      <Figure
        name="Saved by caching"
        value={usd(total.cache_savings_usd)}
        note="extra cost of writes taken off"
      />
      <Figure
        name="Reported by agents"
        value={usd(total.reported_cost_usd)}
        note={`${count(total.reported_responses)} responses`}
      />
      <Figure name="Responses" value={count(total.responses)} note={`${short(total.total_tokens)} tokens`} />
      <Figure name="Given" value={short(given)} note={`${short(total.cache_read_tokens)} from the cache`} />
      <Figure
        name="Output"
        value={short(total.output_tokens)}
        note={`${short(total.reasoning_tokens)} reasoning`}
      />
    </dl>
  )
}

/** Also the days on which nothing was spent have their place. */
function TimeCard({
  answer,
  unit,
}: {
  answer: Answer<UsageReport>
  unit: 'day' | 'week' | 'month'
}): JSX.Element {
  return (
    <Card title={`Cost per ${unit}`} aside={<span class="muted">{timezone}</span>}>
      <Answered answer={answer}>
        {({ rows }) => {
          const known = new Map(rows.map((row) => [row.key, row]))
          const told = rows.flatMap((row) => row.key ?? [])
          const [since, until] = [param('since'), param('until')]
          const today = dayOf(new Date())
          const first = isDay(since) ? since : (spanOfKey(told[0] ?? '')?.since ?? today)
          const last = isDay(until) ? until : today
          const keys = keysOf(unit, first, last)
          return (
            <ChartWithTable
              name={`Cost per ${unit}`}
              columns={[
                { title: nameOf(unit), cell: (key: string) => key },
                {
                  title: 'Cost',
                  cell: (key) => usd(known.get(key)?.cost_usd, known.get(key)?.unpriced_responses),
                  isNumber: true,
                },
              ]}
              rows={keys}
            >
              <StackedBars
                labels={keys}
                series={[{ name: 'cost', values: keys.map((key) => Number(known.get(key)?.cost_usd ?? 0)) }]}
                format={(value) => usd(String(value))}
                name={`Cost per ${unit}`}
                hrefOf={(key) => withParams({ ...spanOfKey(key), group: 'repo' })}
              />
            </ChartWithTable>
          )
        }}
      </Answered>
    </Card>
  )
}

function Models({ report }: { report: UsageReport }): JSX.Element {
  return (
    <Card title="What models are priced as">
      <Table
        caption="Models"
        columns={[
          {
            title: 'Model',
            cell: (row) =>
              row.model === null || isTeam ? (
                (row.model ?? 'unknown')
              ) : (
                <a href={withParams({ group: 'session', model: row.model })}>{row.model}</a>
              ),
          },
          { title: 'Priced as', cell: (row) => row.priced_as ?? 'no price known' },
          { title: 'Responses', cell: (row) => count(row.responses), isNumber: true },
          { title: 'Tokens', cell: (row) => count(row.total_tokens), isNumber: true },
        ]}
        rows={report.models}
      />
    </Card>
  )
}

function columnsOf(report: UsageReport): Column<NamedRow>[] {
  const figure = (title: string, of: (row: UsageRow) => number): Column<NamedRow> => ({
    title,
    cell: (row) => <span title={count(of(row))}>{short(of(row))}</span>,
    isNumber: true,
    value: of,
  })
  const cost = Number(report.total.cost_usd ?? 0)
  return [
    {
      title: nameOf(report.group),
      cell: (row) => (row === report.total ? 'Total' : keyCell(report.group, row)),
      isRest: report.group === 'session',
      value: (row) => row.name ?? row.key ?? '',
    },
    // Beside the name, in sight on a telephone: what one came for.
    {
      title: 'Cost',
      cell: (row) => <strong>{usd(row.cost_usd, row.unpriced_responses)}</strong>,
      isNumber: true,
      value: (row) => Number(row.cost_usd ?? -1),
    },
    {
      title: 'Share',
      cell: (row) => share(cost > 0 ? Number(row.cost_usd ?? 0) / cost : null),
      isNumber: true,
    },
    {
      title: 'Responses',
      cell: (row) => count(row.responses),
      isNumber: true,
      value: (row) => row.responses,
    },
    figure('Input', (row) => row.input_tokens),
    figure('Cache read', (row) => row.cache_read_tokens),
    figure('Cache write', (row) => row.cache_write_5m_tokens + row.cache_write_1h_tokens),
    figure('Output', (row) => row.output_tokens),
  ]
}

function keyCell(group: UsageReport['group'], { key, name }: NamedRow): JSX.Element | string {
  if (key === null) return 'unknown'
  if (group === 'session')
    return (
      <a class="clip-line" href={sessionPath(key, { tab: 'cost' })} title={`${key}: its turns`}>
        {titleOf({ session_uid: key, title: name ?? null })}
      </a>
    )
  const next = { group: NEXT[group], order: undefined }
  // What few people did stands together, under words of its own.
  if (isTeam && key.startsWith('(')) return key
  if (isTime(group)) return <a href={withParams({ ...next, ...spanOfKey(key) })}>{key}</a>
  return (
    <span class="clip-line">
      {isTeam ? (
        key
      ) : (
        <a href={withParams({ ...next, [group]: key })} title={key}>
          {key}
        </a>
      )}{' '}
      <a class="row-aside" href={to('/sessions', { [group]: key })}>
        sessions
      </a>
    </span>
  )
}
