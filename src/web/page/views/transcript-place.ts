// Where in a transcript the reader is: the event in the address, the place that was left, the end that is followed, and how
// far it was read the last time.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Outline } from '../../../query/outline.ts'
import { param } from '../router.ts'
import type { List } from '../virtual.ts'
import { type Row, rowOf } from './transcript-rows.ts'

/** Kept with the entry of the browser's history: back leads to it, and so does a reload. */
interface Place {
  key: string
  offset: number
}

export const placeLeft = (): Place | undefined => (history.state as { place?: Place } | null)?.place

const SETTLED_MS = 150
/** Whoever does one of these wants to be elsewhere. */
const WAYS = ['wheel', 'touchmove', 'pointerdown', 'keydown'] as const

/** Where the window is to stay until the reader does something: heights settle as bodies come, and nobody knows how long that takes. */
interface Aim {
  /** Another value whenever the place has moved. */
  mark: () => string
  go: () => void
  /** With every drawing. */
  look?: () => void
}

export type Holding = (aim: Aim) => void

export function useHolding(list: List): Holding {
  const held = useRef<{ aim: Aim; mark: string } | undefined>(undefined)
  useLayoutEffect(() => {
    const leave = (): void => {
      held.current = undefined
    }
    // Before whatever is pressed is carried out: that may aim at another place.
    for (const way of WAYS) addEventListener(way, leave, { passive: true, capture: true })
    return () => {
      for (const way of WAYS) removeEventListener(way, leave, { capture: true })
    }
  }, [])
  const keep = (): void => {
    const now = held.current
    if (!now || !list.scrollElement) return
    const mark = now.aim.mark()
    if (mark !== now.mark) {
      now.mark = mark
      now.aim.go()
    }
    now.aim.look?.()
  }
  useEffect(keep)
  return (aim) => {
    held.current = { aim, mark: '' }
    keep()
  }
}

export interface Jumping {
  /** The next jump moves only as far as it must, as a key does. */
  gently: () => void
}

/** Goes to the event in the address, or to where the reader was, and follows the address when it changes. */
export function useJump(
  list: List,
  rows: readonly Row[],
  outline: Outline | undefined,
  hold: Holding,
  reveal: () => void,
): Jumping {
  const seq = param('seq')
  const isReady = rows.length > 0 && outline !== undefined
  const align = useRef<'center' | 'auto'>('center')
  const now = useRef({ rows, outline, reveal })
  now.current = { rows, outline, reveal }
  useEffect(() => {
    if (!isReady) return
    const left = placeLeft()
    const backTo = (): number => now.current.rows.findIndex((row) => row.key === left?.key)
    if (left && backTo() !== -1) {
      hold({
        mark: () => markOf(list, backTo()),
        go: () => list.scrollToOffset((list.measurementsCache[backTo()]?.start ?? 0) + left.offset),
      })
      return
    }
    if (seq === undefined) return
    const how = align.current
    align.current = 'center'
    const index = (): number => rowOf(now.current.rows, now.current.outline as Outline, Number(seq))
    hold({
      mark: () => markOf(list, index()),
      go: () => goTo(list, index(), how),
      look: () => now.current.reveal(),
    })
  }, [seq, isReady])
  useLeaving(list, rows)
  return {
    gently: () => {
      align.current = 'auto'
    },
  }
}

/** Where a row is and how tall. */
function markOf(list: List, index: number): string {
  const { start, size } = list.measurementsCache[index] ?? {}
  return `${index} ${start} ${size}`
}

/** One that is taller than the window is met at its head. */
function goTo(list: List, index: number, align: 'center' | 'auto'): void {
  const size = list.measurementsCache[index]?.size ?? 0
  const isTall = size > (list.scrollRect?.height ?? 0) * 0.7
  list.scrollToIndex(index, { align: isTall ? 'start' : align })
  // A low window shows the verdict and little of the transcript.
  list.scrollElement?.scrollIntoView({ block: 'nearest' })
}

function useLeaving(list: List, rows: readonly Row[]): void {
  const now = useRef(rows)
  now.current = rows
  const scroller = list.scrollElement
  useEffect(() => {
    if (!scroller) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const note = (): void => {
      if (timer === undefined) return
      clearTimeout(timer)
      timer = undefined
      const top = list.getVirtualItemForOffset(scroller.scrollTop)
      const row = top && now.current[top.index]
      if (!row) return
      const place: Place = { key: row.key, offset: scroller.scrollTop - top.start }
      history.replaceState({ ...(history.state as object | null), place }, '')
    }
    const listen = (): void => {
      clearTimeout(timer)
      timer = setTimeout(note, SETTLED_MS)
    }
    scroller.addEventListener('scroll', listen, { passive: true })
    // What is pressed may lead elsewhere before the scrolling has settled.
    const ways = ['pointerdown', 'keydown', 'pagehide'] as const
    for (const way of ways) addEventListener(way, note, { capture: true })
    return () => {
      clearTimeout(timer)
      scroller.removeEventListener('scroll', listen)
      for (const way of ways) removeEventListener(way, note, { capture: true })
    }
  }, [scroller])
}

export interface Following {
  /** Rows that came since the end was last in view. */
  fresh: number
  toEnd: () => void
}

/** Stays at the end while the end is in view, and counts what comes otherwise. */
export function useFollowing(list: List, rowCount: number, eventCount: number, hold: Holding): Following {
  const isAtEnd = rowCount > 0 && (list.range?.endIndex ?? 0) >= rowCount - 1
  const seen = useRef(rowCount)
  const last = useRef({ rowCount, eventCount })
  const wasAtEnd = useRef(false)
  const toEnd = (): void =>
    hold({
      mark: () => `${list.options.count} ${list.getTotalSize()}`,
      go: () => list.scrollToIndex(list.options.count - 1, { align: 'end' }),
    })
  useEffect(() => {
    // The first rows, or a switch that shows more of the same events: nothing came.
    const isSame = last.current.eventCount === 0 || last.current.eventCount === eventCount
    if (isSame) seen.current += rowCount - last.current.rowCount
    else if (wasAtEnd.current) toEnd()
    last.current = { rowCount, eventCount }
  }, [rowCount, eventCount])
  useEffect(() => {
    wasAtEnd.current = isAtEnd
    if (isAtEnd) seen.current = rowCount
  })
  return { fresh: isAtEnd ? 0 : Math.max(0, rowCount - seen.current), toEnd }
}

const SEEN_KEY = 'recollect.seen'
const MAX_SEEN = 200

function readSeen(): Record<string, number> {
  try {
    return JSON.parse(localStorage.getItem(SEEN_KEY) ?? '{}') as Record<string, number>
  } catch {
    return {}
  }
}

function writeSeen(uid: string, seq: number): void {
  const { [uid]: known = 0, ...others } = readSeen()
  if (seq <= known) return
  const kept = Object.entries(others).slice(-MAX_SEEN + 1)
  try {
    localStorage.setItem(SEEN_KEY, JSON.stringify({ ...Object.fromEntries(kept), [uid]: seq }))
  } catch {
    // A browser that keeps nothing marks nothing.
  }
}

/** Up to which event it was read before this visit; 0 where it never was. */
export function useLastSeen(uid: string, lastInView: number): number {
  const [before] = useState(() => readSeen()[uid] ?? 0)
  useEffect(() => {
    if (lastInView <= 0) return
    const timer = setTimeout(() => writeSeen(uid, lastInView), SETTLED_MS)
    return () => clearTimeout(timer)
  }, [uid, lastInView])
  return before
}
