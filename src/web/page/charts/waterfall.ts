// The timeline of a session as spans on lanes. Times are milliseconds after the session's start. Pure.
import { type EventKind, isCallKind } from '../../../model.ts'
import type { LineageNode } from '../../../query/lineage.ts'
import type { Outline } from '../../../query/outline.ts'
import type { SpentResponse } from '../../../query/spend.ts'

export type SpanKind = 'model' | 'tool' | 'failed' | 'waiting'

export interface Span {
  lane: number
  from: number
  to: number
  kind: SpanKind
  seq: number
  name: string
  /** A session of its own, where it is one. */
  uid?: string
  /** What the model was given and gave in it, and what that cost, where responses tell it. */
  tokens?: number
  costUsd?: number
}

export interface Waterfall {
  lanes: string[]
  spans: Span[]
  from: number
  to: number
}

const MAX_TOOLS = 10
const MAX_AGENTS = 8
const MODEL_KINDS: ReadonlySet<EventKind> = new Set([
  'assistant_msg',
  'thinking',
  'tool_call',
  'test_run',
  'edit',
  'retry',
])

const MODEL_WORDS: Partial<Record<EventKind, string>> = {
  assistant_msg: 'model, answering',
  thinking: 'model, thinking',
}

export function waterfallOf(outline: Outline, subagents: readonly LineageNode[] = []): Waterfall {
  const lanes = new Lanes(outline, subagents)
  const spans: Span[] = []
  const places = new Map(outline.seq.map((seq, i) => [seq, i]))
  /** When each speaker was last heard: what comes next took this long. */
  const heard = new Map<number, number>()
  const bounds = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY] as [number, number]
  for (const [i, seq] of outline.seq.entries()) {
    const at = outline.at[i]
    if (at === null || at === undefined) continue
    bounds[0] = Math.min(bounds[0], at)
    bounds[1] = Math.max(bounds[1], at)
    const kind = outline.kinds[outline.kind[i] as number] as EventKind
    const agent = outline.agent[i] as number
    const before = heard.get(agent)
    const call = outline.call_seq[i] as number
    if (call > 0) {
      const start = outline.at[places.get(call) ?? i] ?? at
      const tool = outline.tool[i] === -1 ? outline.tool[places.get(call) ?? i] : outline.tool[i]
      const kindOf: SpanKind = kind === 'error' ? 'failed' : 'tool'
      spans.push({
        lane: agent === -1 ? lanes.tool(tool as number) : lanes.agent(agent),
        from: start,
        to: at,
        kind: kindOf,
        seq: call,
        name: outline.tools[tool as number] ?? '',
      })
    } else if (kind === 'user_msg' && agent === -1 && (before ?? bounds[0]) < at)
      // Nothing was heard before the first prompt but notes of the program: it waited since then.
      spans.push({
        lane: 0,
        from: before ?? bounds[0],
        to: at,
        kind: 'waiting',
        seq,
        name: 'waiting for you',
      })
    else if (MODEL_KINDS.has(kind) && before !== undefined)
      spans.push({
        lane: lanes.agent(agent),
        from: before,
        to: at,
        kind: 'model',
        seq,
        name: MODEL_WORDS[kind] ?? 'model, up to a call',
      })
    // Notes of the program itself say nothing about who was at work.
    if (kind !== 'lifecycle') heard.set(agent, at)
  }
  for (const span of [...unanswered(outline, lanes), ...ownSpans(outline, subagents, lanes)]) {
    spans.push(span)
    bounds[1] = Math.max(bounds[1], span.to)
  }
  const [from, to] = Number.isFinite(bounds[0]) ? bounds : [0, 1]
  return { lanes: lanes.names, spans, from, to: Math.max(to, from + 1) }
}

/** Of some calls the log tells no answer: a mark where they were made, so that no lane looks unused. */
function unanswered(outline: Outline, lanes: Lanes): Span[] {
  const answered = new Set(outline.call_seq)
  return outline.seq.flatMap((seq, i) => {
    const [at, tool] = [outline.at[i] ?? null, outline.tool[i] as number]
    const isCall = outline.call_seq[i] === 0 && tool !== -1 && outline.agent[i] === -1
    const kind = outline.kinds[outline.kind[i] as number] as EventKind
    if (at === null || !isCall || !isCallKind(kind) || answered.has(seq)) return []
    return [{ lane: lanes.tool(tool), from: at, to: at, kind: 'tool', seq, name: outline.tools[tool] ?? '' }]
  })
}

/** Sub-agents with sessions of their own, each as one span from its start to its end. */
function ownSpans(outline: Outline, subagents: readonly LineageNode[], lanes: Lanes): Span[] {
  if (outline.started_at === null) return []
  const zero = Date.parse(outline.started_at)
  return subagents.flatMap((node) => {
    if (node.started_at === null) return []
    const from = Math.max(0, Date.parse(node.started_at) - zero)
    const to = Math.max(from, Date.parse(node.ended_at ?? node.started_at) - zero)
    const { session_uid: uid } = node
    return [{ lane: lanes.own(uid), from, to, kind: 'model', seq: 0, name: nameOf(node), uid } as const]
  })
}

const nameOf = (node: LineageNode): string => node.title || node.first_prompt || node.session_uid

/** Waiting, the main agent, sub-agents, then the tools that were called most. */
class Lanes {
  readonly names: string[]
  readonly #agents = new Map<number, number>()
  readonly #tools = new Map<number, number>()
  readonly #own = new Map<string, number>()

  constructor(outline: Outline, subagents: readonly LineageNode[]) {
    this.names = ['waiting for you', 'main agent']
    const agents = countsOf(outline.agent).slice(0, MAX_AGENTS)
    for (const agent of agents)
      this.#agents.set(
        agent,
        this.names.push(`↳ sub-agent ${(outline.agents[agent] ?? '').slice(0, 10)}`) - 1,
      )
    for (const node of subagents.slice(0, MAX_AGENTS))
      this.#own.set(node.session_uid, this.names.push(`↳ sub-agent ${nameOf(node)}`) - 1)
    // Those of sub-agents stand on the lane of who called them.
    const called = outline.tool.filter((_, i) => outline.call_seq[i] === 0 && outline.agent[i] === -1)
    const tools = countsOf(called).slice(0, MAX_TOOLS)
    for (const tool of tools) this.#tools.set(tool, this.names.push(outline.tools[tool] ?? '') - 1)
    if (new Set(called).size - (called.includes(-1) ? 1 : 0) > MAX_TOOLS) this.names.push('other tools')
  }

  agent(agent: number): number {
    return this.#agents.get(agent) ?? 1
  }

  own(uid: string): number {
    return this.#own.get(uid) ?? 1
  }

  tool(tool: number): number {
    return this.#tools.get(tool) ?? this.names.length - 1
  }
}

/** Most frequent first, none left out. */
function countsOf(numbers: readonly number[]): number[] {
  const counts = new Map<number, number>()
  for (const number of numbers) if (number >= 0) counts.set(number, (counts.get(number) ?? 0) + 1)
  return [...counts].sort((a, b) => b[1] - a[1]).map(([number]) => number)
}

/** Whose responses a span may be of. */
const isModel = ({ kind, uid }: Span): boolean => kind === 'model' && uid === undefined

/** So far from a response the step it led to may end. */
const MAX_APART_MS = 5000

/** Puts what each response took onto the step of the model that ended with it. */
export function spend(
  { spans }: Waterfall,
  startedAt: string | null,
  responses: readonly SpentResponse[],
): void {
  const zero = Date.parse(startedAt ?? '')
  const models = spans.filter(isModel).sort((a, b) => a.to - b.to)
  for (const { ts, context_tokens, output_tokens, cost_usd, is_sidechain } of responses) {
    const at = Date.parse(ts ?? '') - zero
    let best: Span | undefined
    for (const span of models) {
      if (span.to > at + MAX_APART_MS) break
      const isOthers = span.lane === 1 ? is_sidechain : !is_sidechain
      const isNearer = best === undefined || Math.abs(span.to - at) < Math.abs(best.to - at)
      if (!isOthers && Math.abs(span.to - at) <= MAX_APART_MS && isNearer) best = span
    }
    if (!best) continue
    best.tokens = (best.tokens ?? 0) + context_tokens + output_tokens
    if (cost_usd !== null) best.costUsd = (best.costUsd ?? 0) + Number(cost_usd)
  }
}

/** A pause that is longer is not counted as active; the digest says the same. */
const IDLE_MS = 5 * 60_000
/** At most so many notes of the program stand before what somebody said. */
const MAX_NOTES = 20

export interface Times {
  activeMs: number
  waitingMs: number
  callsMs: number
  otherMs: number
}

/** The time from the first event to the last, each moment once. */
export function timesOf(outline: Outline): Times {
  const kindAt = (i: number): EventKind => outline.kinds[outline.kind[i] as number] as EventKind
  // Some programs note that a turn begins before they note what was said.
  const isBeforePrompt = (next: number[]): boolean => {
    const said = next.find((i) => kindAt(i) !== 'lifecycle')
    return said !== undefined && kindAt(said) === 'user_msg'
  }
  const times: Times = { activeMs: 0, waitingMs: 0, callsMs: 0, otherMs: 0 }
  const isOwn = (i: number): boolean => ((outline.flags[i] as number) & 6) === 0 && outline.at[i] !== null
  const order = outline.seq.map((_, i) => i).filter(isOwn)
  order.sort((a, b) => (outline.at[a] as number) - (outline.at[b] as number))
  for (const [place, i] of order.entries()) {
    const before = order[place - 1]
    if (before === undefined) continue
    const pause = (outline.at[i] as number) - (outline.at[before] as number)
    if (pause <= IDLE_MS) times.activeMs += pause
    else if ((outline.call_seq[i] as number) > 0) times.callsMs += pause
    else if (isBeforePrompt(order.slice(place, place + MAX_NOTES))) times.waitingMs += pause
    else times.otherMs += pause
  }
  return times
}

const STEPS_S = [
  0.001, 0.01, 0.1, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600,
  43_200, 86_400, 604_800,
]

/** Round times after the first event to draw a line at, at most about so many. */
export function ticksOf(view: View, most: number, zero: number): number[] {
  const step = 1000 * (STEPS_S.find((one) => (view.to - view.from) / (one * 1000) <= most) ?? 2_592_000)
  const ticks: number[] = []
  for (let at = zero + Math.ceil((view.from - zero) / step) * step; at <= view.to; at += step) ticks.push(at)
  return ticks
}

export interface View {
  from: number
  to: number
}

/** How much goes on in each part of the whole, for the small map. */
export function density({ spans, from, to }: Waterfall, parts: number): number[] {
  const counts = new Array<number>(parts).fill(0)
  for (const span of spans) {
    if (span.kind === 'waiting') continue
    const first = Math.floor(((span.from - from) / (to - from)) * (parts - 1))
    const last = Math.floor(((span.to - from) / (to - from)) * (parts - 1))
    for (let i = Math.max(0, first); i <= Math.min(parts - 1, last); i++) counts[i] = (counts[i] ?? 0) + 1
  }
  return counts
}
