// The account of some days: what was done, what it cost, what kept failing and what mended it, against the days before.
import { type ComponentChildren, Fragment, type JSX } from 'preact'
import type { Cell, Chart, RetroDocument, Section } from '../../../retro/sections.ts'
import { timezone, useAnswer } from '../api.ts'
import { ShareBar, StackedBars } from '../charts/bars.tsx'
import { namedSpans } from '../days.ts'
import { duration, idOf, secondsUnit, usd } from '../format.ts'
import { isTeam } from '../here.ts'
import { Answered, AsTable, Card, Command, Empty, Figure, Table } from '../parts.tsx'
import { param, sessionPath } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import { SpanChips } from './usage.tsx'

export function RetroView(): JSX.Element {
  const [since, until] = [param('since'), param('until')]
  const query = new URLSearchParams({ timezone })
  if (since !== undefined) query.set('since', since)
  if (until !== undefined) query.set('until', until)
  const answer = useAnswer<{ totals: { sessions: number } | null; document: RetroDocument }>(`retro?${query}`)
  return (
    <>
      <div class="view-head">
        <h1>Retro</h1>
        <nav class="spans" aria-label="days">
          <SpanChips spans={[{ name: 'Last 7 days' }, ...namedSpans().slice(0, 4)]} />
        </nav>
        <Command
          text={isTeam ? `recollect --server ${location.origin} retro` : 'recollect retro --format md'}
        />
      </div>
      <Answered answer={answer}>
        {({ totals, document: told }) =>
          totals?.sessions === 0 ? (
            <Empty title="No session ended on these days">
              <p>{told.subtitle}</p>
            </Empty>
          ) : (
            <Told told={told} />
          )
        }
      </Answered>
    </>
  )
}

function Told({ told }: { told: RetroDocument }): JSX.Element {
  return (
    <>
      <p class="muted lead">{told.subtitle}</p>
      <dl class="figures eight">
        {told.figures.map((figure) => (
          <Figure
            name={`${figure.label[0]?.toUpperCase()}${figure.label.slice(1)}`}
            value={figure.value.replace(/^at least /, '≥ ')}
            note={figure.change}
          />
        ))}
      </dl>
      {told.sections.map((section) => (
        <SectionCard section={section} />
      ))}
      {told.notes.map((note) => (
        <p class="muted">{note}</p>
      ))}
    </>
  )
}

function SectionCard({ section }: { section: Section }): JSX.Element {
  const { table } = section
  // The figures of a drawing are one click away, as everywhere.
  const Wrapped = section.charts.length > 0 ? AsTable : Fragment
  return (
    <Card title={section.title}>
      {section.lines.map((line) => (
        <p class="retro-line">{line.split(' ').map((word, at) => [at > 0 && ' ', linked(word)])}</p>
      ))}
      <div class={section.charts.length > 1 ? 'columns' : ''}>
        {section.charts.map((chart) => (
          <Drawing chart={chart} />
        ))}
      </div>
      {table && (
        <Wrapped>
          <Table
            caption={section.title}
            rows={table.rows}
            columns={table.columns.map(({ title, isNumber = false }, at) => ({
              title,
              isNumber,
              cell: (row: Cell[]) => <CellText cell={row[at] ?? ''} />,
            }))}
            limit={20}
          />
        </Wrapped>
      )}
    </Card>
  )
}

function Drawing({ chart }: { chart: Chart }): JSX.Element {
  const most = chart.items.reduce((sum, one) => sum + one.value, 0)
  const isCost = /cost/i.test(chart.title)
  if (chart.kind === 'columns') {
    return (
      <div>
        <p class="muted">{chart.title}</p>
        <StackedBars
          labels={chart.items.map((one) => one.label)}
          series={[{ name: chart.title, values: chart.items.map((one) => one.value) }]}
          format={isCost ? (value) => usd(String(value)) : duration}
          {...(!isCost && { unitOf: secondsUnit })}
          name={`${chart.title}: ${chart.items.map((one) => `${one.label} ${one.shown}`).join(', ')}`}
        />
      </div>
    )
  }
  return (
    <ul class="parts">
      {chart.items
        .filter((one) => one.value > 0)
        .map((one) => (
          <li>
            <span>{one.label}</span> <span class="number">{one.shown}</span>
            <ShareBar value={one.value} most={most} label={`${one.label}: ${one.shown}`} isGoal />
          </li>
        ))}
    </ul>
  )
}

/** An event that a line names in brackets, `(agent:0199#12),`, is a link; any other word is itself. */
function linked(word: string): ComponentChildren {
  const [, ref, rest] = (word.startsWith('(') && /^([a-z-]+:[^#()]+#\d+)\)(,?)$/.exec(word.slice(1))) || []
  return ref === undefined ? redacted(word) : ['(', <RefLink to={ref} />, `)${rest}`]
}

function RefLink({ to: ref }: { to: string }): JSX.Element {
  const [, uid = '', seq] = /^(.*?)(?:#(\d+))?$/s.exec(ref) ?? []
  return (
    <a href={sessionPath(uid, seq === undefined ? {} : { seq })}>
      {idOf(uid)}
      {seq !== undefined && `#${seq}`}
    </a>
  )
}

function CellText({ cell }: { cell: Cell }): JSX.Element {
  if (typeof cell === 'string') return <>{redacted(cell)}</>
  if ('code' in cell) return <code>{redacted(cell.code)}</code>
  return (
    <span class="jumps">
      {cell.refs.slice(0, 4).map((ref) => (
        <RefLink to={ref} />
      ))}
      {cell.refs.length > 4 && <span class="muted">+{cell.refs.length - 4}</span>}
    </span>
  )
}
