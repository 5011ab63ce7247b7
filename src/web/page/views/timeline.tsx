// The timeline: a small map of the whole to zoom by, and lanes for the agent, its sub-agents, its tools and the waiting.
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LineageNode } from '../../../query/lineage.ts'
import type { Outline } from '../../../query/outline.ts'
import type { Spend, SpentResponse } from '../../../query/spend.ts'
import type { EventWithBody } from '../../server/events.ts'
import { useAnswer } from '../api.ts'
import { type Bodies, useBodies } from '../bodies.ts'
import { draw, LANE_HEIGHT, spanAt } from '../charts/lanes.ts'
import { useWidth } from '../charts/size.ts'
import {
  density,
  type Span,
  spend,
  ticksOf,
  type View,
  type Waterfall,
  waterfallOf,
} from '../charts/waterfall.ts'
import { duration, plural, short, usd } from '../format.ts'
import { AnsweredLine, Card, Empty } from '../parts.tsx'
import { go, param, setParams } from '../router.ts'
import { LongestTable, spanPath, TimeTables, whatOf } from './timeline-tables.tsx'

export function TimelineTab(props: {
  uid: string
  outline: Outline
  subagents: readonly LineageNode[]
}): JSX.Element {
  const { uid, outline } = props
  const own = props.subagents.filter((node) => node.parent_uid === uid)
  const spending = useAnswer<Spend>(`sessions/${encodeURIComponent(uid)}/spend`)
  const spent = spending.match<Spend | undefined>({
    loading: () => undefined,
    failed: () => undefined,
    answered: (found) => found,
  })
  const isFailedOnly = param('errors') === '1'
  const all = useMemo(() => {
    const made = waterfallOf(outline, own)
    if (spent) spend(made, outline.started_at, spent.responses)
    return made
  }, [outline, own.length, spent])
  const waterfall = useMemo(
    () => (isFailedOnly ? { ...all, spans: all.spans.filter((span) => span.kind === 'failed') } : all),
    [all, isFailedOnly],
  )
  const bodies = useBodies()
  const [view, setView] = useZoom(waterfall)
  if (all.spans.length === 0) return <Empty title="The events of this session carry no times to draw" />
  const zoom = { view, setView }
  return (
    <>
      <Card
        title="Timeline"
        aside={
          <>
            <ErrorsOnly isOn={isFailedOnly} />
            <ZoomButtons whole={waterfall} {...zoom} />
          </>
        }
      >
        <MiniMap waterfall={waterfall} {...zoom} />
        <AnsweredLine answer={spending}>
          {({ responses }) => <ContextLine outline={outline} responses={responses} view={view} />}
        </AnsweredLine>
        <LanesView uid={uid} waterfall={waterfall} bodies={bodies} {...zoom} />
        <Legend />
      </Card>
      <div class="columns">
        <LongestTable uid={uid} waterfall={waterfall} bodies={bodies} />
        <TimeTables outline={outline} waterfall={all} />
      </div>
    </>
  )
}

/** The part in view, which the address holds. */
function useZoom(whole: Waterfall): [View, (view: View) => void] {
  const [from, to] = (param('zoom') ?? '').split('-').map(Number)
  const isZoomed = from !== undefined && to !== undefined && to > from
  const view = clamp(whole, isZoomed ? { from, to } : whole)
  const setView = (next: View): void => {
    const isAll = next.from <= whole.from && next.to >= whole.to
    const zoom = isAll ? undefined : `${Math.round(next.from)}-${Math.round(next.to)}`
    setParams({ zoom }, { replace: true })
  }
  return [view, setView]
}

function ErrorsOnly({ isOn }: { isOn: boolean }): JSX.Element {
  return (
    <label>
      <input
        type="checkbox"
        checked={isOn}
        onChange={(event) =>
          setParams({ errors: event.currentTarget.checked ? '1' : undefined }, { replace: true })
        }
      />{' '}
      errors only
    </label>
  )
}

function Legend(): JSX.Element {
  const names: [string, string][] = [
    ['model', 'model at work'],
    ['tool', 'tool'],
    ['failed', 'tool that failed (notched)'],
    ['waiting', 'waiting for you'],
  ]
  return (
    <ul class="legend">
      {names.map(([kind, name]) => (
        <li>
          <span class={`swatch span-${kind}`} aria-hidden="true" /> {name}
        </li>
      ))}
    </ul>
  )
}

interface ZoomProps {
  view: View
  setView: (view: View) => void
}

/** Kept inside the whole, and never narrower than a millisecond. */
function clamp(whole: Waterfall, view: View): View {
  const size = Math.min(whole.to - whole.from, Math.max(1, view.to - view.from))
  const from = Math.max(whole.from, Math.min(view.from, whole.to - size))
  return { from, to: from + size }
}

const zoomed = (view: View, by: number): View => {
  const middle = (view.from + view.to) / 2
  const half = ((view.to - view.from) / 2) * by
  return { from: middle - half, to: middle + half }
}
const moved = (view: View, by: number): View => {
  const step = (view.to - view.from) * by
  return { from: view.from + step, to: view.to + step }
}

const ZOOMS = [
  ['+', 'zoom in', 0.5],
  ['−', 'zoom out', 2],
] as const

function ZoomButtons({ whole, view, setView }: ZoomProps & { whole: Waterfall }): JSX.Element {
  return (
    <span class="zoom">
      <span class="muted">
        {duration((view.from - whole.from) / 1000)} – {duration((view.to - whole.from) / 1000)}
      </span>
      {ZOOMS.map(([sign, name, by]) => (
        <button
          type="button"
          class="quiet"
          onClick={() => setView(clamp(whole, zoomed(view, by)))}
          aria-label={name}
        >
          {sign}
        </button>
      ))}
      <button type="button" class="quiet" onClick={() => setView({ from: whole.from, to: whole.to })}>
        all
      </button>
    </span>
  )
}

const MAP_HEIGHT = 44

function Density({ counts, width }: { counts: readonly number[]; width: number }): JSX.Element {
  const most = Math.max(1, ...counts)
  const part = width / counts.length
  return (
    <>
      {counts.map((value, i) => (
        <rect
          class="density"
          x={i * part}
          width={Math.max(1, part - 0.5)}
          y={MAP_HEIGHT - (value / most) * MAP_HEIGHT}
          height={(value / most) * MAP_HEIGHT}
        />
      ))}
    </>
  )
}

function MiniMap({ waterfall, view, setView }: ZoomProps & { waterfall: Waterfall }): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>()
  const [drag, setDrag] = useState<number>()
  const parts = Math.min(240, Math.max(40, Math.floor(width / 4)))
  const counts = useMemo(() => density(waterfall, parts), [waterfall, parts])
  const span = waterfall.to - waterfall.from
  const x = (at: number): number => ((at - waterfall.from) / span) * width
  const timeAt = (event: PointerEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    return waterfall.from + ((event.clientX - box.left) / box.width) * span
  }
  const release = (event: PointerEvent): void => {
    if (drag === undefined) return
    const [from, to] = [Math.min(drag, timeAt(event)), Math.max(drag, timeAt(event))]
    setDrag(undefined)
    // A click without a drag moves the window there.
    const isClick = x(to) - x(from) < 4
    setView(
      clamp(
        waterfall,
        isClick
          ? { from: from - (view.to - view.from) / 2, to: from + (view.to - view.from) / 2 }
          : { from, to },
      ),
    )
  }
  return (
    <div ref={ref} class="mini-map">
      <svg
        width={width}
        height={MAP_HEIGHT}
        role="img"
        aria-label="the whole session; drag to zoom"
        onPointerDown={(event) => setDrag(timeAt(event))}
        onPointerMove={(event) => {
          if (drag !== undefined)
            setView(
              clamp(waterfall, { from: Math.min(drag, timeAt(event)), to: Math.max(drag, timeAt(event)) }),
            )
        }}
        onPointerUp={release}
      >
        <Density counts={counts} width={width} />
        <rect
          class="window"
          x={x(view.from)}
          width={Math.max(2, x(view.to) - x(view.from))}
          y="0"
          height={MAP_HEIGHT}
        />
      </svg>
    </div>
  )
}

const KEYS: Record<string, (view: View) => View> = {
  ArrowLeft: (view) => moved(view, -0.2),
  ArrowRight: (view) => moved(view, 0.2),
  '+': (view) => zoomed(view, 0.5),
  '-': (view) => zoomed(view, 2),
}

function LanesView({
  uid,
  waterfall,
  bodies,
  view,
  setView,
}: ZoomProps & { uid: string; waterfall: Waterfall; bodies: Bodies }): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [over, setOver] = useState<Span>()
  useEffect(() => bodies.want(over && !over.uid ? [{ uid, seq: over.seq }] : []))
  useEffect(() => {
    const paint = (): void => {
      if (canvas.current) draw(canvas.current, waterfall, view, width)
    }
    paint()
    // Colours follow the scheme.
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', paint)
    return () => scheme.removeEventListener('change', paint)
  }, [waterfall, view, width])
  const find = (event: MouseEvent): Span | undefined =>
    spanAt(waterfall, view, width, event.offsetX, event.offsetY)
  return (
    <div class="lanes">
      <ol class="lane-names" aria-hidden="true">
        {waterfall.lanes.map((name) => (
          <li style={{ height: `${LANE_HEIGHT}px` }} title={name}>
            <bdi>{name}</bdi>
          </li>
        ))}
      </ol>
      <div ref={ref} class="lane-canvas">
        <Ticks view={view} from={waterfall.from} width={width} />
        <canvas
          ref={canvas}
          style={{ height: `${waterfall.lanes.length * LANE_HEIGHT}px` }}
          tabIndex={0}
          role="img"
          aria-label={`${plural(waterfall.spans.length, 'step')} on ${plural(waterfall.lanes.length, 'lane')}; arrows move, plus and minus zoom; the longest steps are in the table below`}
          onMouseMove={(event) => setOver(find(event))}
          onMouseLeave={() => setOver(undefined)}
          onClick={(event) => {
            const span = find(event)
            if (span) go(spanPath(uid, span))
          }}
          onKeyDown={(event) => {
            const change = KEYS[event.key]
            if (!change) return
            event.preventDefault()
            setView(clamp(waterfall, change(view)))
          }}
        />
        <p class="lane-tip" aria-live="off">
          {over ? tipOf(over, bodies.get(uid, over.seq)) : 'point at a step; click to read it'}
        </p>
      </div>
    </div>
  )
}

function Ticks({ view, from, width }: { view: View; from: number; width: number }): JSX.Element {
  const scale = width / (view.to - view.from)
  return (
    <ol class="ticks" aria-hidden="true">
      {ticksOf(view, width / 90, from).map((at) => (
        <li style={{ left: `${((at - view.from) * scale).toFixed(1)}px` }}>{duration((at - from) / 1000)}</li>
      ))}
    </ol>
  )
}

const spentOn = ({ tokens, costUsd }: Span): string =>
  tokens === undefined
    ? ''
    : `${short(tokens)} tokens${costUsd === undefined ? '' : ` · ${usd(String(costUsd))}`}`

function tipOf(span: Span, event: EventWithBody | undefined): string {
  const parts = [
    whatOf(span, event).slice(0, 160),
    span.uid ? 'a session of its own' : `#${span.seq}`,
    duration((span.to - span.from) / 1000),
    spentOn(span),
    span.kind === 'failed' ? 'failed' : '',
  ]
  return parts.filter((part) => part !== '').join(' · ')
}

const CONTEXT_HEIGHT = 36

/** How full the context was, over the same time as the lanes. */
function ContextLine(props: {
  outline: Outline
  responses: readonly SpentResponse[]
  view: View
}): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>()
  const { view, outline } = props
  const zero = Date.parse(outline.started_at ?? '')
  const own = props.responses.filter((one) => !one.is_sidechain && one.ts !== null)
  const most = Math.max(1, ...own.map((one) => one.context_tokens))
  const points = own.map((one) => {
    const x = ((Date.parse(one.ts as string) - zero - view.from) / (view.to - view.from)) * width
    return `${x.toFixed(1)},${(CONTEXT_HEIGHT - (one.context_tokens / most) * (CONTEXT_HEIGHT - 4)).toFixed(1)}`
  })
  return (
    <div ref={ref} class="context-line">
      {own.length > 1 && (
        <>
          <svg
            width={width}
            height={CONTEXT_HEIGHT}
            role="img"
            aria-label={`context fill, at most ${short(most)} tokens`}
          >
            <polyline points={points.join(' ')} />
          </svg>
          <span class="muted">context, at most {short(most)} tokens</span>
        </>
      )}
    </div>
  )
}
