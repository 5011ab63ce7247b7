// Rebuilds the tree of sessions from the events of the log alone. Any input gives a tree: what does not fit is named
// in `problems`, never thrown. Nodes point to each other by id and nothing recurses, so depth has no limit.

import { misused } from './given.ts'
import { SessionHistoryEvent, SessionHistoryEventType } from './lineage-event.ts'

export interface SessionNode {
  sessionId: string
  /** The session this one came from; null for a root, also for one whose link was cut to break a cycle. */
  parent: string | null
  /** The kind of the event that gave birth to it; null if the log has none. */
  birth: string | null
  /** Timestamp of that event as written. */
  createdAt: string | null
  /** Timestamp of its last `cleared`; null if it never ended or became the main session again later. */
  clearedAt: string | null
  /** In order of birth. */
  children: string[]
  /** Its events in order of time. */
  events: SessionHistoryEvent[]
  /** True for a parent that is only mentioned. */
  synthetic?: true
}

type SessionTreeProblemKind =
  | 'bad-event'
  | 'bad-timestamp'
  | 'unknown-kind'
  | 'out-of-order'
  | 'duplicate-birth'
  | 'conflicting-parents'
  | 'missing-parent'
  | 'cycle'

export interface SessionTreeProblem {
  kind: SessionTreeProblemKind
  detail: string
  sessionId?: string
  /** Position of the event in the input. */
  index?: number
}

export interface SessionTree {
  /** In order of birth. */
  roots: string[]
  nodes: Map<string, SessionNode>
  problems: SessionTreeProblem[]
}

interface Placed {
  event: SessionHistoryEvent
  index: number
  /** Epoch milliseconds; what has no readable time comes after what has. */
  at: number
}

const KNOWN = new Set<string>(SessionHistoryEventType.options)

/** The tree of the sessions in a log. The order of the lines matters only between events of the same instant. */
export function buildSessionTree(events: Iterable<unknown>): SessionTree {
  if (typeof events?.[Symbol.iterator] !== 'function') throw misused('events', 'a list of events')
  const problems: SessionTreeProblem[] = []
  const placed = place(events, problems)
  const nodes = new Map<string, SessionNode>()
  for (const { event } of placed) nodeFor(nodes, event.session_id).events.push(event)
  const births = findBirths(placed, problems)
  for (const node of nodes.values()) describe(node, births.get(node.sessionId)?.event)
  addMissingParents(nodes, problems)
  const ranks = rankByBirth(nodes, placed, births)
  breakCycles(nodes, ranks, problems)
  const roots: string[] = []
  for (const node of [...nodes.values()].sort((a, b) => rankOf(ranks, a) - rankOf(ranks, b))) {
    if (node.parent === null) roots.push(node.sessionId)
    else nodes.get(node.parent)?.children.push(node.sessionId)
  }
  return { roots, nodes, problems }
}

/** Checks each event and puts them in order of time. */
function place(events: Iterable<unknown>, problems: SessionTreeProblem[]): Placed[] {
  const placed: Placed[] = []
  let index = -1
  let latest = Number.NEGATIVE_INFINITY
  for (const candidate of events) {
    index++
    const event = SessionHistoryEvent.safeParse(candidate).data
    if (event === undefined) {
      problems.push({ kind: 'bad-event', detail: 'not a session event', index })
      continue
    }
    const sessionId = event.session_id
    const at = instantOf(event.timestamp)
    if (at === Number.POSITIVE_INFINITY) {
      problems.push({ kind: 'bad-timestamp', detail: event.timestamp, sessionId, index })
    } else if (at < latest) {
      problems.push({ kind: 'out-of-order', detail: 'older than a line before it', sessionId, index })
    } else latest = at
    if (!KNOWN.has(event.event))
      problems.push({ kind: 'unknown-kind', detail: event.event, sessionId, index })
    placed.push({ event, index, at })
  }
  return placed.sort((a, b) => (a.at === b.at ? a.index - b.index : a.at - b.at))
}

function instantOf(timestamp: string): number {
  const at = /^\d{4}-\d\d-\d\d/.test(timestamp) ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at
}

function nodeFor(nodes: Map<string, SessionNode>, sessionId: string): SessionNode {
  const known = nodes.get(sessionId)
  if (known) return known
  const node: SessionNode = {
    sessionId,
    parent: null,
    birth: null,
    createdAt: null,
    clearedAt: null,
    children: [],
    events: [],
  }
  nodes.set(sessionId, node)
  return node
}

/**
 * How strongly an event says where its session came from. A swap promotes a session that mostly has a birth of its
 * own, so it counts only in want of one; a kind from the future counts last, and only if it names a parent.
 */
function birthRank(event: SessionHistoryEvent): number {
  if (event.event === 'cleared') return 0
  if (event.event === 'swapped') return 2
  if (KNOWN.has(event.event)) return 3
  return parentOf(event) === null ? 0 : 1
}

function parentOf(event: SessionHistoryEvent): string | null {
  return event.parent_session_id || null
}

/** The event that gave birth to each session: the strongest, then the earliest. */
function findBirths(placed: Placed[], problems: SessionTreeProblem[]): Map<string, Placed> {
  const births = new Map<string, Placed>()
  /** Sessions cleared since their last birth: these may be born again. */
  const ended = new Set<string>()
  for (const one of placed) {
    const { session_id: sessionId, event: kind } = one.event
    if (kind === 'cleared') ended.add(sessionId)
    const rank = birthRank(one.event)
    if (rank === 0) continue
    const first = births.get(sessionId)
    const firstRank = first ? birthRank(first.event) : 0
    if (rank > firstRank) births.set(sessionId, one)
    if (first && rank === 3 && firstRank === 3) reportSecondBirth(first, one, ended.has(sessionId), problems)
    ended.delete(sessionId)
  }
  return births
}

function reportSecondBirth(
  first: Placed,
  second: Placed,
  again: boolean,
  problems: SessionTreeProblem[],
): void {
  const parent = parentOf(second.event)
  const { session_id: sessionId, event } = second.event
  if (parent !== parentOf(first.event) && !(again && parent === null)) {
    const detail = `${event} from ${parent ?? 'nothing'}, but ${first.event.event} from ${parentOf(first.event) ?? 'nothing'}`
    problems.push({ kind: 'conflicting-parents', detail, sessionId, index: second.index })
  } else if (!again) {
    problems.push({
      kind: 'duplicate-birth',
      detail: `${event} after ${first.event.event}`,
      sessionId,
      index: second.index,
    })
  }
}

function describe(node: SessionNode, birth: SessionHistoryEvent | undefined): void {
  if (birth) {
    node.parent = parentOf(birth)
    node.birth = birth.event
    node.createdAt = birth.timestamp
  }
  for (const event of node.events) {
    if (event.event === 'cleared') node.clearedAt = event.timestamp
    else if (event.event === 'created' || event.event === 'compacted' || event.event === 'swapped') {
      node.clearedAt = null
    }
  }
}

function addMissingParents(nodes: Map<string, SessionNode>, problems: SessionTreeProblem[]): void {
  for (const node of [...nodes.values()]) {
    if (node.parent === null || nodes.has(node.parent)) continue
    nodeFor(nodes, node.parent).synthetic = true
    problems.push({ kind: 'missing-parent', detail: 'has no event of its own', sessionId: node.parent })
  }
}

/** The place of each session in the order of births; one without a birth goes by its first event or its first child. */
function rankByBirth(
  nodes: Map<string, SessionNode>,
  placed: Placed[],
  births: Map<string, Placed>,
): Map<string, number> {
  const ranks = new Map<string, number>()
  placed.forEach((one, rank) => {
    const sessionId = one.event.session_id
    if (births.get(sessionId) === one || !ranks.has(sessionId)) ranks.set(sessionId, rank)
  })
  for (const { sessionId, parent } of nodes.values()) {
    if (parent === null || !nodes.get(parent)?.synthetic) continue
    const rank = (ranks.get(sessionId) as number) - 0.5
    ranks.set(parent, Math.min(rank, ranks.get(parent) ?? rank))
  }
  return ranks
}

function rankOf(ranks: Map<string, number>, node: SessionNode): number {
  return ranks.get(node.sessionId) as number
}

/** Every node has at most one parent, so a walk upwards ends at a root, at a node known to be safe, or in its own path. */
function breakCycles(
  nodes: Map<string, SessionNode>,
  ranks: Map<string, number>,
  problems: SessionTreeProblem[],
): void {
  const safe = new Set<SessionNode>()
  for (const start of nodes.values()) {
    const path = new Set<SessionNode>()
    let node: SessionNode | undefined = start
    while (node && !safe.has(node) && !path.has(node)) {
      path.add(node)
      node = parentNode(nodes, node)
    }
    if (node && path.has(node)) {
      const cut = earliestOnCycle(nodes, ranks, node)
      problems.push({ kind: 'cycle', detail: `link to ${cut.parent} left out`, sessionId: cut.sessionId })
      cut.parent = null
    }
    for (const walked of path) safe.add(walked)
  }
}

function parentNode(nodes: Map<string, SessionNode>, node: SessionNode): SessionNode | undefined {
  return node.parent === null ? undefined : nodes.get(node.parent)
}

/** The first born, so that the cut does not depend on where the walk began. */
function earliestOnCycle(
  nodes: Map<string, SessionNode>,
  ranks: Map<string, number>,
  start: SessionNode,
): SessionNode {
  let earliest = start
  for (let node = parentNode(nodes, start); node && node !== start; node = parentNode(nodes, node)) {
    if (rankOf(ranks, node) < rankOf(ranks, earliest)) earliest = node
  }
  return earliest
}

const MAX_DRAWN_DEPTH = 40

/** The tree as text, one session per line. Past forty levels the depth is written instead of drawn. */
export function renderSessionTree(tree: SessionTree): string {
  if (!Array.isArray(tree?.roots) || !(tree.nodes instanceof Map))
    throw misused('tree', 'what buildSessionTree returned')
  const lines: string[] = []
  const open = tree.roots.map((id) => ({ id, depth: 0, prefix: '', branch: '' })).reverse()
  for (let next = open.pop(); next; next = open.pop()) {
    const node = tree.nodes.get(next.id) as SessionNode
    const { depth } = next
    const drawn = depth <= MAX_DRAWN_DEPTH
    lines.push(`${drawn ? next.prefix + next.branch : `[${depth}] `}${labelOf(node)}`)
    const below = next.branch === '' ? '' : next.branch === '├─ ' ? '│  ' : '   '
    const prefix = drawn ? next.prefix + below : ''
    for (let i = node.children.length - 1; i >= 0; i--) {
      const branch = i === node.children.length - 1 ? '└─ ' : '├─ '
      open.push({ id: node.children[i] as string, depth: depth + 1, prefix, branch })
    }
  }
  return lines.map((line) => `${line}\n`).join('')
}

function labelOf(node: SessionNode): string {
  const parts = [printable(node.sessionId)]
  if (node.synthetic) parts.push('(only mentioned)')
  if (node.birth !== null) parts.push(printable(node.birth))
  if (node.createdAt !== null) parts.push(printable(node.createdAt))
  if (node.events.some((event) => event.event === 'swapped') && node.birth !== 'swapped')
    parts.push('swapped')
  if (node.clearedAt !== null) parts.push(`cleared ${printable(node.clearedAt)}`)
  return parts.join('  ')
}

/** Text of other writers goes to a terminal here: nothing in it may move the cursor. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, '\ufffd')
}
