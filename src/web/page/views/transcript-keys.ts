// Reading a transcript by keys: events, prompts and errors one by one, and everything that scrolls.

import { useEffect, useRef } from 'preact/hooks'
import { useKeys } from '../keys.ts'
import { param, setParams } from '../router.ts'
import type { List } from '../virtual.ts'
import type { Following, Jumping } from './transcript-place.ts'
import type { Row } from './transcript-rows.ts'

export interface Reading {
  uid: string
  rows: readonly Row[]
  list: List
  numbers: ReadonlyMap<number, number>
  errors: ReadonlySet<number>
  jumping: Jumping
  following: Following
}

export const isPrompt = (row: Row): boolean =>
  row.kind === 'user_msg' && row.depth === 0 && (row.flags & 8) === 0

const PAGE_SHARE = 0.9
const LINE = 60

export function useReadingKeys(reading: Reading): void {
  const { uid, rows, list, numbers, errors, jumping, following } = reading
  const arrived = useArrival()
  /** Where one stands: at the event in the address while it is in view or on its way there, else at what is on top. */
  const here = (): number => {
    // Asked anew: the range that is drawn lags behind what was scrolled.
    const top = list.getVirtualItemForOffset(list.scrollElement?.scrollTop ?? 0)?.index ?? 0
    const seq = Number(param('seq'))
    const at = numbers.get(seq)
    if (at !== undefined && arrived.current === seq) return at
    return at !== undefined && at >= top - 1 && at <= (list.range?.endIndex ?? top) + 1 ? at : top - 1
  }
  const move = (by: 1 | -1, isWanted: (row: Row) => boolean): void => {
    for (let at = here() + by; at >= 0 && at < rows.length; at += by) {
      const row = rows[at] as Row
      if (row.agent || row.uid !== uid || !isWanted(row)) continue
      arrived.current = row.seq
      jumping.gently()
      setParams({ seq: String(row.seq) }, { replace: true })
      return
    }
  }
  const isError = (row: Row): boolean => errors.has(row.seq) || errors.has(row.answer)
  const away = (): void => {
    arrived.current = undefined
  }
  const scroll = (by: number): void => {
    away()
    list.scrollElement?.scrollBy(0, by)
  }
  const page = (): number => (list.scrollRect?.height ?? 0) * PAGE_SHARE
  useKeys({
    j: () => move(1, () => true),
    k: () => move(-1, () => true),
    J: () => move(1, isPrompt),
    K: () => move(-1, isPrompt),
    e: () => move(1, isError),
    E: () => move(-1, isError),
    ArrowDown: () => scroll(LINE),
    ArrowUp: () => scroll(-LINE),
    PageDown: () => scroll(page()),
    PageUp: () => scroll(-page()),
    ' ': (event) => scroll(event.shiftKey ? -page() : page()),
    Home: () => {
      away()
      list.scrollToIndex(0, { align: 'start' })
    },
    End: () => {
      away()
      following.toEnd()
    },
  })
}

/** The event that the last key led to, until somebody scrolls: the list takes a moment to get there, and keys do not wait. */
function useArrival(): { current: number | undefined } {
  const arrived = useRef<number | undefined>(undefined)
  useEffect(() => {
    const leave = (): void => {
      arrived.current = undefined
    }
    const ways = ['wheel', 'touchmove', 'pointerdown'] as const
    for (const way of ways) addEventListener(way, leave, { passive: true })
    return () => {
      for (const way of ways) removeEventListener(way, leave)
    }
  }, [])
  return arrived
}
