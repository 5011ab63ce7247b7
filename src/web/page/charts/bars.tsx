// Bars stacked by series over days, largest series at the bottom.
import type { JSX } from 'preact'
import { Axis, axisWidth } from './axis.tsx'
import { ticks, useWidth } from './size.ts'

export interface Series {
  name: string
  values: number[]
}

const HEIGHT = 220
const BOTTOM = 24
const TOP = 8
const MAX_BAR = 64
/** Of the small type, in pixels. */
const LETTER = 6.5

export function StackedBars(props: {
  labels: string[]
  series: Series[]
  format: (value: number) => string
  name: string
  /** What round values are round in, where that is not the number itself. */
  unitOf?: (most: number) => number
  /** Where a click on a column leads. */
  hrefOf?: (label: string) => string
}): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>()
  const totals = props.labels.map((_, i) => props.series.reduce((sum, one) => sum + (one.values[i] ?? 0), 0))
  const most = Math.max(...totals, 0)
  const unit = props.unitOf?.(most) ?? 1
  const steps = ticks(most / unit).map((one) => one * unit)
  const top = steps.at(-1) ?? 1
  const left = axisWidth(steps, props.format)
  const inner = width - left
  const slot = inner / Math.max(1, props.labels.length)
  const bar = Math.max(1, Math.min(MAX_BAR, slot * 0.76))
  const y = (value: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)
  // The longest that will stand there is the first, which says its year.
  const every = Math.max(1, Math.ceil(Math.max(64, (props.labels[0]?.length ?? 0) * LETTER + 8) / slot))
  return (
    <div ref={ref}>
      <svg width={width} height={HEIGHT} role={props.hrefOf ? 'group' : 'img'} aria-label={props.name}>
        {props.series.length > 1 && <Hatches />}
        <Axis steps={steps} left={left} width={width} y={y} format={props.format} />
        {props.labels.map((label, i) => {
          const x = left + (i + 0.5) * slot
          const drawn = columns(props.series, i).map(({ from, to, series }) => {
            const box = { x: x - bar / 2, width: bar, y: y(to), height: Math.max(0.5, y(from) - y(to)) }
            return (
              <g>
                <title>{`${label} · ${props.series[series]?.name}: ${props.format(to - from)}`}</title>
                <rect class={`series-${series % 8}`} {...box} />
                {series % 2 === 1 && <rect fill={`url(#hatch-${series % 8})`} {...box} />}
              </g>
            )
          })
          return (
            <g>
              {props.hrefOf && drawn.length > 0 ? (
                <a href={props.hrefOf(label)} tabIndex={-1} aria-label={label}>
                  {drawn}
                </a>
              ) : (
                drawn
              )}
              {i % every === 0 && (
                <Label text={shortLabel(label, props.labels[i - every])} x={x} width={width} />
              )}
            </g>
          )
        })}
      </svg>
    </div>
  )
}

/** Whole in the picture: one at an edge is moved inwards. */
function Label({ text, x, width }: { text: string; x: number; width: number }): JSX.Element {
  const half = (text.length * LETTER) / 2
  return (
    <text class="label" x={Math.min(x, width - half)} y={HEIGHT - 6} text-anchor="middle">
      {text}
    </text>
  )
}

/** The year only where it changes: 2026-11-03 is 11-03 after another day of its year. */
const shortLabel = (label: string, before: string | undefined): string =>
  before !== undefined && /^\d{4}-/.test(label) && before.slice(0, 4) === label.slice(0, 4)
    ? label.slice(5)
    : label

/** Every other series is hatched, each in its own direction: to be told apart without colours. */
function Hatches(): JSX.Element {
  return (
    <defs>
      {[1, 3, 5, 7].map((series, i) => (
        <pattern
          id={`hatch-${series}`}
          width="5"
          height="5"
          patternUnits="userSpaceOnUse"
          patternTransform={`rotate(${[45, 135, 90, 0][i]})`}
        >
          <rect class="hatch" width="1.6" height="5" />
        </pattern>
      ))}
    </defs>
  )
}

function columns(series: readonly Series[], at: number): { from: number; to: number; series: number }[] {
  let sum = 0
  return series.flatMap((one, i) => {
    const value = one.values[at] ?? 0
    if (value <= 0) return []
    sum += value
    return [{ from: sum - value, to: sum, series: i }]
  })
}

export function Legend({ series }: { series: Pick<Series, 'name'>[] }): JSX.Element {
  return (
    <ul class="legend">
      {series.map((one, i) => (
        <li>
          <span class={`swatch series-${i % 8}`} aria-hidden="true" /> {one.name}
        </li>
      ))}
    </ul>
  )
}

/** One bar in words and length. */
export function ShareBar(props: {
  value: number
  most: number
  marks?: number[]
  label: string
  /** All of it is what one wants, not a cap that is reached. */
  isGoal?: boolean
}): JSX.Element {
  const part = props.most === 0 ? 0 : Math.min(1, props.value / props.most)
  return (
    <svg class="share-bar" width="100%" height="10" role="img" aria-label={props.label}>
      <rect class="ground" width="100%" height="10" rx="5" />
      {part > 0 && (
        <rect
          class={part >= 1 && !props.isGoal ? 'full' : 'filled'}
          width={`${Math.max(1, part * 100)}%`}
          height="10"
          rx="5"
        />
      )}
      {props.marks?.map((mark) => (
        <rect class="mark" x={`${(mark / props.most) * 100}%`} width="2" height="10" />
      ))}
    </svg>
  )
}
