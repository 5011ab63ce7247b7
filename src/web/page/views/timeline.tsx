// The timeline: a small map of the whole to zoom by, and lanes for the agent, its sub-agents, its tools and the waiting.
import type { JSX } from 'preact'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { LineageNode } from '../../../query/lineage.ts'
import type { Outline } from '../../../query/outline.ts'
import { useWidth } from '../charts/size.ts'
import {
  density,
  draw,
  LANE_HEIGHT,
  type Span,
  spanAt,
  type View,
  type Waterfall,
  waterfallOf,
} from '../charts/waterfall.ts'
import { duration, plural } from '../format.ts'
import { Card, Empty, Table } from '../parts.tsx'
import { go, sessionPath } from '../router.ts'

const LONGEST = 40

export function TimelineTab(props: {
  uid: string
  outline: Outline
  subagents: readonly LineageNode[]
}): JSX.Element {
  const { uid, outline } = props
  const own = props.subagents.filter((node) => node.parent_uid === uid)
  const waterfall = useMemo(() => waterfallOf(outline, own), [outline, own.length])
  const [view, setView] = useState<View>({ from: waterfall.from, to: waterfall.to })
  useEffect(() => setView({ from: waterfall.from, to: waterfall.to }), [waterfall])
  if (waterfall.spans.length === 0) return <Empty title="The events of this session carry no times to draw" />
  return (
    <>
      <Card title="Timeline" aside={<ZoomButtons whole={waterfall} view={view} setView={setView} />}>
        <MiniMap waterfall={waterfall} view={view} setView={setView} />
        <LanesView uid={uid} waterfall={waterfall} view={view} setView={setView} />
        <ul class="legend">
          <li>
            <span class="swatch span-model" aria-hidden="true" /> model at work
          </li>
          <li>
            <span class="swatch span-tool" aria-hidden="true" /> tool
          </li>
          <li>
            <span class="swatch span-failed" aria-hidden="true" /> tool that failed (notched)
          </li>
          <li>
            <span class="swatch span-waiting" aria-hidden="true" /> waiting for you
          </li>
        </ul>
      </Card>
      <LongestTable uid={uid} waterfall={waterfall} />
    </>
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

function ZoomButtons({ whole, view, setView }: ZoomProps & { whole: Waterfall }): JSX.Element {
  return (
    <span class="zoom">
      <span class="muted">
        {duration((view.from - whole.from) / 1000)} – {duration((view.to - whole.from) / 1000)}
      </span>
      <button
        type="button"
        class="quiet"
        onClick={() => setView(clamp(whole, zoomed(view, 0.5)))}
        aria-label="zoom in"
      >
        +
      </button>
      <button
        type="button"
        class="quiet"
        onClick={() => setView(clamp(whole, zoomed(view, 2)))}
        aria-label="zoom out"
      >
        −
      </button>
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

const spanPath = (uid: string, span: Span): string =>
  span.uid === undefined ? sessionPath(uid, { seq: String(span.seq) }) : sessionPath(span.uid)

const KEYS: Record<string, (view: View) => View> = {
  ArrowLeft: (view) => moved(view, -0.2),
  ArrowRight: (view) => moved(view, 0.2),
  '+': (view) => zoomed(view, 0.5),
  '-': (view) => zoomed(view, 2),
}

function LanesView({
  uid,
  waterfall,
  view,
  setView,
}: ZoomProps & { uid: string; waterfall: Waterfall }): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>()
  const canvas = useRef<HTMLCanvasElement>(null)
  const [over, setOver] = useState<Span>()
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
            {name}
          </li>
        ))}
      </ol>
      <div ref={ref} class="lane-canvas">
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
          {over
            ? `${over.name} · ${over.uid ? 'a session of its own' : `#${over.seq}`} · ${duration((over.to - over.from) / 1000)}${over.kind === 'failed' ? ' · failed' : ''}`
            : 'point at a step; click to read it'}
        </p>
      </div>
    </div>
  )
}

function LongestTable({ uid, waterfall }: { uid: string; waterfall: Waterfall }): JSX.Element {
  const longest = waterfall.spans.toSorted((a, b) => b.to - b.from - (a.to - a.from)).slice(0, LONGEST)
  const busy = new Map<string, number>()
  for (const span of waterfall.spans) {
    const lane = waterfall.lanes[span.lane] ?? ''
    busy.set(lane, (busy.get(lane) ?? 0) + span.to - span.from)
  }
  return (
    <div class="columns">
      <Card title="Longest steps" class="wide">
        <Table
          caption="Longest steps"
          columns={[
            {
              title: 'Event',
              cell: (row) => <a href={spanPath(uid, row)}>{row.uid ? 'its session' : `#${row.seq}`}</a>,
            },
            { title: 'Lane', cell: (row) => waterfall.lanes[row.lane] ?? '' },
            { title: 'What', cell: (row) => (row.kind === 'failed' ? `${row.name}, failed` : row.name) },
            { title: 'Took', cell: (row) => duration((row.to - row.from) / 1000), isNumber: true },
            {
              title: 'Began after',
              cell: (row) => duration((row.from - waterfall.from) / 1000),
              isNumber: true,
            },
          ]}
          rows={longest}
          limit={12}
        />
      </Card>
      <Card title="Where the time went">
        <Table
          caption="Time by lane"
          columns={[
            { title: 'Lane', cell: ([name]) => name },
            { title: 'Time', cell: ([, ms]) => duration(ms / 1000), isNumber: true },
          ]}
          rows={[...busy].sort((a, b) => b[1] - a[1])}
        />
      </Card>
    </div>
  )
}
