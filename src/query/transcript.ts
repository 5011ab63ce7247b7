// A session as the memory tells it, in the order a person reads it.
import { type EventKind, isCall, type SessionEvent } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import { type EventFilter, eventsWithCalls } from './events.ts'
import {
  type Agent,
  type EventEntry,
  type Feed,
  inReadingOrder,
  paired,
  type Step,
  wanted,
} from './reading-order.ts'

/** One line of the story. */
export type Entry =
  | EventEntry<SessionEvent>
  | { type: 'agent'; name: string; sessionUid: string; eventCount: number; depth: number }

export interface TranscriptFilter {
  kinds?: readonly EventKind[]
  /** First and last place (`events.ts`), both included. With one of these sub-agents stand among the other events. */
  fromPlace?: number
  toPlace?: number
}

/** The entries of a session, its sub-agents nested in it. */
export function* transcript(handle: Reader, uid: string, filter: TranscriptFilter = {}): Generator<Entry> {
  const isPart = filter.fromPlace !== undefined || filter.toPlace !== undefined || filter.kinds !== undefined
  if (isPart) return yield* flat(handle, uid, filter)
  for (const entry of inReadingOrder(feedOf(handle), uid)) {
    if (entry.type === 'event') yield entry
    else {
      const { sessionUid, name, eventCount } = entry.agent
      yield { type: 'agent', name: name ?? sessionUid, sessionUid, eventCount, depth: entry.depth }
    }
  }
}

/** So far behind the range the results of its calls are looked for, and before it the calls of its results. */
const LOOK_AROUND = 200

function* flat(handle: Reader, uid: string, filter: TranscriptFilter): Generator<Entry> {
  const { kinds, fromPlace = 0, toPlace = Number.MAX_SAFE_INTEGER } = filter
  const order = handle.events.order(uid)
  const steps = stepsOf(handle, uid, {
    fromPlace: Math.max(0, fromPlace - LOOK_AROUND),
    toPlace: toPlace + LOOK_AROUND,
  })
  for (const { entry } of paired(steps, 0)) {
    if (order.placeOf(entry.event.seq) > toPlace) return
    // A result in the range is told with its call, wherever that stands: what failed is what one asks next.
    const isBefore = (event: SessionEvent | null): boolean =>
      event === null || order.placeOf(event.seq) < fromPlace
    if (isBefore(entry.event) && isBefore(entry.result)) continue
    const told = wanted(entry, (event) => !kinds || kinds.includes(event.kind))
    if (told) yield told
  }
}

interface StoredAgent extends Agent {
  eventCount: number
  fromPlace: number
  toPlace: number
}

const feedOf = (handle: Reader): Feed<SessionEvent, StoredAgent> => ({
  steps: (uid) => stepsOf(handle, uid, {}, (event) => !event.is_sidechain || event.agent === null),
  *stepsOf({ sessionUid, name, fromPlace, toPlace }) {
    const isIts = (event: SessionEvent): boolean => event.is_sidechain && event.agent === name
    for (const step of stepsOf(handle, sessionUid, { fromPlace, toPlace }, isIts))
      yield { ...step, isAside: false }
  },
  agents: (uid, above) => [...sidechains(handle, uid), ...children(handle, uid, above)],
  isFolded: () => false,
})

function* stepsOf(
  handle: Reader,
  uid: string,
  filter: EventFilter,
  isWanted: (event: SessionEvent) => boolean = () => true,
): Generator<Step<SessionEvent>> {
  for (const { event, call } of eventsWithCalls(handle, uid, filter)) {
    if (!isWanted(event)) continue
    const isResult = event.role === 'tool'
    yield {
      event,
      seq: event.seq,
      at: event.ts === null ? null : Date.parse(event.ts),
      call: call !== null && (isResult || isCall(event)) ? { id: call, isResult } : null,
      isPrompt: event.kind === 'user_msg' && event.role === 'user',
      isAside: event.is_sidechain,
    }
  }
}

/** Sub-agents whose events are the session's own. */
function sidechains(handle: Reader, uid: string): StoredAgent[] {
  const order = handle.events.order(uid)
  const agents = new Map<string, StoredAgent>()
  for (const { agent: name, seq, ts, parentSeq } of handle.events.sidechains(uid)) {
    if (name === null) continue
    const place = order.placeOf(seq)
    const known = agents.get(name) ?? newAgent(uid, name, place)
    agents.set(name, known)
    if (place <= known.fromPlace) known.anchorSeq = parentSeq
    known.fromPlace = Math.min(known.fromPlace, place)
    known.toPlace = Math.max(known.toPlace, place)
    known.at = ts === null ? known.at : Math.min(known.at ?? ts, ts)
    known.eventCount++
  }
  return [...agents.values()]
}

const newAgent = (sessionUid: string, name: string, place: number): StoredAgent => ({
  sessionUid,
  name,
  anchorSeq: null,
  at: null,
  eventCount: 0,
  fromPlace: place,
  toPlace: place,
})

/** Sub-agents that are sessions of their own. */
function children(handle: Reader, uid: string, above: ReadonlySet<string>): StoredAgent[] {
  return handle.lineage
    .subagents(uid)
    .flatMap(({ uid: sessionUid, beganAt: at, eventCount }) =>
      eventCount === null || above.has(sessionUid)
        ? []
        : [{ sessionUid, at, eventCount, name: null, anchorSeq: null, fromPlace: 0, toPlace: 0 }],
    )
}
