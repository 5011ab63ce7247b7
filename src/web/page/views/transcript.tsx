// The transcript: prompts as landmarks, everything between them, windowed. 50,000 events cost what is in view.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Outline } from '../../../query/outline.ts'
import { unreadOf } from '../../../query/unread.ts'
import { type Bodies, useBodies } from '../bodies.ts'
import { Empty, UnreadNote } from '../parts.tsx'
import { param, sessionPath } from '../router.ts'
import { type List, useVirtual } from '../virtual.ts'
import { AgentRow } from './agent-row.tsx'
import { Step } from './event.tsx'
import { PromptRail } from './prompts.tsx'
import { PrintButton, Printed, usePrinting } from './transcript-print.tsx'
import { type Row, rowOf, rowsOf, type Told } from './transcript-rows.ts'
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

export function Transcript({ uid, told, title }: Props): JSX.Element {
  const shown = {
    housekeeping: param('all') === '1',
    thinking: param('thinking') !== '0',
    tools: param('tools') !== '0',
    target: Number(param('seq') ?? 0),
  }
  const { outlines, subagents } = told
  const rows = useMemo(
    () => rowsOf({ ...told, shown }, uid),
    [uid, outlines, subagents.length, param('agents'), ...Object.values(shown)],
  )
  const total = outlines.get(uid)?.seq.length ?? 0
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtual({
    count: rows.length,
    scroller,
    keyOf: (i) => rows[i]?.key ?? String(i),
    estimate: (i) => HEIGHTS[rows[i]?.kind ?? 'lifecycle'] ?? 44,
  })
  const bodies = useBodies()
  useJump(list, rows, outlines.get(uid))
  const find = useFind(uid)
  const printing = usePrinting(rows)
  if (total === 0) return <NoEvents uid={uid} />
  const current = seqAt(rows, list.range?.startIndex ?? 0)
  return (
    <div class="transcript">
      <PromptRail uid={uid} rows={rows} bodies={bodies} current={current} />
      <div class="transcript-main">
        <Toolbar shown={shown} find={find} total={total}>
          <PrintButton printing={printing} />
        </Toolbar>
        <NoSuchEvent seq={shown.target} outline={outlines.get(uid)} />
        {!printing.bodies && <UnreadNote unread={unreadOf(bodies.unreadCount())} />}
        {printing.bodies ? (
          <Printed rows={rows} printing={printing} uid={uid} title={title} />
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
          <section class="scroller" ref={scroller} tabIndex={0} aria-label="transcript">
            <p class="print-only">Only the part that was in view; the print button of the page prints all.</p>
            <Window list={list} rows={rows} bodies={bodies} uid={uid} found={find.current} />
          </section>
        )}
      </div>
    </div>
  )
}

/** The event of the session itself at a row, or the last one before it. */
function seqAt(rows: readonly Row[], index: number): number {
  for (let i = index; i >= 0; i--) if (rows[i]?.depth === 0) return rows[i]?.seq ?? 0
  return 0
}

function Window(props: {
  list: List
  rows: readonly Row[]
  bodies: Bodies
  uid: string
  found: number | undefined
}): JSX.Element {
  const { list, rows, bodies, uid } = props
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
  return (
    <div class="canvas" style={{ height: `${list.getTotalSize()}px` }}>
      {items.map(({ index, start }) => {
        const row = rows[index] as Row
        const isTarget = row.uid === uid && (isThere(row.seq) || isThere(row.answer))
        return (
          <Slot key={row.key} list={list} index={index} start={start} row={row} isTarget={isTarget}>
            <Body row={row} bodies={bodies} />
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
      style={{ transform: `translateY(${props.start}px)` }}
    >
      {props.children}
    </div>
  )
}

function Body({ row, bodies }: { row: Row; bodies: Bodies }): JSX.Element {
  if (row.agent) return <AgentRow agent={row.agent} task={bodies.get(row.uid, row.agent.firstSeq)?.summary} />
  const event = bodies.get(row.uid, row.seq)
  if (event)
    return (
      <Step
        event={event}
        answer={bodies.get(row.uid, row.answer)}
        href={(seq) => sessionPath(row.uid, { seq: String(seq) })}
        load={(seq) => bodies.load(row.uid, seq)}
        isNested={row.depth > 0}
      />
    )
  return (
    <div class="step pending">
      {row.kind.replace('_', ' ')} #{row.seq}
    </div>
  )
}

/** Goes to the event in the address, and follows it when it changes. Heights settle as bodies come, so it looks twice. */
function useJump(list: List, rows: readonly Row[], outline: Outline | undefined): void {
  const seq = param('seq')
  const isReady = rows.length > 0
  useEffect(() => {
    if (seq === undefined || !isReady || !outline) return
    const at = rowOf(rows, outline, Number(seq))
    const jump = (): void => list.scrollToIndex(at, { align: 'center' })
    jump()
    const timers = [120, 350].map((wait) => setTimeout(jump, wait))
    return () => timers.forEach(clearTimeout)
  }, [seq, isReady])
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
