// A session in the order a person reads it: each call with its result, each sub-agent below the call that started it.
// Streams: what is held is the calls that still wait for a result, and the list of sub-agents.
import { type EventKind, isCall, type SessionEvent } from '../model.ts'
import { orderOf } from '../store/order.ts'
import { FLAG } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'
import { type EventFilter, type EventWithCall, eventsWithCalls } from './events.ts'

/** One line of the story. */
export type Entry =
  | { type: 'event'; event: SessionEvent; result: SessionEvent | null; depth: number }
  | { type: 'agent'; name: string; sessionUid: string; eventCount: number; depth: number }

export interface TranscriptFilter {
  kinds?: readonly EventKind[]
  /** First and last place (`events.ts`), both included. With one of these sub-agents stand among the other events. */
  fromPlace?: number
  toPlace?: number
}

/** A result that has not come by then is told on its own. */
const MAX_WAITING = 500
const MAX_DEPTH = 4

/** The entries of a session, its sub-agents nested in it. */
export function transcript(handle: ReadHandle, uid: string, filter: TranscriptFilter = {}): Generator<Entry> {
  const isPart = filter.fromPlace !== undefined || filter.toPlace !== undefined || filter.kinds !== undefined
  return isPart ? flat(handle, uid, filter) : nested(handle, uid, 0, new Set([uid]))
}

/** So far behind the range the results of its calls are looked for. */
const LOOK_AHEAD = 200

function* flat(handle: ReadHandle, uid: string, filter: TranscriptFilter): Generator<Entry> {
  const { kinds, fromPlace = 0, toPlace = Number.MAX_SAFE_INTEGER } = filter
  const order = orderOf(handle.cache, uid)
  const rows = readRows(handle, uid, { fromPlace, toPlace: toPlace + LOOK_AHEAD })
  const isWanted = (event: SessionEvent): boolean => !kinds || kinds.includes(event.kind)
  for (const entry of paired(rows, (event) => (event.is_sidechain ? 1 : 0))) {
    if (order.placeOf(entry.event.seq) > toPlace) return
    if (isWanted(entry.event)) yield entry
    else if (entry.result && isWanted(entry.result)) yield { ...entry, event: entry.result, result: null }
  }
}

function* nested(handle: ReadHandle, uid: string, depth: number, above: Set<string>): Generator<Entry> {
  const agents = depth < MAX_DEPTH ? [...sidechains(handle, uid), ...children(handle, uid, above)] : []
  const waiting = agents.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))
  const take = (isDue: (agent: Agent) => boolean): Agent[] => {
    const due = waiting.filter(isDue)
    for (const agent of due) waiting.splice(waiting.indexOf(agent), 1)
    return due
  }
  const main = readRows(handle, uid, {}, (event) => !event.is_sidechain || event.agent === null)
  for (const entry of paired(main, (event) => depth + (event.is_sidechain ? 1 : 0))) {
    const at = entry.event.ts === null ? Number.NEGATIVE_INFINITY : Date.parse(entry.event.ts)
    for (const agent of take((one) => one.anchorSeq === null && one.at !== null && one.at < at))
      yield* agentEntries(handle, agent, depth + 1, above, take)
    yield entry
    for (const agent of take((one) => one.anchorSeq === entry.event.seq))
      yield* agentEntries(handle, agent, depth + 1, above, take)
  }
  // One by one: a sub-agent takes those along that it started itself.
  for (let agent = waiting.shift(); agent; agent = waiting.shift())
    yield* agentEntries(handle, agent, depth + 1, above, take)
}

interface Agent {
  sessionUid: string
  /** Of a sub-agent inside the session; null for a session of its own. */
  name: string | null
  /** The event that started it, if the log says so; else it stands by its time. */
  anchorSeq: number | null
  at: number | null
  eventCount: number
  fromPlace: number
  toPlace: number
}

/** Sub-agents whose events are the session's own. */
function sidechains(handle: ReadHandle, uid: string): Agent[] {
  const order = orderOf(handle.cache, uid)
  const rows = handle.cache
    .prepare(
      `SELECT e.agent AS name, e.seq, e.ts, e.parent_seq AS parentSeq FROM cached c JOIN events e ON e.session = c.id
       WHERE c.session_uid = ? AND e.flags & ${FLAG.sidechain} AND e.agent IS NOT NULL ORDER BY e.agent`,
    )
    .all(uid) as unknown as Sidechain[]
  const agents = new Map<string, Agent>()
  for (const row of rows) {
    const { name, ts, parentSeq } = row
    const place = order.placeOf(row.seq)
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

interface Sidechain {
  name: string
  seq: number
  ts: number | null
  parentSeq: number | null
}

const newAgent = (sessionUid: string, name: string, place: number): Agent => ({
  sessionUid,
  name,
  anchorSeq: null,
  at: null,
  eventCount: 0,
  fromPlace: place,
  toPlace: place,
})

/** Sub-agents that are sessions of their own. */
function children(handle: ReadHandle, uid: string, above: ReadonlySet<string>): Agent[] {
  const rows = handle.memory
    .prepare(
      `SELECT e.session_uid AS sessionUid, coalesce(e.at, s.started_at) AS at, s.event_count AS eventCount
       FROM edges e JOIN sessions s ON s.session_uid = e.session_uid
       WHERE e.parent_uid = ? AND e.kind = 'subagent' ORDER BY 2`,
    )
    .all(uid) as unknown as Pick<Agent, 'sessionUid' | 'at' | 'eventCount'>[]
  return rows
    .filter((row) => !above.has(row.sessionUid))
    .map((row) => ({ ...row, name: null, anchorSeq: null, fromPlace: 0, toPlace: 0 }))
}

function* agentEntries(
  handle: ReadHandle,
  agent: Agent,
  depth: number,
  above: ReadonlySet<string>,
  take: (isDue: (agent: Agent) => boolean) => Agent[],
): Generator<Entry> {
  const { sessionUid, name, eventCount } = agent
  yield { type: 'agent', name: name ?? sessionUid, sessionUid, eventCount, depth }
  if (name === null) return yield* nested(handle, sessionUid, depth, new Set([...above, sessionUid]))
  const { fromPlace, toPlace } = agent
  const rows = readRows(
    handle,
    sessionUid,
    { fromPlace, toPlace },
    (event) => event.is_sidechain && event.agent === name,
  )
  for (const entry of paired(rows, () => depth)) {
    yield entry
    for (const inner of take((one) => one.anchorSeq === entry.event.seq))
      yield* agentEntries(handle, inner, depth + 1, above, take)
  }
}

function* readRows(
  handle: ReadHandle,
  uid: string,
  filter: EventFilter,
  isWanted: (event: SessionEvent) => boolean = () => true,
): Generator<EventWithCall> {
  for (const one of eventsWithCalls(handle, uid, filter)) if (isWanted(one.event)) yield one
}

type EventEntry = Extract<Entry, { type: 'event' }>

/** Puts results beside their calls, and keeps the order of the calls. */
function* paired(
  rows: Iterable<EventWithCall>,
  depthOf: (event: SessionEvent) => number,
): Generator<EventEntry> {
  const queue: EventEntry[] = []
  const open = new Map<string, EventEntry>()
  const waiting = new Set<EventEntry>()
  for (const { event, call } of rows) {
    const asked = call !== null && event.role === 'tool' ? open.get(call) : undefined
    if (asked && call !== null) {
      asked.result = event
      open.delete(call)
      waiting.delete(asked)
    } else {
      const entry: EventEntry = { type: 'event', event, result: null, depth: depthOf(event) }
      queue.push(entry)
      if (call !== null && isCall(event)) {
        open.set(call, entry)
        waiting.add(entry)
      }
    }
    // Nobody waits for a result across the next prompt.
    if (event.kind === 'user_msg' && event.role === 'user') {
      open.clear()
      waiting.clear()
    }
    while (queue.length > MAX_WAITING || (queue.length > 0 && !waiting.has(queue[0] as EventEntry))) {
      const first = queue.shift() as EventEntry
      waiting.delete(first)
      yield first
    }
  }
  yield* queue
}
