// Which session came from which, over all flavors, as one tree (or several): every session hangs below the one it was
// born from, in the order of birth. What is not known stays unknown; a circle in what the logs say is cut and reported.
import { parseStored } from '../errors.ts'
import { addTo } from '../lists.ts'
import type { EdgeKind, Outcome } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { NodeRow } from '../store/reader/lineage.ts'
import type { PriceBook } from '../usage/prices.ts'
import { type Graph, type Link, loadGraph } from './lineage-graph.ts'
import { TimeZone } from './timezone.ts'
import { usageReport } from './usage.ts'

/** `named`: a log or another session speaks of it, nothing of it was read. `unknown`: not even that, only its id. */
export type NodeState = 'here' | 'evicted' | 'named' | 'unknown'

export interface LineageEdge {
  kind: EdgeKind
  parent_uid: string | null
  at: string | null
  /** `told` by a session's own file, `logged` in a lineage log, `concluded` from what two sessions share. */
  source: 'told' | 'logged' | 'concluded'
  evidence: string | null
}

/** Nodes stand in the order of the tree: each after its parent, `depth` deeper. */
export interface LineageNode {
  session_uid: string
  depth: number
  parent_uid: string | null
  /** How it was born from its parent; null for a root. */
  edge: LineageEdge | null
  /** What else is known to have happened between it and other sessions. */
  other_edges: LineageEdge[]
  /** Names under which lineage logs speak of it. */
  logged_as: string[]
  state: NodeState
  evicted_at: string | null
  flavor: string
  title: string | null
  first_prompt: string
  repo: string | null
  model: string | null
  started_at: string | null
  ended_at: string | null
  outcome: Outcome
  total_tokens: number
  /** Exact, as a decimal; null when nothing of it has a known price. */
  cost_usd: string | null
  /** How often its context was compacted without becoming another session. */
  compactions: number
  /** Sub-agents whose work is in this session's own file. */
  agents: { agent: string; events: number }[]
  commits: string[]
}

export interface LineageProblem {
  kind: 'cycle' | 'several_parents' | 'ambiguous_name'
  session_uid: string
  detail: string
}

export interface Lineage {
  nodes: LineageNode[]
  problems: LineageProblem[]
}

/** The trees that hold the given sessions. */
export function lineageOf(handle: Reader, uids: readonly string[], prices: PriceBook): Lineage {
  const graph = loadGraph(handle, uids)
  const problems: LineageProblem[] = graph.ambiguous.map(({ name, candidates }) => ({
    kind: 'ambiguous_name',
    session_uid: name,
    detail: `could be any of ${candidates.join(', ')}`,
  }))
  return treesOf(describe(handle, graph, prices), graph.links, problems)
}

/** Sessions and what is told between them as trees, wherever both were read. */
export function treesOf(
  facts: Iterable<NodeFacts>,
  links: readonly Link[],
  problems: LineageProblem[] = [],
): Lineage {
  const nodes = new Map<string, Draft>()
  for (const one of facts)
    nodes.set(one.session_uid, {
      ...PLACELESS,
      ...one,
      other_edges: [],
      bornAt: one.started_at ? Date.parse(one.started_at) : Number.POSITIVE_INFINITY,
    })
  const births = chooseBirths(links, problems)
  cutCircles(nodes, births, problems)
  return { nodes: inOrder(nodes, births, links), problems }
}

/** As programs read it: with the node that was asked for, where one was. */
export interface LineageDocument extends Lineage {
  asked: string | null
}

export const lineageDocument = (lineage: Lineage, uid?: string): LineageDocument => ({
  asked: (uid === undefined ? undefined : nodeOf(lineage.nodes, uid)?.session_uid) ?? null,
  ...lineage,
})

/** Sessions that came from another one or led to one, newest first. */
export const relatedUids = (handle: Reader, limit: number): string[] => handle.lineage.related(limit)

/** Sessions that lineage logs name and nothing else tells of, newest first: without events they are in no other list. */
export const loggedUids = (handle: Reader, limit: number, sinceAt = 0): string[] =>
  handle.lineage.onlyLogged(limit, sinceAt)

/** The node among `nodes` that stands for a session, also when a log calls it by another name. */
export const nodeOf = (nodes: readonly LineageNode[], uid: string): LineageNode | undefined =>
  nodes.find((node) => node.session_uid === uid || node.logged_as.includes(uid))

type Draft = LineageNode & { bornAt: number }

/** In front of what is known: documents tell the place first. */
const PLACELESS = { session_uid: '', depth: 0, parent_uid: null, edge: null, other_edges: [] }

/** What is known of a session, before its place in the tree is. */
export type NodeFacts = Omit<LineageNode, 'depth' | 'parent_uid' | 'edge' | 'other_edges'>

const iso = (at: number | null | undefined): string | null => (at ? new Date(at).toISOString() : null)

function describe(handle: Reader, graph: Graph, prices: PriceBook): NodeFacts[] {
  const names = [...graph.nodes].flatMap(([uid, logged]) => [uid, ...logged])
  const usage = usageReport(handle, { group: 'session', zone: new TimeZone('UTC'), prices, sessions: names })
  const spent = new Map(usage.rows.map((row) => [row.key, row]))
  return [...graph.nodes].map(([uid, logged]) => {
    const row = handle.lineage.node(uid)
    const cost = spent.get(uid)
    return {
      session_uid: uid,
      logged_as: logged.filter((name) => name !== uid),
      state: stateOf(row),
      evicted_at: iso(row?.evicted_at),
      flavor: row?.flavor ?? uid.slice(0, uid.indexOf(':')),
      title: row?.title ?? null,
      first_prompt: row?.first_prompt ?? '',
      repo: row?.repo ?? null,
      model: row?.model ?? null,
      started_at: iso(row?.started_at),
      ended_at: iso(row?.ended_at),
      outcome: row?.outcome ?? 'unknown',
      total_tokens: cost?.total_tokens ?? 0,
      cost_usd: cost?.cost_usd ?? null,
      compactions: row?.compactions ?? 0,
      agents: agentsOf(row?.subagents),
      commits: parseStored<{ sha: string }[]>(row?.commits ?? '[]').map((one) => one.sha),
    }
  })
}

function stateOf(row: NodeRow | undefined): NodeState {
  if (!row) return 'unknown'
  if (row.evicted_at !== null) return 'evicted'
  return row.event_count > 0 ? 'here' : 'named'
}

/** Those with a session of their own are nodes. */
function agentsOf(subagents: string | null | undefined): LineageNode['agents'] {
  const all = parseStored<{ agent: string; session_uid: string; events: number }[]>(subagents ?? '[]')
  return all.filter((one) => one.session_uid === '').map(({ agent, events }) => ({ agent, events }))
}

type Born = Link & { parent: string }

/** It says what became of a session, rather than where it came from. */
const isLater = ({ kind }: Link): boolean => kind === 'swapped' || kind === 'resumed'

/** The word of a file or log before a conclusion; a birth before a swap or a resume; then the earliest. */
function byBirth(a: Link, b: Link): number {
  const swaps = Number(isLater(a)) - Number(isLater(b))
  const order = Number(a.isConcluded) - Number(b.isConcluded) || swaps
  if (order !== 0) return order
  const [left, right] = [a.at ?? Number.POSITIVE_INFINITY, b.at ?? Number.POSITIVE_INFINITY]
  if (left !== right) return left < right ? -1 : 1
  return (a.parent ?? '') < (b.parent ?? '') ? -1 : 1
}

/** What a log says of a session that it first let come from nothing is how that became the main one again. */
function parentsOf(links: readonly Link[]): Born[] {
  const [first] = links.filter((link) => link.isLogged).sort(byBirth)
  const isRoot = first?.parent === null
  return links
    .filter((link): link is Born => link.parent !== null && !(isRoot && link.isLogged))
    .sort(byBirth)
}

function chooseBirths(links: readonly Link[], problems: LineageProblem[]): Map<string, Born> {
  const byChild = new Map<string, Link[]>()
  for (const link of links) {
    if (link.kind === 'cleared') continue
    if (link.parent === link.child) problems.push(circle([link.child]))
    else addTo(byChild, link.child, link)
  }
  const births = new Map<string, Born>()
  for (const [child, all] of byChild) {
    const [first, ...rest] = parentsOf(all)
    if (!first) continue
    births.set(child, first)
    const others = rest.filter(
      (one) => one.parent !== first.parent && !isLater(one) && one.isConcluded === first.isConcluded,
    )
    if (others.length === 0) continue
    problems.push({
      kind: 'several_parents',
      session_uid: child,
      detail: `born from ${first.parent}, but also from ${others.map((one) => one.parent).join(', ')}`,
    })
  }
  return births
}

const circle = (uids: readonly string[]): LineageProblem => ({
  kind: 'cycle',
  session_uid: uids[0] as string,
  detail: `each is said to come from the next: ${uids.join(' ← ')}; the first is shown as a root`,
})

/** Follows each session up to its root; where that comes back to itself, the one that began first loses its parent. */
function cutCircles(
  nodes: ReadonlyMap<string, Draft>,
  births: Map<string, Born>,
  problems: LineageProblem[],
): void {
  const done = new Set<string>()
  for (const start of nodes.keys()) {
    const path: string[] = []
    const onPath = new Set<string>()
    for (let at: string | undefined = start; at !== undefined && !done.has(at); at = births.get(at)?.parent) {
      if (onPath.has(at)) {
        const ring = path.slice(path.indexOf(at))
        const bornAt = (uid: string): number => nodes.get(uid)?.bornAt ?? Number.POSITIVE_INFINITY
        const first = ring.reduce((a, b) => (bornAt(b) < bornAt(a) ? b : a))
        const from = ring.indexOf(first)
        births.delete(first)
        problems.push(circle([...ring.slice(from), ...ring.slice(0, from)]))
        break
      }
      onPath.add(at)
      path.push(at)
    }
    for (const uid of path) done.add(uid)
  }
}

function inOrder(
  nodes: ReadonlyMap<string, Draft>,
  births: ReadonlyMap<string, Born>,
  links: readonly Link[],
): LineageNode[] {
  const children = new Map<string | null, Draft[]>()
  for (const node of nodes.values()) {
    const birth = births.get(node.session_uid)
    node.edge = birth ? toEdge(birth) : null
    node.parent_uid = birth?.parent ?? null
    if (birth?.at !== null && birth?.at !== undefined) node.bornAt = birth.at
    addTo(children, node.parent_uid, node)
  }
  for (const link of links)
    if (link !== births.get(link.child)) nodes.get(link.child)?.other_edges.push(toEdge(link))
  for (const list of children.values())
    list.sort((a, b) =>
      a.bornAt === b.bornAt ? (a.session_uid < b.session_uid ? -1 : 1) : a.bornAt - b.bornAt,
    )
  // Not recursive: a session may have been compacted ten thousand times.
  const ordered: LineageNode[] = []
  const waiting = [...(children.get(null) ?? [])].reverse()
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const { bornAt: _, ...shown } = node
    ordered.push(shown)
    for (const child of [...(children.get(node.session_uid) ?? [])].reverse()) {
      child.depth = node.depth + 1
      waiting.push(child)
    }
  }
  return ordered
}

function toEdge(link: Link): LineageEdge {
  return {
    kind: link.kind,
    parent_uid: link.parent,
    at: iso(link.at),
    source: link.isConcluded ? 'concluded' : link.isLogged ? 'logged' : 'told',
    evidence: link.evidence,
  }
}
