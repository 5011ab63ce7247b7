// The transcript: prompts as landmarks, everything between them, windowed. 50,000 events cost what is in view.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Outline } from '../../../query/outline.ts'
import { unreadOf } from '../../../query/unread.ts'
import { type Bodies, useBodies } from '../bodies.ts'
import { useMarks } from '../find-marks.ts'
import { foldsOf } from '../folds.ts'
import { count } from '../format.ts'
import { Empty, UnreadNote } from '../parts.tsx'
import { param, sessionPath, uidInAddress, withParams } from '../router.ts'
import { type List, useVirtual } from '../virtual.ts'
import { AgentRow } from './agent-row.tsx'
import { Step } from './event.tsx'
import { PromptRail } from './prompts.tsx'
import { useReadingKeys } from './transcript-keys.ts'
import { type Following, useFollowing, useHolding, useJump, useLastSeen } from './transcript-place.ts'
import { PrintButton, Printed, usePrinting } from './transcript-print.tsx'
import { HitRail, useRowNumbers } from './transcript-rail.tsx'
import { type Row, rowsOf, type Shown, type Told } from './transcript-rows.ts'
import { Toolbar, useFind } from './transcript-tools.tsx'

const HEIGHTS: Partial<Record<Row['kind'], number>> = {
  user_msg: 110,
  assistant_msg: 120,
  edit: 240,
  error: 160,
}

interface Props {
  uid: string
  told: Omit<Told, 'shown'>
  title: string
}

/** Events that tell of a failure. */
function errorsIn(outline: Outline | undefined): number[] {
  if (!outline) return []
  const error = outline.kinds.indexOf('error')
  return outline.seq.filter((_, i) => outline.kind[i] === error || (outline.exit_code[i] ?? 0) !== 0)
}

/** What of the address decides which rows there are. */
function useRows(uid: string, told: Props['told']): { shown: Shown; rows: Row[] } {
  const shown = {
    housekeeping: param('all') === '1',
    thinking: param('thinking') !== '0',
    tools: param('tools') !== '0',
    target: Number(param('seq') ?? 0),
  }
  const { outlines, subagents } = told
  const { target: _, ...switches } = shown
  const deps = [uid, outlines, subagents.length, param('agents'), ...Object.values(switches)]
  const plain = useMemo(() => rowsOf({ ...told, shown: { ...shown, target: 0 } }, uid), deps)
  const plainNumbers = useRowNumbers(plain, uid)
  // Only what would not be shown otherwise makes other rows: moving from event to event must cost nothing.
  const extra = shown.target > 0 && !plainNumbers.has(shown.target) ? shown.target : 0
  const rows = useMemo(() => (extra === 0 ? plain : rowsOf({ ...told, shown }, uid)), [plain, extra])
  return { shown, rows }
}

export function Transcript({ uid, told, title }: Props): JSX.Element {
  const { outlines } = told
  const outline = outlines.get(uid)
  const { shown, rows } = useRows(uid, told)
  const numbers = useRowNumbers(rows, uid)
  const errors = useMemo(() => new Set(errorsIn(outline)), [outline])
  const total = outline?.seq.length ?? 0
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtual({
    count: rows.length,
    scroller,
    keyOf: (i) => rows[i]?.key ?? String(i),
    estimate: (i) => HEIGHTS[rows[i]?.kind ?? 'lifecycle'] ?? 44,
  })
  const bodies = useBodies()
  const find = useFind(uid)
  const hold = useHolding(list)
  const jumping = useJump(list, rows, outline, hold, useMarks(scroller, find.query))
  const following = useFollowing(list, rows.length, total, hold)
  const lastSeen = useLastSeen(uid, seqAt(rows, list.range?.endIndex ?? -1))
  useReadingKeys({ uid, rows, list, numbers, errors, jumping, following })
  const printing = usePrinting(rows)
  if (total === 0) return <NoEvents uid={uid} />
  const current = rows[list.range?.startIndex ?? 0]?.at ?? 0
  return (
    <div class="transcript">
      <PromptRail rows={rows} outline={outline} errors={errors} bodies={bodies} current={current} />
      <div class="transcript-main">
        <Toolbar shown={shown} find={find} total={total}>
          <PrintButton printing={printing} />
        </Toolbar>
        <NoSuchEvent seq={shown.target} outline={outline} />
        {!printing.bodies && <UnreadNote unread={unreadOf(bodies.unreadCount())} />}
        {printing.bodies ? (
          <Printed rows={rows} printing={printing} uid={uid} title={title} />
        ) : (
          <div class="transcript-frame">
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
            <section class="scroller" ref={scroller} tabIndex={0} aria-label="transcript">
              <p class="print-only">
                Only the part that was in view; the print button of the page prints all.
              </p>
              <Window
                list={list}
                rows={rows}
                bodies={bodies}
                uid={uid}
                found={find.current}
                lastSeen={lastSeen}
              />
            </section>
            <HitRail rows={rows} numbers={numbers} hits={find.seqs} errors={errors} current={find.current} />
            <FreshButton {...following} />
          </div>
        )}
      </div>
    </div>
  )
}

function FreshButton({ fresh, toEnd }: Following): JSX.Element | null {
  if (fresh === 0) return null
  return (
    <button type="button" class="fresh" onClick={toEnd}>
      {count(fresh)} new ↓
    </button>
  )
}

/** The event of the session itself at a row, or the last one before it. */
function seqAt(rows: readonly Row[], index: number): number {
  for (let i = index; i >= 0; i--)
    if (rows[i]?.depth === 0) return Math.max(rows[i]?.seq ?? 0, rows[i]?.answer ?? 0)
  return 0
}

function Window(props: {
  list: List
  rows: readonly Row[]
  bodies: Bodies
  uid: string
  found: number | undefined
  lastSeen: number
}): JSX.Element {
  const { list, rows, bodies, uid, lastSeen } = props
  const items = list.getVirtualItems()
  useEffect(() => {
    bodies.want(
      items.flatMap(({ index }) => {
        const row = rows[index]
        if (!row) return []
        return row.agent
          ? [{ uid: row.uid, seq: row.agent.firstSeq }]
          : [row, { uid: row.uid, seq: row.answer }]
      }),
    )
  })
  const target = Number(param('seq') ?? 0)
  const isThere = (seq: number): boolean => seq > 0 && (seq === props.found || seq === target)
  const isHit = (row: Row): boolean =>
    props.found !== undefined && [row.seq, row.answer].includes(props.found)
  const firstNew = useMemo(
    () =>
      lastSeen === 0 ? -1 : rows.findIndex((row) => row.uid === uid && !row.agent && row.seq > lastSeen),
    [rows, lastSeen],
  )
  return (
    <div class="canvas" style={{ height: `${list.getTotalSize()}px` }}>
      {items.map(({ index, start }) => {
        const row = rows[index] as Row
        const isTarget = row.uid === uid && (isThere(row.seq) || isThere(row.answer))
        return (
          <Slot key={row.key} list={list} index={index} start={start} row={row} isTarget={isTarget}>
            {index === firstNew && (
              <p class="last-seen">
                <span>new since you last looked</span>
              </p>
            )}
            <Body row={row} bodies={bodies} isFound={row.uid === uid && isHit(row)} />
          </Slot>
        )
      })}
    </div>
  )
}

function Slot(props: {
  list: List
  index: number
  start: number
  row: Row
  isTarget: boolean
  children: ComponentChildren
}): JSX.Element {
  const { flags, depth } = props.row
  return (
    <div
      data-index={props.index}
      data-seq={props.row.seq}
      ref={(element) => {
        if (element) props.list.measureElement(element)
      }}
      class={`slot depth-${depth} ${depth > 0 ? 'nested' : ''} ${flags & 6 ? 'faded' : ''} ${props.isTarget ? 'target' : ''}`}
      style={{ top: `${props.start}px` }}
    >
      {props.children}
    </div>
  )
}

function Body({ row, bodies, isFound }: { row: Row; bodies: Bodies; isFound: boolean }): JSX.Element {
  if (row.agent) return <AgentRow agent={row.agent} task={bodies.get(row.uid, row.agent.firstSeq)?.summary} />
  const event = bodies.get(row.uid, row.seq)
  const isHere = row.uid === uidInAddress()
  if (event)
    return (
      <Step
        event={event}
        answer={bodies.get(row.uid, row.answer)}
        href={(seq) =>
          isHere ? withParams({ seq: String(seq) }) : sessionPath(row.uid, { seq: String(seq) })
        }
        load={(seq) => bodies.load(row.uid, seq)}
        isNested={row.depth > 0}
        folds={isHere ? foldsOf() : undefined}
        isFound={isFound}
      />
    )
  const problem = bodies.problem(row.uid, row.seq)
  if (problem)
    return (
      <p class="step is-error" role="alert">
        #{row.seq} could not be read: {problem.message}.{' '}
        <button type="button" class="quiet" onClick={bodies.retry}>
          try again
        </button>
      </p>
    )
  return (
    <div class="step pending">
      {row.kind.replace('_', ' ')} #{row.seq}
    </div>
  )
}

/** A link may be older than the transcript, or typed. */
function NoSuchEvent(props: { seq: number; outline: Outline | undefined }): JSX.Element | null {
  const { seq, outline } = props
  if (seq === 0 || outline?.seq.includes(seq)) return null
  return (
    <p class="unread" role="note">
      There is no event #{seq} in this session; you see where it would stand.
    </p>
  )
}

function NoEvents({ uid }: { uid: string }): JSX.Element {
  return (
    <Empty title="The events of this session are not in the cache">
      <p>
        What became of them is told above. What its digest keeps is under Signals; nothing of that was lost.
      </p>
      <p>
        <a href={sessionPath(uid, { tab: 'signals' })}>see what is kept</a>
      </p>
    </Empty>
  )
}
