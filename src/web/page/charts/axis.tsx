// The lines across a drawing, each with its value.
import type { JSX } from 'preact'

/** So that the longest value fits beside the drawing: a figure of the axis is some seven pixels wide. */
export const axisWidth = (steps: readonly number[], format: (value: number) => string): number =>
  Math.max(48, ...steps.map((value) => format(value).length * 7 + 10))

export function Axis(props: {
  steps: readonly number[]
  left: number
  width: number
  y: (value: number) => number
  format: (value: number) => string
}): JSX.Element {
  const { left, y } = props
  return (
    <>
      {props.steps.map((value) => (
        <g class="axis">
          <line x1={left} x2={props.width} y1={y(value)} y2={y(value)} />
          <text x={left - 8} y={y(value) + 4} text-anchor="end">
            {props.format(value)}
          </text>
        </g>
      ))}
    </>
  )
}
