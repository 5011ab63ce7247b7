// A session's events without their bodies, column by column: small enough to send whole, so that a reader can jump, filter
// and draw a timeline over 50,000 events and fetch only the bodies it shows.
import { DEEDS, EVENT_KINDS, type EventKind, isEdit, isoTime } from '../model.ts'
import type { EventHead } from '../store/reader/events.ts'
import type { Reader } from '../store/reader/index.ts'
import { FLAG, ROLES, wordOf } from '../store/rows.ts'

export interface Outline {
  session_uid: string
  /** What the numbers in `kind`, `tool` and `agent` stand for; -1 is none. */
  kinds: readonly EventKind[]
  tools: string[]
  agents: string[]
  /** For each agent the seq of the event that started it; 0 where the log does not say. */
  anchors: number[]
  seq: number[]
  kind: number[]
  tool: number[]
  agent: number[]
  /** Milliseconds after `started_at`; null where an event has no time. */
  at: (number | null)[]
  started_at: string | null
  duration_ms: (number | null)[]
  exit_code: (number | null)[]
  /** For a result, the seq of the call it answers; otherwise 0. */
  call_seq: number[]
  /** 1 sub-agent, 2 inherited, 4 taken back, 8 an instruction of a program, 16 a call that edits. */
  flags: number[]
  /** It is all of the session, though less was asked for: of what is new something stands before what was there. */
  is_whole: boolean
}

/** In the order of the conversation. Events after `afterSeq`; the numbering of tools and agents is that of this answer. */
export function outlineOf(handle: Reader, uid: string, afterSeq = 0): Outline {
  const rows = handle.events.heads(uid)
  const order = handle.events.order(uid)
  if (!order.isByNumber) rows.sort((a, b) => order.placeOf(a.seq) - order.placeOf(b.seq))
  return outlineFrom(uid, rows, afterSeq)
}

/** Of events that stand in the order of the conversation, wherever they were read. */
export function outlineFrom(uid: string, rows: readonly EventHead[], afterSeq: number): Outline {
  const isWhole = afterSeq > 0 && !beginsWith(rows, afterSeq)
  const startedAt = rows.find((row) => row.ts !== null)?.ts ?? null
  const outline = { ...emptyOutline(uid, startedAt), is_whole: isWhole }
  const tools = new Numbering(outline.tools)
  const agents = new Numbering(outline.agents)
  const calls = new Map<string, number>()
  const anchors = new Map<string, number>()
  for (const row of rows) {
    const isResult = ROLES[row.role] === 'tool'
    const callSeq = isResult && row.call ? (calls.get(row.call) ?? 0) : 0
    if (!isResult && row.call) calls.set(row.call, row.seq)
    if (row.agent !== null && !anchors.has(row.agent)) anchors.set(row.agent, row.parent_seq ?? 0)
    if (!isWhole && row.seq <= afterSeq) continue
    outline.seq.push(row.seq)
    outline.kind.push(row.kind)
    outline.tool.push(tools.of(row.tool))
    outline.agent.push(agents.of(row.agent))
    outline.at.push(row.ts === null || startedAt === null ? null : row.ts - startedAt)
    outline.duration_ms.push(row.duration_ms)
    outline.exit_code.push(row.exit_code)
    outline.call_seq.push(callSeq)
    const isOfEdit =
      !isResult && isEdit({ kind: EVENT_KINDS[row.kind] as EventKind, does: wordOf(DEEDS, row.does) })
    outline.flags.push(shownFlags(row.flags) | (isInstruction(row) ? 8 : 0) | (isOfEdit ? 16 : 0))
  }
  outline.anchors = outline.agents.map((name) => anchors.get(name) ?? 0)
  return outline
}

const isInstruction = ({ kind, role }: EventHead): boolean =>
  EVENT_KINDS[kind] === 'user_msg' && ROLES[role] === 'system'

/** Whether the events up to a number stand before all others. */
function beginsWith(rows: readonly EventHead[], lastSeq: number): boolean {
  const end = rows.findIndex(({ seq }) => seq > lastSeq)
  return end === -1 || rows.slice(end).every(({ seq }) => seq > lastSeq)
}

const shownFlags = (flags: number): number =>
  (flags & FLAG.sidechain) | (flags & (FLAG.inherited | FLAG.copied) ? 2 : 0) | (flags & FLAG.superseded)

function emptyOutline(uid: string, startedAt: number | null): Outline {
  return {
    session_uid: uid,
    kinds: EVENT_KINDS,
    tools: [],
    agents: [],
    anchors: [],
    seq: [],
    kind: [],
    tool: [],
    agent: [],
    at: [],
    started_at: isoTime(startedAt),
    duration_ms: [],
    exit_code: [],
    call_seq: [],
    flags: [],
    is_whole: false,
  }
}

class Numbering {
  readonly #names: string[]
  readonly #numbers = new Map<string, number>()

  constructor(names: string[]) {
    this.#names = names
  }

  of(name: string | null): number {
    if (name === null) return -1
    const known = this.#numbers.get(name)
    if (known !== undefined) return known
    this.#numbers.set(name, this.#names.length)
    return this.#names.push(name) - 1
  }
}
