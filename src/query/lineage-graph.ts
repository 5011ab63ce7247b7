// The part of the lineage graph that hangs together with some sessions, as it stands in Tier 2. A session that a lineage
// log names (`lineage:<id>`) and the agent's own file tells (`<flavor>:<id>`) is one node here.
import type { EdgeKind } from '../model.ts'
import type { ReadHandle } from '../store/store.ts'

type Memory = Pick<ReadHandle, 'memory'>

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

interface EdgeRow {
  session_uid: string
  kind: EdgeKind
  parent_uid: string
  at: number | null
  evidence: string | null
}

/** Everything that can be reached from the given sessions, in either direction. */
export function loadGraph(handle: Memory, seeds: readonly string[]): Graph {
  const graph: Graph = { nodes: new Map(), links: [], ambiguous: [] }
  const names = new Names(handle, graph)
  const edges = handle.memory.prepare(
    `SELECT session_uid, kind, parent_uid, at, evidence FROM edges WHERE session_uid = ?1
     UNION SELECT session_uid, kind, parent_uid, at, evidence FROM edges WHERE parent_uid = ?1 AND ?1 <> ''`,
  )
  const links = new Map<string, Link>()
  const waiting = seeds.map((uid) => names.node(uid))
  for (let uid = waiting.pop(); uid !== undefined; uid = waiting.pop()) {
    if (graph.nodes.has(uid)) continue
    const logged = names.inLogs(uid)
    graph.nodes.set(uid, logged)
    for (const name of new Set([uid, ...logged])) {
      for (const row of edges.all(name) as unknown as EdgeRow[]) {
        const link = toLink(row, names)
        links.set(`${row.session_uid}\0${row.kind}\0${row.parent_uid}`, link)
        for (const end of [link.child, link.parent]) if (end !== null) waiting.push(end)
      }
    }
  }
  graph.links = [...links.values()]
  return graph
}

function toLink(row: EdgeRow, names: Names): Link {
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
  readonly #graph: Graph
  readonly #known = new Map<string, string>()
  readonly #sql

  constructor({ memory }: Memory, graph: Graph) {
    this.#graph = graph
    this.#sql = {
      own: memory.prepare(
        `SELECT session_uid FROM sessions WHERE flavor <> 'lineage' AND native_session_id = ?1
         UNION SELECT session_uid FROM sessions WHERE flavor <> 'lineage' AND session_uid = ?1`,
      ),
      counts: memory.prepare('SELECT 1 FROM usage WHERE session_uid = ? AND is_counted LIMIT 1'),
      logged: memory.prepare('SELECT session_uid FROM sessions WHERE session_uid IN (?, ?)'),
    }
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
    const rows = this.#sql.logged.all(`${LOG}${native}`, `${LOG}${uid}`) as unknown as {
      session_uid: string
    }[]
    return rows.map((row) => row.session_uid).filter((name) => this.node(name) === uid)
  }

  /** A log writes the id its program knows, or a whole uid. Two recordings of one session: the one whose tokens count. */
  #ownUid(name: string): string {
    const rows = this.#sql.own.all(name.slice(LOG.length)) as unknown as { session_uid: string }[]
    const candidates = rows.map((row) => row.session_uid)
    const counted =
      candidates.length > 1 ? candidates.filter((uid) => this.#sql.counts.get(uid) !== undefined) : candidates
    if (counted.length === 1) return counted[0] as string
    if (candidates.length > 1) this.#graph.ambiguous.push({ name, candidates })
    return name
  }
}
