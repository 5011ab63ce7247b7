// Bodies of events, fetched when they come into view, several at a time, and kept. Of several sessions: sub-agents unfold
// inside the session that started them.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EventWindow, EventWithBody } from '../server/events.ts'
import { ask, changes, type Problem } from './api.ts'

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
  /** Why one is not here, though it was asked for; `want` asks again only after `retry`, or when something changed. */
  problem(uid: string, seq: number): Problem | undefined
  retry(): void
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

interface State {
  known: Map<string, EventWithBody>
  going: Set<string>
  wanted: Map<string, Ref>
  unread: Set<string>
  failed: Map<string, Problem>
}

async function fetchInto(
  state: State,
  uid: string,
  seqs: readonly number[],
  withRecords: boolean,
): Promise<void> {
  const { known, going, unread, failed } = state
  for (const seq of seqs) going.add(keyOf(uid, seq))
  try {
    const events = await fetchBodies(uid, seqs, withRecords)
    if (known.size > MAX_KEPT) known.clear()
    for (const event of events) {
      known.set(keyOf(uid, event.seq), event)
      if (isUnread(event)) unread.add(event.payload_ref as string)
    }
  } catch (problem) {
    for (const seq of seqs) failed.set(keyOf(uid, seq), problem as Problem)
  } finally {
    for (const seq of seqs) going.delete(keyOf(uid, seq))
  }
}

export function useBodies(withRecords = false): Bodies {
  const [, redraw] = useState(0)
  const state = useRef<State>({
    known: new Map(),
    going: new Set(),
    wanted: new Map(),
    unread: new Set(),
    failed: new Map(),
  }).current
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const tick = changes.value
  // The server may be back.
  useEffect(() => state.failed.clear(), [tick])
  const fetchSome = (uid: string, seqs: readonly number[]): void => {
    void fetchInto(state, uid, seqs, withRecords).then(() => redraw((n) => n + 1))
  }
  const fetchWanted = (): void => {
    const refs = [...state.wanted.values()].slice(-AT_ONCE)
    state.wanted.clear()
    for (const uid of new Set(refs.map((ref) => ref.uid)))
      fetchSome(
        uid,
        refs.filter((ref) => ref.uid === uid).map((ref) => ref.seq),
      )
  }
  return {
    get: (uid, seq) => state.known.get(keyOf(uid, seq)),
    want(refs) {
      const { known, going, wanted, failed } = state
      for (const ref of refs) {
        const key = keyOf(ref.uid, ref.seq)
        if (ref.seq > 0 && !known.has(key) && !going.has(key) && !failed.has(key)) wanted.set(key, ref)
      }
      if (wanted.size === 0) return
      clearTimeout(timer.current)
      timer.current = setTimeout(fetchWanted, WAIT_MS)
    },
    load: (uid, seq) => fetchSome(uid, [seq]),
    problem: (uid, seq) => state.failed.get(keyOf(uid, seq)),
    retry() {
      state.failed.clear()
      redraw((n) => n + 1)
    },
    unreadCount: () => state.unread.size,
  }
}
