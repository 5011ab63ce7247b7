// Bodies of events, fetched when they come into view, several at a time, and kept.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EventWindow, EventWithBody } from '../server/events.ts'
import { ask } from './api.ts'

const AT_ONCE = 200
const WAIT_MS = 25
/** Bounds what a long read keeps in the browser. */
const MAX_KEPT = 4000

export interface Bodies {
  get(seq: number): EventWithBody | undefined
  /** Says which are in view. */
  want(seqs: readonly number[]): void
  /** One that was too large for a window. */
  load(seq: number): void
}

export function useBodies(uid: string): Bodies {
  const [, redraw] = useState(0)
  const state = useRef({
    uid: '',
    known: new Map<number, EventWithBody>(),
    going: new Set<number>(),
    wanted: new Set<number>(),
  })
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  if (state.current.uid !== uid)
    state.current = { uid, known: new Map(), going: new Set(), wanted: new Set() }
  useEffect(() => () => clearTimeout(timer.current), [])
  const fetchSome = (seqs: readonly number[]): void => {
    const own = state.current
    for (const seq of seqs) own.going.add(seq)
    const done = (): void => {
      for (const seq of seqs) own.going.delete(seq)
    }
    ask<EventWindow>(`sessions/${encodeURIComponent(uid)}/events?limit=500&seqs=${seqs.join(',')}`).then(
      ({ events }) => {
        done()
        if (own.known.size > MAX_KEPT) own.known.clear()
        for (const event of events) own.known.set(event.seq, event)
        redraw((n) => n + 1)
      },
      done,
    )
  }
  return {
    get: (seq) => state.current.known.get(seq),
    want(seqs) {
      const { known, going, wanted } = state.current
      for (const seq of seqs) if (seq > 0 && !known.has(seq) && !going.has(seq)) wanted.add(seq)
      if (wanted.size === 0) return
      clearTimeout(timer.current)
      timer.current = setTimeout(() => {
        const list = [...state.current.wanted].slice(-AT_ONCE)
        state.current.wanted.clear()
        if (list.length > 0) fetchSome(list)
      }, WAIT_MS)
    },
    load: (seq) => fetchSome([seq]),
  }
}
