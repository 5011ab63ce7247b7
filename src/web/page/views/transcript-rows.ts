// The rows of a transcript, from the outline alone: a call and its answer are one row, housekeeping can be left out.
import type { EventKind } from '../../../model.ts'
import type { Outline } from '../../../query/outline.ts'

export interface Row {
  seq: number
  /** The answer to a call; 0 while there is none. */
  answer: number
  /** Where it stands in the outline. */
  at: number
  kind: EventKind
}

const HOUSEKEEPING: ReadonlySet<EventKind> = new Set(['lifecycle', 'completion'])

export interface Shown {
  housekeeping: boolean
  thinking: boolean
  tools: boolean
}

const TOOL_KINDS: ReadonlySet<EventKind> = new Set(['tool_call', 'tool_result', 'test_run', 'edit'])

export function rowsOf(outline: Outline, shown: Shown): Row[] {
  const rows: Row[] = []
  const calls = new Map<number, Row>()
  for (const [at, seq] of outline.seq.entries()) {
    const kind = outline.kinds[outline.kind[at] as number] as EventKind
    const call = calls.get(outline.call_seq[at] as number)
    if (call) {
      call.answer = seq
      continue
    }
    if (!shown.housekeeping && HOUSEKEEPING.has(kind)) continue
    if (!shown.thinking && kind === 'thinking') continue
    if (!shown.tools && TOOL_KINDS.has(kind)) continue
    const row = { seq, answer: 0, at, kind }
    calls.set(seq, row)
    rows.push(row)
  }
  return rows
}

/** What a later answer adds, appended to what is there. */
export function joined(known: Outline, more: Outline): Outline {
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
  return {
    ...known,
    tools,
    agents,
    seq: [...known.seq, ...more.seq],
    kind: [...known.kind, ...more.kind],
    tool: [...known.tool, ...renamed(more.tools, tools, more.tool)],
    agent: [...known.agent, ...renamed(more.agents, agents, more.agent)],
    at: [...known.at, ...more.at],
    started_at: known.started_at ?? more.started_at,
    duration_ms: [...known.duration_ms, ...more.duration_ms],
    exit_code: [...known.exit_code, ...more.exit_code],
    call_seq: [...known.call_seq, ...more.call_seq],
    flags: [...known.flags, ...more.flags],
  }
}

/** Index of the row that shows an event: itself, or the call it answers, or the next one after it. */
export function rowOf(rows: readonly Row[], seq: number): number {
  const exact = rows.findIndex((row) => row.seq === seq || row.answer === seq)
  if (exact !== -1) return exact
  const next = rows.findIndex((row) => row.seq > seq)
  return next === -1 ? rows.length - 1 : next
}
