// Bodies of events, fetched when they come into view, several at a time, and kept. Of several sessions: sub-agents unfold
// inside the session that started them.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EventWindow, EventWithBody } from '../server/events.ts'
import { ask } from './api.ts'

/** What is in view and the list of prompts beside it, in one question. */
const AT_ONCE = 450
const WAIT_MS = 25
/** Bounds what a long read keeps in the browser. */
const MAX_KEPT = 4000

/** An event, by its session and number. */
export interface Ref {
  uid: string
  seq: number
}

export interface Bodies {
  get(uid: string, seq: number): EventWithBody | undefined
  /** Says which are in view. */
  want(refs: readonly Ref[]): void
  /** One that was too large for a window. */
  load(uid: string, seq: number): void
  /** How many of those seen so far cannot be read. */
  unreadCount(): number
}

/** Its body should be in the cache and cannot be read. */
export const isUnread = ({ told, payload_ref }: EventWithBody): boolean =>
  told === null && payload_ref !== null

const keyOf = (uid: string, seq: number): string => `${uid}#${seq}`

/** The bodies of some events of one session; one that is too large comes without. */
export async function fetchBodies(
  uid: string,
  seqs: readonly number[],
  withRecords = false,
): Promise<EventWithBody[]> {
  const path = `sessions/${encodeURIComponent(uid)}/events?limit=500&seqs=${seqs.join(',')}${withRecords ? '&payload=1' : ''}`
  return (await ask<EventWindow>(path)).events
}

export function useBodies(withRecords = false): Bodies {
  const [, redraw] = useState(0)
  const state = useRef({
    known: new Map<string, EventWithBody>(),
    going: new Set<string>(),
    wanted: new Map<string, Ref>(),
    unread: new Set<string>(),
  })
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const fetchSome = (uid: string, seqs: readonly number[]): void => {
    const { known, going, unread } = state.current
    for (const seq of seqs) going.add(keyOf(uid, seq))
    const done = (): void => {
      for (const seq of seqs) going.delete(keyOf(uid, seq))
    }
    fetchBodies(uid, seqs, withRecords).then((events) => {
      done()
      if (known.size > MAX_KEPT) known.clear()
      for (const event of events) {
        known.set(keyOf(uid, event.seq), event)
        if (isUnread(event)) unread.add(event.payload_ref as string)
      }
      redraw((n) => n + 1)
    }, done)
  }
  const fetchWanted = (): void => {
    const refs = [...state.current.wanted.values()].slice(-AT_ONCE)
    state.current.wanted.clear()
    for (const uid of new Set(refs.map((ref) => ref.uid)))
      fetchSome(
        uid,
        refs.filter((ref) => ref.uid === uid).map((ref) => ref.seq),
      )
  }
  return {
    get: (uid, seq) => state.current.known.get(keyOf(uid, seq)),
    want(refs) {
      const { known, going, wanted } = state.current
      for (const ref of refs) {
        const key = keyOf(ref.uid, ref.seq)
        if (ref.seq > 0 && !known.has(key) && !going.has(key)) wanted.set(key, ref)
      }
      if (wanted.size === 0) return
      clearTimeout(timer.current)
      timer.current = setTimeout(fetchWanted, WAIT_MS)
    },
    load: (uid, seq) => fetchSome(uid, [seq]),
    unreadCount: () => state.current.unread.size,
  }
}
