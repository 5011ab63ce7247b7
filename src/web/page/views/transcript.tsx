// The transcript: prompts as landmarks, everything between them, windowed. 50,000 events cost what is in view.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Found } from '../../../query/find.ts'
import type { LineageNode } from '../../../query/lineage.ts'
import type { Outline } from '../../../query/outline.ts'
import { useAnswer } from '../api.ts'
import { type Bodies, useBodies } from '../bodies.ts'
import { count, plural } from '../format.ts'
import { useKeys } from '../keys.ts'
import { Empty } from '../parts.tsx'
import { param, sessionPath, setParams } from '../router.ts'
import { type List, useVirtual } from '../virtual.ts'
import { Step } from './event.tsx'
import { PromptRail } from './prompts.tsx'
import { type Row, rowOf, rowsOf } from './transcript-rows.ts'

const HEIGHTS: Partial<Record<Row['kind'], number>> = {
  user_msg: 110,
  assistant_msg: 120,
  edit: 240,
  error: 160,
}

interface Props {
  uid: string
  outline: Outline
  subagents: readonly LineageNode[]
}

export function Transcript({ uid, outline, subagents }: Props): JSX.Element {
  const shown = {
    housekeeping: param('all') === '1',
    thinking: param('thinking') !== '0',
    tools: param('tools') !== '0',
  }
  const rows = useMemo(
    () => rowsOf(outline, shown),
    [outline, shown.housekeeping, shown.thinking, shown.tools],
  )
  const scroller = useRef<HTMLDivElement>(null)
  const list = useVirtual({
    count: rows.length,
    scroller,
    keyOf: (i) => rows[i]?.seq ?? i,
    estimate: (i) => HEIGHTS[rows[i]?.kind ?? 'lifecycle'] ?? 44,
  })
  const bodies = useBodies(uid)
  const items = list.getVirtualItems()
  const seqs = items.flatMap(({ index }) => [rows[index]?.seq ?? 0, rows[index]?.answer ?? 0])
  useEffect(() => bodies.want(seqs))
  useJump(list, rows)
  const find = useFind(uid)
  if (outline.seq.length === 0) return <NoEvents uid={uid} />
  return (
    <div class="transcript">
      <PromptRail uid={uid} rows={rows} bodies={bodies} current={rows[items[0]?.index ?? 0]?.seq ?? 0} />
      <div class="transcript-main">
        <Toolbar shown={shown} find={find} total={outline.seq.length} />
        {subagents.length > 0 && <SubagentStrip nodes={subagents} />}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard */}
        <section class="scroller" ref={scroller} tabIndex={0} aria-label="transcript">
          <div class="canvas" style={{ height: `${list.getTotalSize()}px` }}>
            {items.map(({ index, start, key }) => {
              const row = rows[index] as Row
              return (
                <Slot
                  key={key as number}
                  list={list}
                  index={index}
                  start={start}
                  row={row}
                  flags={outline.flags[row.at] as number}
                  isTarget={find.current === row.seq || Number(param('seq')) === row.seq}
                >
                  <Body row={row} bodies={bodies} uid={uid} />
                </Slot>
              )
            })}
          </div>
        </section>
      </div>
    </div>
  )
}

function Slot(props: {
  list: List
  index: number
  start: number
  row: Row
  flags: number
  isTarget: boolean
  children: ComponentChildren
}): JSX.Element {
  const { flags } = props
  return (
    <div
      data-index={props.index}
      data-seq={props.row.seq}
      ref={(element) => {
        if (element) props.list.measureElement(element)
      }}
      class={`slot ${flags & 1 ? 'nested' : ''} ${flags & 6 ? 'faded' : ''} ${props.isTarget ? 'target' : ''}`}
      style={{ transform: `translateY(${props.start}px)` }}
    >
      {props.children}
    </div>
  )
}

function Body({ row, bodies, uid }: { row: Row; bodies: Bodies; uid: string }): JSX.Element {
  const event = bodies.get(row.seq)
  const href = (seq: number): string => sessionPath(uid, { seq: String(seq) })
  if (event) return <Step event={event} answer={bodies.get(row.answer)} href={href} load={bodies.load} />
  return (
    <div class="step pending">
      {row.kind.replace('_', ' ')} #{row.seq}
    </div>
  )
}

/** Goes to the event in the address, and follows it when it changes. Heights settle as bodies come, so it looks twice. */
function useJump(list: List, rows: readonly Row[]): void {
  const seq = param('seq')
  const isReady = rows.length > 0
  useEffect(() => {
    if (seq === undefined || !isReady) return
    const at = rowOf(rows, Number(seq))
    const jump = (): void => list.scrollToIndex(at, { align: 'center' })
    jump()
    const timers = [120, 350].map((wait) => setTimeout(jump, wait))
    return () => timers.forEach(clearTimeout)
  }, [seq, isReady])
}

interface Find {
  query: string
  seqs: number[]
  current: number | undefined
  move: (by: number) => void
}

function useFind(uid: string): Find {
  const query = param('find') ?? ''
  const path =
    query.trim() === ''
      ? undefined
      : `sessions/${encodeURIComponent(uid)}/find?q=${encodeURIComponent(query)}`
  const { data } = useAnswer<Found>(path)
  const [at, setAt] = useState(-1)
  const seqs = path === undefined || data?.query !== query ? [] : data.seqs
  const now = Number(param('seq'))
  const known = seqs.indexOf(now)
  /** Asked to move before the answer was here: done when it comes. */
  const waiting = useRef(0)
  const move = (by: number): void => {
    waiting.current = seqs.length === 0 ? by : 0
    if (seqs.length === 0) return
    const from = known === -1 ? (at === -1 && by > 0 ? -1 : Math.max(at, 0)) : known
    const next = (from + by + seqs.length) % seqs.length
    setAt(next)
    setParams({ seq: String(seqs[next]) }, { replace: true })
  }
  useEffect(() => {
    if (waiting.current !== 0 && seqs.length > 0) move(waiting.current)
  })
  return { query, seqs, current: known === -1 ? undefined : now, move }
}

const SWITCHES: ['thinking' | 'tools' | 'housekeeping', string][] = [
  ['thinking', 'thinking'],
  ['tools', 'tools'],
  ['housekeeping', 'housekeeping'],
]

function Toolbar(props: {
  shown: Record<'thinking' | 'tools' | 'housekeeping', boolean>
  find: Find
  total: number
}): JSX.Element {
  const { find, shown } = props
  useKeys({
    '/': () => document.getElementById('find')?.focus(),
    n: () => find.move(1),
    N: () => find.move(-1),
  })
  return (
    <div class="toolbar">
      <input
        id="find"
        type="search"
        placeholder="Find in this session   ( / )"
        aria-label="find in this session"
        value={find.query}
        onInput={(event) => setParams({ find: event.currentTarget.value || undefined }, { replace: true })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') find.move(event.shiftKey ? -1 : 1)
        }}
      />
      {find.query !== '' && (
        <span class="find-state" role="status">
          {find.seqs.length === 0
            ? 'not found'
            : `${find.current === undefined ? '–' : find.seqs.indexOf(find.current) + 1} of ${count(find.seqs.length)}`}
          <button type="button" class="quiet" onClick={() => find.move(-1)} aria-label="previous hit">
            ↑
          </button>
          <button type="button" class="quiet" onClick={() => find.move(1)} aria-label="next hit">
            ↓
          </button>
        </span>
      )}
      <fieldset class="switches">
        <legend class="visually-hidden">show</legend>
        {SWITCHES.map(([name, label]) => (
          <label>
            <input
              type="checkbox"
              checked={shown[name]}
              onChange={(event) => {
                const isOn = event.currentTarget.checked
                if (name === 'housekeeping') setParams({ all: isOn ? '1' : undefined }, { replace: true })
                else setParams({ [name]: isOn ? undefined : '0' }, { replace: true })
              }}
            />{' '}
            {label}
          </label>
        ))}
      </fieldset>
      <span class="muted">{plural(props.total, 'event')}</span>
    </div>
  )
}

function SubagentStrip({ nodes }: { nodes: readonly LineageNode[] }): JSX.Element {
  return (
    <details class="subagents">
      <summary>{plural(nodes.length, 'sub-agent')} with sessions of their own</summary>
      <ul class="list">
        {nodes.map((node) => (
          <li>
            <a href={sessionPath(node.session_uid)}>{node.title || node.first_prompt || node.session_uid}</a>
            <span class="muted">{node.model ?? ''}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}

function NoEvents({ uid }: { uid: string }): JSX.Element {
  return (
    <Empty title="The events of this session are not in the cache">
      <p>
        They were evicted, or the cache was thrown away. What its digest keeps is under Signals; nothing of
        that was lost.
      </p>
      <p>
        <a href={sessionPath(uid, { tab: 'signals' })}>see what is kept</a>
      </p>
    </Empty>
  )
}
