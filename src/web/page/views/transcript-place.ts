// Where in a transcript the reader is: the event in the address, the place that was left, the end that is followed, and how
// far it was read the last time.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Outline } from '../../../query/outline.ts'
import { param } from '../router.ts'
import type { List } from '../virtual.ts'
import { type Row, rowOf } from './transcript-rows.ts'

/** Kept with the entry of the browser's history: back leads to it, and so does a reload. */
interface Place {
  key: string
  offset: number
}

const placeLeft = (): Place | undefined => (history.state as { place?: Place } | null)?.place

const SETTLED_MS = 150
/** Heights settle as bodies come, so it looks again. */
const LOOKS_MS = [120, 350, 700]

export interface Jumping {
  /** The next jump moves only as far as it must, as a key does. */
  gently: () => void
}

/** Goes to the event in the address, or to where the reader was, and follows the address when it changes. */
export function useJump(
  list: List,
  rows: readonly Row[],
  outline: Outline | undefined,
  reveal: () => void,
): Jumping {
  const seq = param('seq')
  const isReady = rows.length > 0 && outline !== undefined
  const align = useRef<'center' | 'auto'>('center')
  const revealing = useRef(reveal)
  revealing.current = reveal
  useEffect(() => {
    if (!isReady || !outline) return
    const left = placeLeft()
    const back = left ? rows.findIndex((row) => row.key === left.key) : -1
    if (back === -1 && seq === undefined) return
    const how = align.current
    align.current = 'center'
    const look = (): void => {
      if (left && back !== -1) {
        list.scrollToIndex(back, { align: 'start' })
        requestAnimationFrame(() => list.scrollElement?.scrollBy(0, left.offset))
        return
      }
      goTo(list, rowOf(rows, outline, Number(seq)), how)
      requestAnimationFrame(() => revealing.current())
    }
    look()
    const timers = LOOKS_MS.map((wait) => setTimeout(look, wait))
    const stop = (): void => timers.forEach(clearTimeout)
    // Who scrolls meanwhile wants to be elsewhere.
    list.scrollElement?.addEventListener('wheel', stop, { once: true, passive: true })
    return stop
  }, [seq, isReady])
  useLeaving(list, rows)
  return {
    gently: () => {
      align.current = 'auto'
    },
  }
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
    return () => {
      clearTimeout(timer)
      scroller.removeEventListener('scroll', listen)
    }
  }, [scroller])
}

const NEAR_END = 30

export interface Following {
  /** Rows that came since the end was last in view. */
  fresh: number
  toEnd: () => void
}

/** Stays at the end while the end is in view, and counts what comes otherwise. */
export function useFollowing(list: List, rowCount: number, eventCount: number): Following {
  const isAtEnd = rowCount > 0 && (list.range?.endIndex ?? 0) >= rowCount - 1
  const seen = useRef(rowCount)
  const last = useRef({ rowCount, eventCount })
  const wasAtEnd = useRef(false)
  const toEnd = (): void => {
    const go = (): void => list.scrollToIndex(rowCount - 1, { align: 'end' })
    go()
    // The end moves as heights settle; who has left it since is let alone.
    for (const wait of LOOKS_MS)
      setTimeout(() => {
        if ((list.range?.endIndex ?? 0) > rowCount - NEAR_END) go()
      }, wait)
  }
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
