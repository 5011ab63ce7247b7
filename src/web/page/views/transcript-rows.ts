// The rows of a transcript, from outlines alone: a call and its answer are one row, housekeeping can be left out, and each
// sub-agent stands below the call that started it, folded or open. Pure.
import type { EventKind } from '../../../model.ts'
import type { LineageNode } from '../../../query/lineage.ts'
import type { Outline } from '../../../query/outline.ts'

export interface Row {
  key: string
  uid: string
  seq: number
  /** Its place in the outline. */
  at: number
  /** The answer to a call; 0 while there is none. */
  answer: number
  kind: EventKind
  flags: number
  depth: number
  /** Set where the row is the head of a sub-agent; it then stands for no event. */
  agent?: AgentHead
}

export interface AgentHead {
  /** Its own session, or the name it has inside the session it works in. */
  id: string
  name: string
  /** Its first event, which tells what it was asked; 0 where none is known yet. */
  firstSeq: number
  model: string | null
  /** Undefined while it is not known. */
  eventCount: number | undefined
  /** A session of its own, to go to. */
  sessionUid: string | undefined
  isOpen: boolean
  isLoading: boolean
}

const HOUSEKEEPING: ReadonlySet<EventKind> = new Set(['lifecycle', 'completion'])
const TOOL_KINDS: ReadonlySet<EventKind> = new Set(['tool_call', 'tool_result', 'test_run', 'edit'])
const MAX_DEPTH = 4
const SIDECHAIN = 1
const INSTRUCTION = 8

export interface Shown {
  housekeeping: boolean
  thinking: boolean
  tools: boolean
  /** The event one was sent to is shown whatever it is. */
  target: number
}

/** What there is to draw from. */
export interface Told {
  shown: Shown
  outlines: ReadonlyMap<string, Outline>
  /** Sub-agents with sessions of their own. */
  subagents: readonly LineageNode[]
  /** Agents inside a session are open unless they are in here, sessions of their own only when they are. */
  toggled: ReadonlySet<string>
}

export function rowsOf(told: Told, uid: string, depth = 0): Row[] {
  const outline = told.outlines.get(uid)
  if (!outline) return []
  const { main, inside } = split(outline, told.shown, depth)
  const below = new Map<number, Row[]>()
  const put = (after: number, rows: readonly Row[]): void => {
    below.set(after, [...(below.get(after) ?? []), ...rows])
  }
  for (const [agent, rows] of inside)
    put(placeOf(main, outline, agent), insideRows(told, outline, agent, rows))
  if (depth < MAX_DEPTH)
    for (const node of told.subagents.filter((one) => one.parent_uid === uid))
      put(placeAt(main, outline, node), ownRows(told, node, depth))
  return [...(below.get(-1) ?? []), ...main.flatMap((row, i) => [row, ...(below.get(i) ?? [])])]
}

const isLeftOut = (kind: EventKind, flags: number, shown: Shown): boolean =>
  (!shown.housekeeping && (HOUSEKEEPING.has(kind) || (flags & INSTRUCTION) !== 0)) ||
  (!shown.thinking && kind === 'thinking') ||
  (!shown.tools && TOOL_KINDS.has(kind))

/** Rows of the session's own agent, and of each agent inside it. */
function split(outline: Outline, shown: Shown, depth: number): { main: Row[]; inside: Map<number, Row[]> } {
  const main: Row[] = []
  const inside = new Map<number, Row[]>()
  const calls = new Map<number, Row>()
  for (const [at, seq] of outline.seq.entries()) {
    const kind = outline.kinds[outline.kind[at] as number] as EventKind
    const call = calls.get(outline.call_seq[at] as number)
    if (call) {
      call.answer = seq
      continue
    }
    const flags = outline.flags[at] as number
    if (seq !== shown.target && isLeftOut(kind, flags, shown)) continue
    const agent = flags & SIDECHAIN ? (outline.agent[at] as number) : -1
    const uid = outline.session_uid
    const isInside = (flags & SIDECHAIN) !== 0
    const row = {
      key: `${uid}#${seq}`,
      uid,
      seq,
      answer: 0,
      at,
      kind,
      flags,
      depth: depth + Number(isInside),
    }
    calls.set(seq, row)
    if (agent === -1) main.push(row)
    else if (inside.has(agent)) inside.get(agent)?.push(row)
    else inside.set(agent, [row])
  }
  return { main, inside }
}

/** After the call that started it, else after what was last said before it began. */
function placeOf(main: readonly { at: number }[], outline: Outline, agent: number): number {
  const anchor = outline.seq.indexOf(outline.anchors[agent] || -1)
  const at = anchor === -1 ? outline.agent.indexOf(agent) : anchor
  return main.findLastIndex((row) => row.at <= at)
}

function placeAt(main: readonly { at: number }[], outline: Outline, node: LineageNode): number {
  const at = node.edge?.at ?? node.started_at
  if (at === null || at === undefined || outline.started_at === null) return main.length - 1
  const after = Date.parse(at) - Date.parse(outline.started_at)
  return main.findLastIndex((row) => (outline.at[row.at] ?? Number.POSITIVE_INFINITY) <= after)
}

function head(row: Pick<Row, 'uid' | 'depth'>, agent: AgentHead): Row {
  const { uid, depth } = row
  return {
    key: `agent ${agent.id}`,
    uid,
    seq: 0,
    at: -1,
    answer: 0,
    kind: 'lifecycle',
    flags: 0,
    depth,
    agent,
  }
}

function insideRows(told: Told, outline: Outline, agent: number, rows: readonly Row[]): Row[] {
  const id = `${outline.session_uid} ${outline.agents[agent]}`
  const isOpen = !told.toggled.has(id)
  const first = rows[0] as Row
  const top = head(first, {
    id,
    name: outline.agents[agent] ?? '',
    firstSeq: first.seq,
    model: null,
    eventCount: outline.agent.filter((one) => one === agent).length,
    sessionUid: undefined,
    isOpen,
    isLoading: false,
  })
  return isOpen ? [top, ...rows] : [top]
}

function ownRows(told: Told, node: LineageNode, depth: number): Row[] {
  const uid = node.session_uid
  const isOpen = told.toggled.has(uid)
  const rows = isOpen ? rowsOf(told, uid, depth + 1) : []
  const top = head(
    { uid, depth: depth + 1 },
    {
      id: uid,
      name: node.title || node.first_prompt || uid,
      firstSeq: 0,
      model: node.model,
      eventCount: told.outlines.get(uid)?.seq.length,
      sessionUid: uid,
      isOpen,
      isLoading: isOpen && !told.outlines.has(uid),
    },
  )
  return [top, ...rows]
}

/** What a later answer adds, appended to what is there, unless it is all there is. */
export function joined(known: Outline, more: Outline): Outline {
  if (more.is_whole) return more
  if (more.seq.length === 0) return known
  const tools = [...known.tools]
  const agents = [...known.agents]
  const renamed = (names: readonly string[], list: string[], numbers: readonly number[]): number[] => {
    const map = names.map((name) => {
      const at = list.indexOf(name)
      return at === -1 ? list.push(name) - 1 : at
    })
    return numbers.map((number) => (number === -1 ? -1 : (map[number] as number)))
  }
  const agent = [...known.agent, ...renamed(more.agents, agents, more.agent)]
  return {
    ...known,
    tools,
    agents,
    anchors: agents.map((name, i) => known.anchors[i] ?? more.anchors[more.agents.indexOf(name)] ?? 0),
    seq: [...known.seq, ...more.seq],
    kind: [...known.kind, ...more.kind],
    tool: [...known.tool, ...renamed(more.tools, tools, more.tool)],
    agent,
    at: [...known.at, ...more.at],
    started_at: known.started_at ?? more.started_at,
    duration_ms: [...known.duration_ms, ...more.duration_ms],
    exit_code: [...known.exit_code, ...more.exit_code],
    call_seq: [...known.call_seq, ...more.call_seq],
    flags: [...known.flags, ...more.flags],
  }
}

/** Index of the row that shows an event of a session: itself, or the call it answers, or the next one after it. */
export function rowOf(rows: readonly Row[], outline: Outline, seq: number): number {
  const own = (row: Row): boolean => row.uid === outline.session_uid && row.agent === undefined
  const exact = rows.findIndex((row) => own(row) && (row.seq === seq || row.answer === seq))
  if (exact !== -1) return exact
  const at = outline.seq.indexOf(seq)
  const next = rows.findIndex((row) => own(row) && row.at > at)
  return next === -1 ? rows.length - 1 : next
}
