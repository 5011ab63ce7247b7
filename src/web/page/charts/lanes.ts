// Spans on lanes, drawn on a canvas, and which of them is at a point of it.
import { type Span, ticksOf, type View, type Waterfall } from './waterfall.ts'

export const LANE_HEIGHT = 26
const MIN_WIDTH = 2

/** Draws the spans in view; what failed also carries a stroke, so that colour is not needed to tell. */
export function draw(
  canvas: HTMLCanvasElement,
  { spans, lanes, from }: Waterfall,
  view: View,
  width: number,
): void {
  const ratio = devicePixelRatio || 1
  const height = lanes.length * LANE_HEIGHT
  canvas.width = width * ratio
  canvas.height = height * ratio
  const context = canvas.getContext('2d')
  if (!context) return
  // By way of a colour that is painted: the name itself holds both themes, which no canvas can read.
  const colour = (name: string): string => {
    canvas.style.color = `var(--span-${name})`
    return getComputedStyle(canvas).color
  }
  const colours = {
    model: colour('model'),
    tool: colour('tool'),
    failed: colour('failed'),
    waiting: colour('waiting'),
  }
  context.scale(ratio, ratio)
  context.fillStyle = colour('lane')
  for (let lane = 0; lane < lanes.length; lane += 2)
    context.fillRect(0, lane * LANE_HEIGHT, width, LANE_HEIGHT)
  const scale = width / (view.to - view.from)
  context.fillStyle = colour('tick')
  for (const at of ticksOf(view, width / 90, from)) context.fillRect((at - view.from) * scale, 0, 1, height)
  for (const span of spans) {
    if (span.to < view.from || span.from > view.to) continue
    const x = (span.from - view.from) * scale
    const length = Math.max(MIN_WIDTH, (span.to - span.from) * scale)
    const y = span.lane * LANE_HEIGHT + 5
    context.fillStyle = colours[span.kind]
    context.fillRect(x, y, length, LANE_HEIGHT - 10)
    if (span.kind !== 'failed') continue
    context.fillRect(x - 1, y - 4, Math.max(3, Math.min(length, 6)), 3)
  }
}

/** The last span under a point. */
export function spanAt(
  { spans }: Waterfall,
  view: View,
  width: number,
  x: number,
  y: number,
): Span | undefined {
  const lane = Math.floor(y / LANE_HEIGHT)
  const scale = width / (view.to - view.from)
  const at = view.from + x / scale
  const slack = 3 / scale
  return spans.findLast((span) => span.lane === lane && at >= span.from - slack && at <= span.to + slack)
}
