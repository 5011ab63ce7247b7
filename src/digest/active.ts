// The time in which something happened: pauses longer than five minutes are left out. Kept as stretches of time, because
// events do not come in the order of their times when a session has several files.

/** Begin and end, epoch milliseconds, ascending and at least a pause apart. */
export interface ActiveTime {
  spans: [number, number][]
  /** Stretches that were let go, as a sum. */
  closedMs: number
}

const IDLE_MS = 5 * 60_000
const MAX_SPANS = 400

export const noTime = (): ActiveTime => ({ spans: [], closedMs: 0 })

export function addTime(active: ActiveTime, at: number): void {
  const { spans } = active
  let before = spans.length - 1
  while (before >= 0 && (spans[before] as [number, number])[0] > at) before--
  const left = spans[before]
  const right = spans[before + 1]
  if (left && at - left[1] <= IDLE_MS) {
    left[1] = Math.max(left[1], at)
    if (right && right[0] - left[1] <= IDLE_MS) {
      left[1] = right[1]
      spans.splice(before + 1, 1)
    }
  } else if (right && right[0] - at <= IDLE_MS) right[0] = at
  else spans.splice(before + 1, 0, [at, at])
  if (spans.length > MAX_SPANS)
    for (const [from, to] of spans.splice(0, MAX_SPANS / 2)) active.closedMs += to - from
}

export const activeMs = ({ spans, closedMs }: ActiveTime): number =>
  spans.reduce((sum, [from, to]) => sum + to - from, closedMs)
