// The figures of a timeline: which steps took longest, and where the time went.
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { subjectOf } from '../../../event/words.ts'
import { isCall } from '../../../model.ts'
import type { Outline } from '../../../query/outline.ts'
import type { EventWithBody } from '../../server/events.ts'
import type { Bodies } from '../bodies.ts'
import { type Span, timesOf, type Waterfall } from '../charts/waterfall.ts'
import { duration, short, usd } from '../format.ts'
import { Card, Table } from '../parts.tsx'
import { sessionPath } from '../router.ts'
import { redacted } from '../text/plain.tsx'

const LONGEST = 40

export const spanPath = (uid: string, span: Span): string =>
  span.uid === undefined ? sessionPath(uid, { seq: String(span.seq) }) : sessionPath(span.uid)

/** What was called, in the words of the call; of the model, what it led to. */
export const whatOf = (span: Span, event: EventWithBody | undefined): string => {
  if (!event || !isCall(event)) return span.name
  const tool = span.kind === 'model' ? `model, up to ${event.tool ?? 'a call'}` : span.name
  const subject = subjectOf(event)
  return subject === event.tool || subject === '' ? tool : `${tool}: ${subject}`
}

/** Those that are steps: waiting is none, and a sub-agent's session has its own. */
export function LongestTable({
  uid,
  waterfall,
  bodies,
}: {
  uid: string
  waterfall: Waterfall
  bodies: Bodies
}): JSX.Element {
  const longest = waterfall.spans
    .filter((span) => span.kind !== 'waiting' && span.uid === undefined)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
    .slice(0, LONGEST)
  useEffect(() => bodies.want(longest.map(({ seq }) => ({ uid, seq }))))
  return (
    <Card title="Longest steps" class="wide">
      <Table
        caption="Longest steps"
        columns={[
          { title: 'Event', cell: (row) => <a href={spanPath(uid, row)}>#{row.seq}</a> },
          {
            title: 'What',
            isRest: true,
            cell: (row) => (
              <span class="clip-line">
                {redacted(whatOf(row, bodies.get(uid, row.seq)))}
                {row.kind === 'failed' && ', failed'}
              </span>
            ),
          },
          { title: 'Took', cell: (row) => duration((row.to - row.from) / 1000), isNumber: true },
          {
            title: 'Began after',
            cell: (row) => duration((row.from - waterfall.from) / 1000),
            isNumber: true,
          },
          {
            title: 'Tokens',
            cell: (row) => (row.tokens === undefined ? '' : short(row.tokens)),
            isNumber: true,
          },
          {
            title: 'Cost',
            cell: (row) => (row.costUsd === undefined ? '' : usd(String(row.costUsd))),
            isNumber: true,
          },
        ]}
        rows={longest}
        limit={12}
      />
    </Card>
  )
}

/** Of one lane, each moment once. */
function busyMs(spans: readonly Span[]): number {
  let [sum, end] = [0, Number.NEGATIVE_INFINITY]
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, end))
    end = Math.max(end, to)
  }
  return sum
}

export function TimeTables({ outline, waterfall }: { outline: Outline; waterfall: Waterfall }): JSX.Element {
  const times = useMemo(() => timesOf(outline), [outline])
  const shares: [string, number][] = [
    ['active (pauses up to 5 min)', times.activeMs],
    ['waiting for you', times.waitingMs],
    ['in calls over 5 min', times.callsMs],
    ['other pauses', times.otherMs],
    ['from first to last event', times.activeMs + times.waitingMs + times.callsMs + times.otherMs],
  ]
  const lanes = waterfall.lanes
    .map((name, lane): [string, number] => [
      name,
      busyMs(waterfall.spans.filter((span) => span.lane === lane)),
    ])
    .filter(([, ms]) => ms > 0)
    .sort((a, b) => b[1] - a[1])
  const columns = (name: string) => [
    { title: name, cell: ([what]: [string, number]) => what },
    { title: 'Time', cell: ([, ms]: [string, number]) => duration(ms / 1000), isNumber: true },
  ]
  return (
    <div class="stack">
      <Card title="Where the time went">
        <Table caption="Time" columns={columns('Part')} rows={shares.filter(([, ms]) => ms > 0)} />
      </Card>
      <Card title="Time by lane">
        <Table caption="Time by lane" columns={columns('Lane')} rows={lanes} limit={8} />
      </Card>
    </div>
  )
}
