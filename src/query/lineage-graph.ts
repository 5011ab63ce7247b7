// The part of the lineage graph that hangs together with some sessions, as it stands in Tier 2. A session that a lineage
// log names (`lineage:<id>`) and the agent's own file tells (`<flavor>:<id>`) is one node here.
import type { EdgeKind } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Edge } from '../store/reader/lineage.ts'

/** One edge, with its ends as nodes. */
export interface Link {
  child: string
  /** Null for a birth or death that names nobody else. */
  parent: string | null
  kind: EdgeKind
  at: number | null
  evidence: string | null
  /** Found by comparing sessions; no format says so. */
  isConcluded: boolean
  /** Told by a lineage log, not by the session's own file. */
  isLogged: boolean
}

export interface Graph {
  /** Node to the names under which a log speaks of it. */
  nodes: Map<string, string[]>
  links: Link[]
  /** Names in a log that several sessions could be meant by. */
  ambiguous: { name: string; candidates: string[] }[]
}

const LOG = 'lineage:'
const isLogName = (uid: string): boolean => uid.startsWith(LOG)

/** Everything that can be reached from the given sessions, in either direction. */
export function loadGraph(handle: Reader, seeds: readonly string[]): Graph {
  const graph: Graph = { nodes: new Map(), links: [], ambiguous: [] }
  const names = new Names(handle, graph)
  const links = new Map<string, Link>()
  const waiting = seeds.map((uid) => names.node(uid))
  for (let uid = waiting.pop(); uid !== undefined; uid = waiting.pop()) {
    if (graph.nodes.has(uid)) continue
    const logged = names.inLogs(uid)
    graph.nodes.set(uid, logged)
    for (const name of new Set([uid, ...logged])) {
      for (const row of handle.lineage.edges(name)) {
        const link = toLink(row, names)
        links.set(`${row.session_uid}\0${row.kind}\0${row.parent_uid}`, link)
        for (const end of [link.child, link.parent]) if (end !== null) waiting.push(end)
      }
    }
  }
  graph.links = [...links.values()]
  return graph
}

function toLink(row: Edge, names: Names): Link {
  return {
    child: names.node(row.session_uid),
    parent: row.parent_uid === '' ? null : names.node(row.parent_uid),
    kind: row.kind,
    at: row.at,
    evidence: row.evidence,
    isConcluded: row.evidence?.startsWith('shared prefix') ?? false,
    isLogged: isLogName(row.session_uid),
  }
}

/** Which node a uid stands for, and back. */
class Names {
  readonly #handle: Reader
  readonly #graph: Graph
  readonly #known = new Map<string, string>()

  constructor(handle: Reader, graph: Graph) {
    this.#handle = handle
    this.#graph = graph
  }

  node(uid: string): string {
    if (!isLogName(uid)) return uid
    const known = this.#known.get(uid)
    if (known !== undefined) return known
    const found = this.#ownUid(uid)
    this.#known.set(uid, found)
    return found
  }

  inLogs(uid: string): string[] {
    if (isLogName(uid)) return [uid]
    const native = uid.slice(uid.indexOf(':') + 1)
    return [`${LOG}${native}`, `${LOG}${uid}`]
      .filter((name) => this.#handle.lineage.isRemembered(name) && this.node(name) === uid)
      .sort()
  }

  /** A log writes the id its program knows, or a whole uid. Two recordings of one session: the one whose tokens count. */
  #ownUid(name: string): string {
    const candidates = this.#handle.lineage.toldAs(name.slice(LOG.length))
    const counted =
      candidates.length > 1 ? candidates.filter((uid) => this.#handle.lineage.isCounted(uid)) : candidates
    if (counted.length === 1) return counted[0] as string
    if (candidates.length > 1) this.#graph.ambiguous.push({ name, candidates })
    return name
  }
}
