// Lines: one as small as a word, and an area with marks on it.
import type { JSX } from 'preact'
import { Axis } from './axis.tsx'
import { ticks, useWidth } from './size.ts'

export function Sparkline({
  values,
  label,
}: {
  values: readonly number[]
  label: string
}): JSX.Element | null {
  if (values.length < 2) return null
  const [width, height] = [64, 18]
  const most = Math.max(...values, 1)
  const x = (i: number): number => (i / (values.length - 1)) * (width - 4) + 2
  const y = (value: number): number => height - 2 - (value / most) * (height - 4)
  const last = values.length - 1
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={label}>
      <polyline points={values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(' ')} />
      <circle cx={x(last)} cy={y(values[last] as number)} r="2" />
    </svg>
  )
}

export interface AreaPoint {
  at: number
  value: number
  part: number
  title: string
}

export interface AreaMark {
  at: number
  name: string
}

const HEIGHT = 260
const LEFT = 52
const TOP = 20
const BOTTOM = 26

/** On the side where there is room for its name. */
const besideMark = (x: number, width: number): { x: number; 'text-anchor': 'start' | 'end' } =>
  x > width - 110 ? { x: x - 4, 'text-anchor': 'end' } : { x: x + 4, 'text-anchor': 'start' }

/** The value as a line over a lighter area, a part of it as a darker area; marks as named lines. */
export function Area(props: {
  points: AreaPoint[]
  marks: AreaMark[]
  format: (value: number) => string
  formatAt: (at: number) => string
  name: string
}): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>()
  const { points } = props
  const first = points[0]?.at ?? 0
  const span = Math.max(1, (points.at(-1)?.at ?? 0) - first)
  const steps = ticks(Math.max(...points.map((point) => point.value), 1))
  const top = steps.at(-1) ?? 1
  const x = (at: number): number => LEFT + ((at - first) / span) * (width - LEFT - 10)
  const y = (value: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)
  const line = (of: (point: AreaPoint) => number): string =>
    points.map((point) => `${x(point.at).toFixed(1)},${y(of(point)).toFixed(1)}`).join(' L')
  const area = (of: (point: AreaPoint) => number): string =>
    points.length === 0
      ? ''
      : `M${x(first).toFixed(1)},${y(0)} L${line(of)} L${x(first + span).toFixed(1)},${y(0)} Z`
  return (
    <div ref={ref}>
      <svg class="area" width={width} height={HEIGHT} role="img" aria-label={props.name}>
        <Axis steps={steps} left={LEFT} width={width} y={y} format={props.format} />
        <path class="whole" d={area((point) => point.value)} />
        <path class="part" d={area((point) => point.part)} />
        {points.length < width / 8 &&
          points.map((point) => (
            <circle cx={x(point.at)} cy={y(point.value)} r="3">
              <title>{point.title}</title>
            </circle>
          ))}
        {props.marks.map((mark) => (
          <g class="area-mark">
            <line x1={x(mark.at)} x2={x(mark.at)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text {...besideMark(x(mark.at), width)} y={TOP - 6}>
              {mark.name}
            </text>
          </g>
        ))}
        <text class="label" x={LEFT} y={HEIGHT - 6}>
          {props.formatAt(first)}
        </text>
        <text class="label" x={width - 10} y={HEIGHT - 6} text-anchor="end">
          {props.formatAt(first + span)}
        </text>
      </svg>
    </div>
  )
}
