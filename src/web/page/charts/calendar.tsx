// A year of days, a column per week. Darker means more; each day leads to its sessions.

import type { JSX } from 'preact'
import { DAY } from '../../../model.ts'
import { plural } from '../format.ts'
import { to } from '../router.ts'
import { useWidth } from './size.ts'

const LEFT = 30
const TOP = 18
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

export interface CalendarDay {
  day: string
  sessions: number
}

/** 0 for nothing, then quarters of the greatest. */
const level = (sessions: number, most: number): number =>
  sessions === 0 ? 0 : Math.min(4, 1 + Math.floor((sessions / (most + 1)) * 4))

export function Calendar({
  days,
  weeks = 53,
}: {
  days: readonly CalendarDay[]
  weeks?: number
}): JSX.Element {
  const [ref, width] = useWidth<HTMLDivElement>()
  const cell = Math.max(12, Math.min(26, Math.floor((width - LEFT) / weeks)))
  const counts = new Map(days.map((one) => [one.day, one.sessions]))
  const most = Math.max(1, ...counts.values())
  const today = new Date()
  const monday =
    Date.UTC(today.getFullYear(), today.getMonth(), today.getDate()) - ((today.getDay() + 6) % 7) * DAY
  const first = monday - (weeks - 1) * 7 * DAY
  const last = Date.UTC(today.getFullYear(), today.getMonth(), today.getDate())
  const cells = Array.from({ length: weeks * 7 }, (_, i) => first + i * DAY).filter((at) => at <= last)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section ref={ref} class="calendar" tabIndex={0} aria-label="sessions per day of the last year">
      <svg width={LEFT + weeks * cell} height={TOP + 7 * cell}>
        <title>sessions per day</title>
        <Weekdays cell={cell} />
        {cells.map((at, i) => {
          const date = new Date(at).toISOString().slice(0, 10)
          const sessions = counts.get(date) ?? 0
          const [x, y] = [LEFT + Math.floor(i / 7) * cell, TOP + (i % 7) * cell]
          return (
            <>
              {date.endsWith('-01') && (
                <text class="label" x={x} y={11}>
                  {MONTHS[Number(date.slice(5, 7)) - 1]}
                </text>
              )}
              <a
                href={to('/sessions', dayParams(date))}
                tabIndex={-1}
                aria-label={`${date}: ${plural(sessions, 'session')}`}
              >
                <rect
                  class={`day level-${level(sessions, most)}`}
                  x={x}
                  y={y}
                  width={cell - 3}
                  height={cell - 3}
                  rx="2"
                >
                  <title>{`${date}: ${plural(sessions, 'session')}`}</title>
                </rect>
              </a>
            </>
          )
        })}
      </svg>
    </section>
  )
}

function Weekdays({ cell }: { cell: number }): JSX.Element {
  return (
    <>
      {['Mon', 'Wed', 'Fri'].map((name, i) => (
        <text class="label" x={0} y={TOP + i * 2 * cell + 10}>
          {name}
        </text>
      ))}
    </>
  )
}

/** The span of a local day. */
export function dayParams(day: string): { since: string; until: string } {
  const from = new Date(`${day}T00:00:00`)
  const until = new Date(from)
  until.setDate(until.getDate() + 1)
  return { since: from.toISOString(), until: new Date(until.getTime() - 1).toISOString() }
}
