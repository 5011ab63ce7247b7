// Tokens and money, by whatever they are grouped by.
import type { JSX } from 'preact'
import type { UsageGroup, UsageReport, UsageRow } from '../../../query/usage.ts'
import { timezone, useAnswer } from '../api.ts'
import { StackedBars } from '../charts/bars.tsx'
import { count, short, titleOf, usd } from '../format.ts'
import { Answered, Card, ChartWithTable, type Column, Empty, Figure, Table } from '../parts.tsx'
import { param, sessionPath, setParams, to } from '../router.ts'

const SPANS: [string, string][] = [
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
  ['365d', '1 year'],
  ['', 'all'],
]
const GROUPS: readonly UsageGroup[] = ['day', 'week', 'month', 'session', 'model', 'repo', 'domain', 'flavor']
/** Of sessions the server says what they are called. */
type NamedRow = UsageRow & { name?: string }
const isTime = (group: string): boolean => group === 'day' || group === 'week' || group === 'month'

export function UsageView(): JSX.Element {
  const group = param('group') ?? 'day'
  const since = param('since') ?? '90d'
  const query = new URLSearchParams({ group, timezone })
  if (since !== '') query.set('since', since)
  for (const name of ['flavor', 'repo', 'domain', 'model']) {
    const value = param(name)
    if (value !== undefined) query.set(name, value)
  }
  const answer = useAnswer<UsageReport>(`usage?${query}`)
  return (
    <>
      <div class="view-head">
        <h1>Usage</h1>
        <select
          aria-label="group by"
          value={group}
          onChange={(event) => setParams({ group: event.currentTarget.value })}
        >
          {GROUPS.map((name) => (
            <option value={name}>by {name}</option>
          ))}
        </select>
        <select
          aria-label="span"
          value={since}
          onChange={(event) => setParams({ since: event.currentTarget.value })}
        >
          {SPANS.map(([value, name]) => (
            <option value={value}>{name}</option>
          ))}
        </select>
        {['flavor', 'repo', 'domain', 'model']
          .filter((name) => param(name) !== undefined)
          .map((name) => (
            <button type="button" class="chip" onClick={() => setParams({ [name]: undefined })}>
              {name}: {param(name)} <span aria-hidden="true">×</span>
            </button>
          ))}
      </div>
      <Answered answer={answer}>
        {(report) =>
          report.rows.length === 0 ? (
            <Empty title="No usage in this span" command="recollect sweep" />
          ) : (
            <Report report={report} />
          )
        }
      </Answered>
    </>
  )
}

function Report({ report }: { report: UsageReport }): JSX.Element {
  const { total } = report
  return (
    <>
      <dl class="figures">
        <Figure
          name="Cost"
          value={usd(total.cost_usd, total.unpriced_responses)}
          note={`list prices of ${report.prices.date}`}
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
        <Figure name="Input" value={short(total.input_tokens)} note="tokens, not cached" />
        <Figure name="Cache" value={short(total.cache_read_tokens)} note="tokens read" />
        <Figure
          name="Output"
          value={short(total.output_tokens)}
          note={`${short(total.reasoning_tokens)} reasoning`}
        />
      </dl>
      {isTime(report.group) && (
        <Card title={`Cost per ${report.group}`} aside={<span class="muted">{report.timezone}</span>}>
          <ChartWithTable
            name={`Cost per ${report.group}`}
            columns={[
              { title: report.group, cell: (row) => row.key ?? 'unknown' },
              { title: 'Cost', cell: (row) => usd(row.cost_usd, row.unpriced_responses), isNumber: true },
            ]}
            rows={report.rows}
          >
            <StackedBars
              labels={report.rows.map((row) => row.key ?? 'unknown')}
              series={[{ name: 'cost', values: report.rows.map((row) => Number(row.cost_usd ?? 0)) }]}
              format={(value) => usd(String(value))}
              name={`Cost per ${report.group}`}
            />
          </ChartWithTable>
        </Card>
      )}
      <Card title={`By ${report.group}`}>
        <Table columns={columnsOf(report)} rows={report.rows} caption={`Usage by ${report.group}`} />
      </Card>
      {report.group !== 'model' && <Models report={report} />}
    </>
  )
}

function Models({ report }: { report: UsageReport }): JSX.Element {
  return (
    <Card title="Models and what they are priced as">
      <Table
        caption="Models"
        columns={[
          {
            title: 'Model',
            cell: (row) => (
              <a href={to('/usage', { group: report.group, model: row.model ?? '' })}>
                {row.model ?? 'unknown'}
              </a>
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

function columnsOf(report: UsageReport): Column<UsageRow>[] {
  const figure = (title: string, of: (row: UsageRow) => number): Column<UsageRow> => ({
    title,
    cell: (row) => <span title={count(of(row))}>{short(of(row))}</span>,
    isNumber: true,
  })
  return [
    { title: report.group, cell: (row) => keyCell(report.group, row) },
    figure('Responses', (row) => row.responses),
    figure('Input', (row) => row.input_tokens),
    figure('Cache read', (row) => row.cache_read_tokens),
    figure('Cache write', (row) => row.cache_write_5m_tokens + row.cache_write_1h_tokens),
    figure('Output', (row) => row.output_tokens),
    { title: 'Cost', cell: (row) => usd(row.cost_usd, row.unpriced_responses), isNumber: true },
  ]
}

function keyCell(group: string, { key, name }: NamedRow): JSX.Element | string {
  if (key === null) return 'unknown'
  if (group === 'session')
    return (
      <a class="usage-session" href={sessionPath(key)} title={key}>
        {titleOf({ session_uid: key, title: name ?? null })}
      </a>
    )
  if (isTime(group)) return key
  return <a href={to('/sessions', { [group]: key })}>{key}</a>
}
