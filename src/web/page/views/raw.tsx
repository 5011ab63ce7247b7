// What is stored, as it is stored: every record after redaction, and what could not be read.
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import type { GapRow } from '../../../query/coverage.ts'
import type { Outline } from '../../../query/outline.ts'
import { unreadOf } from '../../../query/unread.ts'
import type { EventWithBody } from '../../server/events.ts'
import { useBodies } from '../bodies.ts'
import { bytes, count, time } from '../format.ts'
import { Card, Pager, Table, UnreadNote } from '../parts.tsx'
import { param } from '../router.ts'
import { redacted } from '../text/plain.tsx'
import type { SessionDocument } from './session.tsx'

const PAGE = 40

export function RawTab({ document, outline }: { document: SessionDocument; outline: Outline }): JSX.Element {
  const from = Math.max(0, Number(param('from') ?? 0))
  const seqs = outline.seq.slice(from, from + PAGE)
  const bodies = useBodies(true)
  const { session } = document
  const uid = session.session_uid
  useEffect(() => bodies.want(seqs.map((seq) => ({ uid, seq }))))
  return (
    <>
      <Card title="Source">
        <dl class="pairs">
          <dt>file</dt>
          <dd>{session.source_path ?? 'unknown'}</dd>
          <dt>size</dt>
          <dd>{bytes(session.source_bytes)}</dd>
          <dt>id</dt>
          <dd>{session.session_uid}</dd>
        </dl>
      </Card>
      {document.gaps.length > 0 && (
        <Card title="Gaps">
          <GapTable gaps={document.gaps} />
        </Card>
      )}
      <UnreadNote unread={unreadOf(bodies.unreadCount())} />
      <Card title="Records" aside={<Pager from={from} size={PAGE} total={outline.seq.length} />}>
        {seqs.map((seq) => (
          <Record seq={seq} event={bodies.get(uid, seq)} load={() => bodies.load(uid, seq)} />
        ))}
      </Card>
    </>
  )
}

/** What a terminal would take as a colour. */
const ESCAPES = /\u001b\[[\d;]*[A-Za-z]/g

function Record(props: { seq: number; event: EventWithBody | undefined; load: () => void }): JSX.Element {
  const { seq, event } = props
  return (
    <details class="record">
      <summary>
        <span class="seq">#{seq}</span> <span class="record-time muted">{event ? time(event.ts) : '…'}</span>{' '}
        <span class="record-kind">{event && [event.kind, event.tool].filter(Boolean).join(' · ')}</span>{' '}
        <span class="muted clip">{event && redacted(event.summary.replace(ESCAPES, ''))}</span>
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
      <pre class="code" tabIndex={0}>
        {event && redacted(JSON.stringify(event, null, 2))}
      </pre>
      {event?.payload_bytes !== undefined && (
        <button type="button" class="quiet" onClick={props.load}>
          show all ({bytes(event.payload_bytes)})
        </button>
      )}
    </details>
  )
}

export function GapTable({ gaps }: { gaps: readonly GapRow[] }): JSX.Element {
  return (
    <Table
      caption="Parts of logs that could not be read"
      columns={[
        { title: 'File', cell: (gap) => <span class="path">{gap.file || gap.path}</span> },
        { title: 'At byte', cell: (gap) => count(gap.offset), isNumber: true },
        { title: 'Bytes', cell: (gap) => count(gap.length), isNumber: true },
        { title: 'Why', cell: (gap) => `${gap.reason.replaceAll('_', ' ')} ${gap.detail}` },
        { title: 'State', cell: (gap) => (gap.is_pending ? 'may still be completed' : 'skipped') },
      ]}
      rows={gaps}
    />
  )
}
