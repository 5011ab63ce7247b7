// Two sessions side by side.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Comparison } from '../../../digest/compare.ts'
import { sureness } from '../../../model.ts'
import type { BriefPage } from '../../../query/narrow.ts'
import type { SessionPrice } from '../../../query/tree-cost.ts'
import { useAnswer } from '../api.ts'
import { count, duration, idOf, short, titleOf, usd } from '../format.ts'
import { Answered, Card, type Column, Empty, OutcomeBadge, Table, When } from '../parts.tsx'
import { param, sessionPath, setParams } from '../router.ts'
import { redacted } from '../text/plain.tsx'

type Compared = Comparison & { costs: [SessionPrice, SessionPrice] }

export function CompareView(): JSX.Element {
  const [a, b] = [param('a'), param('b')]
  const answer = useAnswer<Compared>(
    a && b ? `compare?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}` : undefined,
  )
  return (
    <>
      <div class="view-head">
        <h1>Compare</h1>
      </div>
      <div class="columns">
        <Picker side="a" uid={a} />
        <Picker side="b" uid={b} />
      </div>
      {a && b ? (
        <Answered answer={answer}>{(comparison) => <Sides comparison={comparison} />}</Answered>
      ) : (
        <Empty title="Choose two sessions">
          <p>Type a part of a title, a prompt, a repository or an id on each side.</p>
        </Empty>
      )}
    </>
  )
}

function Picker({ side, uid }: { side: 'a' | 'b'; uid: string | undefined }): JSX.Element {
  const [text, setText] = useState('')
  const answer = useAnswer<BriefPage>(`sessions?limit=8&q=${encodeURIComponent(text)}`)
  const name = side === 'a' ? 'First' : 'Second'
  return (
    <Card title={`${name} session`} aside={uid && <a href={sessionPath(uid)}>{idOf(uid)}</a>}>
      <input
        type="search"
        placeholder="Find a session"
        aria-label={`find the ${name.toLowerCase()} session`}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      {(text !== '' || !uid) && (
        <Answered answer={answer}>
          {({ sessions }) => (
            <ul class="list picks">
              {sessions.map((session) => (
                <li>
                  <button
                    type="button"
                    class="quiet"
                    onClick={() => {
                      setParams({ [side]: session.session_uid })
                      setText('')
                    }}
                  >
                    {titleOf(session)}
                  </button>
                  <span class="muted">
                    {session.flavor} · <When at={session.started_at} />
                  </span>
                </li>
              ))}
            </ul>
          )}
        </Answered>
      )}
    </Card>
  )
}

const UNITS: Record<string, (value: number) => string> = { wall_clock_s: duration, active_s: duration }
const NAMES: Record<string, string> = { wall_clock_s: 'wall clock', active_s: 'active time' }
const shown = (name: string, value: number): string => (UNITS[name] ?? count)(value)

/** What is greater, in words as well. */
function difference(a: number, b: number): string {
  if (a === b) return 'same'
  if (a === 0 || b === 0) return a === 0 ? 'only second' : 'only first'
  const times = Math.max(a, b) / Math.min(a, b)
  return `${a > b ? 'first' : 'second'} ×${times < 10 ? times.toFixed(1) : Math.round(times)}`
}

function SideHead({ digest }: { digest: Comparison['a'] }): JSX.Element {
  return (
    <Card title={titleOf({ ...digest, title: digest.title || null })}>
      <p class="facts">
        <OutcomeBadge outcome={digest.outcome} /> <span>{digest.flavor}</span> <span>{digest.model}</span>{' '}
        <When at={digest.started_at || null} />
      </p>
      <p>
        {digest.outcome_detail.reason || digest.outcome_detail.rule}{' '}
        <span class="muted">({sureness(digest.outcome_detail.confidence)})</span>
      </p>
      <p class="muted">{redacted(digest.last_assistant.slice(0, 300))}</p>
    </Card>
  )
}

const pairColumns = <T extends { a: number; b: number }>(
  title: string,
  of: (row: T) => string,
): Column<T>[] => [
  { title, cell: (row) => <span class="path">{redacted(of(row))}</span> },
  { title: 'First', cell: (row) => count(row.a), isNumber: true },
  { title: 'Second', cell: (row) => count(row.b), isNumber: true },
  { title: 'More', cell: (row) => difference(row.a, row.b) },
]

/** Cost and tokens, with the sub-agents where there are any. */
function CostTable({ comparison }: { comparison: Compared }): JSX.Element {
  const [a, b] = comparison.costs
  const tokens = ({ cost }: Comparison['a']): number =>
    cost.input_tokens + cost.output_tokens + cost.cache_tokens
  const money = ({ cost_usd, unpriced_responses }: Omit<SessionPrice, 'tree'>): string =>
    usd(cost_usd, unpriced_responses)
  const rows: [string, string, string, string][] = [
    ['cost', money(a), money(b), difference(Number(a.cost_usd), Number(b.cost_usd))],
    [
      'tokens',
      short(tokens(comparison.a)),
      short(tokens(comparison.b)),
      difference(tokens(comparison.a), tokens(comparison.b)),
    ],
  ]
  if (a.tree || b.tree) {
    const [left, right] = [a.tree ?? a, b.tree ?? b]
    rows.push([
      'cost with sub-agents',
      money(left),
      money(right),
      difference(Number(left.cost_usd), Number(right.cost_usd)),
    ])
  }
  return (
    <Card title="Cost">
      <Table
        caption="Cost of both"
        columns={[
          { title: 'Figure', cell: ([name]) => name },
          { title: 'First', cell: ([, left]) => left, isNumber: true },
          { title: 'Second', cell: ([, , right]) => right, isNumber: true },
          { title: 'More', cell: ([, , , more]) => more },
        ]}
        rows={rows}
      />
    </Card>
  )
}

function Sides({ comparison }: { comparison: Compared }): JSX.Element {
  return (
    <>
      <div class="columns">
        <SideHead digest={comparison.a} />
        <SideHead digest={comparison.b} />
      </div>
      <CostTable comparison={comparison} />
      <Card title="Figures">
        <Table
          caption="Figures of both"
          columns={[
            { title: 'Figure', cell: (row) => NAMES[row.name] ?? row.name.replaceAll('_', ' ') },
            { title: 'First', cell: (row) => shown(row.name, row.a), isNumber: true },
            { title: 'Second', cell: (row) => shown(row.name, row.b), isNumber: true },
            { title: 'More', cell: (row) => difference(row.a, row.b) },
          ]}
          rows={comparison.metrics}
        />
      </Card>
      <div class="columns">
        <Card title="Tools">
          <Table
            caption="Tools of both"
            columns={pairColumns('Tool', (row: Comparison['tools'][number]) => row.tool)}
            rows={comparison.tools}
            limit={15}
          />
        </Card>
        <Card title="Files">
          <Table
            caption="Files of both"
            columns={pairColumns('File', (row: Comparison['files'][number]) => row.path)}
            rows={comparison.files}
            limit={15}
          />
        </Card>
      </div>
      {comparison.errors.length > 0 && (
        <Card title="Errors">
          <Table
            caption="Errors of both"
            columns={pairColumns('Error', (row: Comparison['errors'][number]) => row.sample)}
            rows={comparison.errors}
            limit={15}
          />
        </Card>
      )}
    </>
  )
}
