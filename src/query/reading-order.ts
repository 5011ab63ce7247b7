// The order a person reads a session in: each call with its result, each sub-agent below the call that started it. Pure: the
// memory feeds it with events (`transcript.ts`), the page with rows of an outline.
// Streams: what is held is the calls that still wait for a result, and the list of sub-agents.

/** An event, and what has to be known to put it in its place. */
export interface Step<T> {
  event: T
  seq: number
  /** Milliseconds since a moment that is the same for all; null where the log does not say. */
  at: number | null
  /** Joins a call with its result; null for what is neither. */
  call: { id: string | number; isResult: boolean } | null
  /** Said by a person: nobody waits for a result across it. */
  isPrompt: boolean
  /** By a sub-agent without a name, told among the events of the session itself. */
  isAside: boolean
}

export interface Agent {
  sessionUid: string
  /** Of a sub-agent inside the session; null for a session of its own. */
  name: string | null
  /** The event that started it, if the log says so; else it stands by its time. */
  anchorSeq: number | null
  at: number | null
}

export interface EventEntry<T> {
  type: 'event'
  event: T
  result: T | null
  depth: number
}

export type Entry<T, A extends Agent> = EventEntry<T> | { type: 'agent'; agent: A; depth: number }

/** Where it is read from. */
export interface Feed<T, A extends Agent> {
  /** In the order of the conversation, without those of named agents inside the session. */
  steps(uid: string): Iterable<Step<T>>
  /** Those of one named agent inside a session. */
  stepsOf(agent: A): Iterable<Step<T>>
  /** The sub-agents of a session; `above` are the sessions it stands below, and itself. */
  agents(uid: string, above: ReadonlySet<string>): A[]
  /** Of a folded one only the head is told. */
  isFolded(agent: A): boolean
}

/** A result that has not come by then is told on its own. */
const MAX_WAITING = 500
const MAX_DEPTH = 4

/** A session, its sub-agents nested in it. */
export function* inReadingOrder<T, A extends Agent>(
  feed: Feed<T, A>,
  uid: string,
  depth = 0,
  above: ReadonlySet<string> = new Set([uid]),
): Generator<Entry<T, A>> {
  const agents = depth < MAX_DEPTH ? feed.agents(uid, above) : []
  const waiting = agents.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))
  function* take(isDue: (agent: A) => boolean, depthBelow: number): Generator<Entry<T, A>> {
    const due = waiting.filter(isDue)
    for (const agent of due) waiting.splice(waiting.indexOf(agent), 1)
    for (const agent of due) yield* agentEntries(agent, depthBelow)
  }
  function* agentEntries(agent: A, depthBelow: number): Generator<Entry<T, A>> {
    yield { type: 'agent', agent, depth: depthBelow }
    const { name, sessionUid } = agent
    if (name !== null) {
      const entries = insideEntries(agent, depthBelow)
      // Folded, it still takes along what it started.
      if (feed.isFolded(agent)) for (const _ of entries);
      else yield* entries
    } else if (!feed.isFolded(agent))
      yield* inReadingOrder(feed, sessionUid, depthBelow, new Set([...above, sessionUid]))
  }
  function* insideEntries(agent: A, depthInside: number): Generator<Entry<T, A>> {
    for (const { seq, entry } of paired(feed.stepsOf(agent), depthInside)) {
      yield entry
      yield* take((one) => one.anchorSeq === seq, depthInside + 1)
    }
  }
  for (const { seq, at, entry } of paired(feed.steps(uid), depth)) {
    const isBefore = (one: A): boolean =>
      one.anchorSeq === null && one.at !== null && at !== null && one.at < at
    yield* take(isBefore, depth + 1)
    yield entry
    yield* take((one) => one.anchorSeq === seq, depth + 1)
  }
  // One by one: a sub-agent takes those along that it started itself.
  for (let agent = waiting.shift(); agent; agent = waiting.shift()) yield* agentEntries(agent, depth + 1)
}

interface Waiting<T> {
  seq: number
  at: number | null
  entry: EventEntry<T>
}

/** Puts results beside their calls, and keeps the order of the calls. */
export function* paired<T>(steps: Iterable<Step<T>>, depth: number): Generator<Waiting<T>> {
  const queue: Waiting<T>[] = []
  const open = new Map<string | number, Waiting<T>>()
  const waiting = new Set<Waiting<T>>()
  for (const { event, seq, at, call, isPrompt, isAside } of steps) {
    const asked = call?.isResult ? open.get(call.id) : undefined
    if (asked && call) {
      asked.entry.result = event
      open.delete(call.id)
      waiting.delete(asked)
    } else {
      const entry: EventEntry<T> = { type: 'event', event, result: null, depth: depth + Number(isAside) }
      const one = { seq, at, entry }
      queue.push(one)
      if (call && !call.isResult) {
        open.set(call.id, one)
        waiting.add(one)
      }
    }
    if (isPrompt) {
      open.clear()
      waiting.clear()
    }
    while (queue.length > MAX_WAITING || (queue[0] && !waiting.has(queue[0]))) {
      const first = queue.shift() as Waiting<T>
      waiting.delete(first)
      yield first
    }
  }
  yield* queue
}

/** An entry of which not everything is wanted: a result without its call stands on its own. */
export function wanted<T>(entry: EventEntry<T>, isWanted: (event: T) => boolean): EventEntry<T> | undefined {
  if (isWanted(entry.event)) return entry
  return entry.result !== null && isWanted(entry.result)
    ? { ...entry, event: entry.result, result: null }
    : undefined
}
