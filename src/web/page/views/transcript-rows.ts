// The rows of a transcript, from outlines alone: a call and its answer are one row, housekeeping can be left out, and a
// sub-agent is folded or open. Pure.
import type { EventKind } from '../../../model.ts'
import type { LineageNode } from '../../../query/lineage.ts'
import type { Outline } from '../../../query/outline.ts'
import { type Agent, type Feed, inReadingOrder, type Step, wanted } from '../../../query/reading-order.ts'

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

export function rowsOf(told: Told, uid: string): Row[] {
  const isShown = ({ seq, kind, flags }: Row): boolean =>
    seq === told.shown.target || !isLeftOut(kind, flags, told.shown)
  const rows: Row[] = []
  for (const entry of inReadingOrder(feedOf(told, isShown), uid)) {
    const { depth } = entry
    if (entry.type === 'agent') rows.push(headRow(entry.agent, depth))
    else {
      const shown = wanted(entry, isShown)
      if (shown) rows.push({ ...shown.event, answer: shown.result?.seq ?? 0, depth })
    }
  }
  return rows
}

const isLeftOut = (kind: EventKind, flags: number, shown: Shown): boolean =>
  (!shown.housekeeping && (HOUSEKEEPING.has(kind) || (flags & INSTRUCTION) !== 0)) ||
  (!shown.thinking && kind === 'thinking') ||
  (!shown.tools && TOOL_KINDS.has(kind))

interface PageAgent extends Agent {
  head: AgentHead
}

/** The steps of the session's own agent (under -1), and of each agent inside it. */
type Split = ReadonlyMap<number, Step<Row>[]>

function feedOf(told: Told, isShown: (row: Row) => boolean): Feed<Row, PageAgent> {
  const known = new Map<string, Split>()
  const splitOf = (uid: string): Split => {
    const outline = told.outlines.get(uid)
    const split = known.get(uid) ?? (outline ? splitBy(outline) : new Map())
    known.set(uid, split)
    return split
  }
  return {
    steps: (uid) => splitOf(uid).get(-1) ?? [],
    stepsOf: ({ sessionUid, name }) =>
      splitOf(sessionUid).get(told.outlines.get(sessionUid)?.agents.indexOf(name ?? '') ?? -1) ?? [],
    agents: (uid, above) => [
      ...insideAgents(told, uid, splitOf(uid), isShown),
      ...told.subagents
        .filter(({ parent_uid, session_uid }) => parent_uid === uid && !above.has(session_uid))
        .map((node) => ownAgent(told, node)),
    ],
    isFolded: ({ head }) => !head.isOpen,
  }
}

function splitBy(outline: Outline): Split {
  const split = new Map<number, Step<Row>[]>()
  const calls = new Set(outline.call_seq)
  const start = outline.started_at === null ? 0 : Date.parse(outline.started_at)
  const uid = outline.session_uid
  for (const [at, seq] of outline.seq.entries()) {
    const kind = outline.kinds[outline.kind[at] as number] as EventKind
    const flags = outline.flags[at] as number
    const agent = flags & SIDECHAIN ? (outline.agent[at] as number) : -1
    const answered = outline.call_seq[at] as number
    const after = outline.at[at] ?? null
    const step = {
      event: { key: `${uid}#${seq}`, uid, seq, answer: 0, at, kind, flags, depth: 0 },
      seq,
      at: after === null ? null : start + after,
      call: answered > 0 || calls.has(seq) ? { id: answered || seq, isResult: answered > 0 } : null,
      isPrompt: kind === 'user_msg' && (flags & INSTRUCTION) === 0,
      isAside: agent === -1 && (flags & SIDECHAIN) !== 0,
    }
    const steps = split.get(agent)
    if (steps) steps.push(step)
    else split.set(agent, [step])
  }
  return split
}

function headRow(agent: PageAgent, depth: number): Row {
  const { head, sessionUid: uid } = agent
  const nothing = { seq: 0, at: -1, answer: 0, kind: 'lifecycle', flags: 0 } as const
  return { ...nothing, key: `agent ${head.id}`, uid, depth, agent: head }
}

/** Those of which something is shown. */
function insideAgents(told: Told, uid: string, split: Split, isShown: (row: Row) => boolean): PageAgent[] {
  return [...split].flatMap(([agent, steps]) => {
    const first = steps.find(({ event }) => isShown(event))
    if (agent === -1 || !first) return []
    const { agents, anchors } = told.outlines.get(uid) as Outline
    const name = agents[agent] ?? ''
    const id = `${uid} ${name}`
    const head = {
      id,
      name,
      firstSeq: first.seq,
      model: null,
      eventCount: steps.length,
      sessionUid: undefined,
      // What one was sent to is shown wherever it stands.
      isOpen: !told.toggled.has(id) || steps.some(({ seq }) => seq === told.shown.target),
      isLoading: false,
    }
    const at = steps.find((step) => step.at !== null)?.at ?? null
    return [{ sessionUid: uid, name, anchorSeq: anchors[agent] || null, at, head }]
  })
}

function ownAgent(told: Told, node: LineageNode): PageAgent {
  const uid = node.session_uid
  const isOpen = told.toggled.has(uid)
  const at = node.edge?.at ?? node.started_at
  const head = {
    id: uid,
    name: node.title || node.first_prompt || uid,
    firstSeq: 0,
    model: node.model,
    eventCount: told.outlines.get(uid)?.seq.length,
    sessionUid: uid,
    isOpen,
    isLoading: isOpen && !told.outlines.has(uid),
  }
  return { sessionUid: uid, name: null, anchorSeq: null, at: at === null ? null : Date.parse(at), head }
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
