// Two sessions side by side.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Comparison } from '../../../digest/compare.ts'
import type { BriefPage } from '../../../query/narrow.ts'
import type { SessionPrice } from '../../../query/tree-cost.ts'
import { useAnswer } from '../api.ts'
import { count, duration, short, titleOf, usd } from '../format.ts'
import {
  Answered,
  AnsweredLine,
  basisOf,
  Card,
  Empty,
  OutcomeBadge,
  SessionLink,
  Table,
  When,
} from '../parts.tsx'
import { param, setParams } from '../router.ts'
import { plainly, redacted } from '../text/plain.tsx'
import type { SessionDocument } from './session.tsx'

type Compared = Comparison & { costs: [SessionPrice, SessionPrice] }
type Price = Omit<SessionPrice, 'tree'>

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
    <Card title={`${name} session`} class="pick">
      {uid !== undefined && <Side uid={uid} />}
      <input
        type="search"
        placeholder={uid === undefined ? 'Find a session' : 'Find another one'}
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

const NAMES: Record<string, string> = { wall_clock_s: 'wall clock', active_s: 'active time' }
/** In their units, and as short as elsewhere. */
const shown = (name: string, value: number): string =>
  (name.endsWith('_s') ? duration : name.endsWith('tokens') ? short : count)(value)

/** What is greater, in words as well. */
function difference(a: number, b: number): string {
  if (a === b) return 'same'
  if (a === 0 || b === 0) return a === 0 ? 'only second' : 'only first'
  const times = Math.max(a, b) / Math.min(a, b)
  return `${a > b ? 'first' : 'second'} ×${times < 10 ? Number(times.toFixed(1)) : Math.round(times)}`
}

/** Who was chosen, and how it ended. */
function Side({ uid }: { uid: string }): JSX.Element {
  const answer = useAnswer<SessionDocument>(`sessions/${encodeURIComponent(uid)}`)
  return (
    <AnsweredLine answer={answer}>
      {({ session, digest }) => (
        <div class="side">
          <h3>
            <SessionLink session={session} />
          </h3>
          <p class="facts">
            <OutcomeBadge outcome={session.outcome} endedAt={session.ended_at} basis={basisOf(session)} />
            <span>{session.outcome_reason}</span>
            <span>
              {session.flavor} · {session.model ?? 'unknown model'} · <When at={session.started_at} />
            </span>
          </p>
          <p class="few-lines">{redacted(plainly(digest?.last_assistant ?? ''))}</p>
        </div>
      )}
    </AnsweredLine>
  )
}

/** What both sides have of something, what has most first. */
function Pairs<T extends { a: number; b: number }>(props: {
  title: string
  of: (row: T) => string
  rows: readonly T[]
}): JSX.Element {
  return (
    <Card title={`${props.title}s`}>
      <Table
        caption={`${props.title}s of both`}
        columns={[
          { title: props.title, cell: (row) => <span class="path">{redacted(props.of(row))}</span> },
          { title: 'First', cell: (row) => count(row.a), isNumber: true },
          { title: 'Second', cell: (row) => count(row.b), isNumber: true },
          { title: 'Greater', cell: (row) => <span class="muted">{difference(row.a, row.b)}</span> },
        ]}
        rows={props.rows}
        limit={15}
      />
    </Card>
  )
}

type Row = { name: string; a: string; b: string; greater: string }

/** Cost, with the sub-agents where there are any; then all that the digests count. */
function figuresOf({ a, b, costs, metrics }: Compared): Row[] {
  const [left, right] = costs
  const price = (name: string, x: Price, y: Price): Row => ({
    name,
    a: usd(x.cost_usd, x.unpriced_responses),
    b: usd(y.cost_usd, y.unpriced_responses),
    greater: difference(Number(x.cost_usd), Number(y.cost_usd)),
  })
  const tokens = ({ cost }: Comparison['a']): number =>
    cost.input_tokens + cost.output_tokens + cost.cache_tokens
  return [
    price('cost', left, right),
    ...(left.tree || right.tree
      ? [price('cost with sub-agents', left.tree ?? left, right.tree ?? right)]
      : []),
    ...[{ name: 'tokens', a: tokens(a), b: tokens(b) }, ...metrics].map((row) => ({
      name: NAMES[row.name] ?? row.name.replaceAll('_', ' '),
      a: shown(row.name, row.a),
      b: shown(row.name, row.b),
      greater: difference(row.a, row.b),
    })),
  ]
}

function Sides({ comparison }: { comparison: Compared }): JSX.Element {
  return (
    <div class="sides">
      <div class="columns">
        <Card title="Figures">
          <Table
            caption="Figures of both"
            columns={[
              { title: 'Figure', cell: (row) => row.name },
              { title: 'First', cell: (row) => row.a, isNumber: true },
              { title: 'Second', cell: (row) => row.b, isNumber: true },
              { title: 'Greater', cell: (row) => <span class="muted">{row.greater}</span> },
            ]}
            rows={figuresOf(comparison)}
          />
        </Card>
        <Pairs title="Tool" of={(row) => row.tool} rows={comparison.tools} />
      </div>
      <div class="columns">
        <Pairs title="File" of={(row) => row.path} rows={comparison.files} />
        {comparison.errors.length > 0 && (
          <Pairs title="Error" of={(row) => row.sample} rows={comparison.errors} />
        )}
      </div>
    </div>
  )
}
