// ATIF-v1.7, the Agent Trajectory Interchange Format (RFC 0001 of the Harbor framework): one document per session, written
// step by step. A step of the agent is one response of the model, with the calls it made and what came back; sub-agents
// are embedded.
import type { Told } from '../event/body.ts'
import { wordsOf } from '../event/words.ts'
import { isCall } from '../model.ts'
import { type ExportEvent, type ExportSource, MAX_DEPTH, type Response } from './source.ts'
import { toJson } from './text.ts'

interface ToolCall {
  tool_call_id: string
  function_name: string
  arguments: Record<string, unknown>
  extra: Record<string, unknown>
}

interface Result {
  source_call_id?: string
  content: string
  subagent_trajectory_ref?: { trajectory_id: string; session_id: string }[]
  extra: Record<string, unknown>
}

interface Step {
  source: 'system' | 'user' | 'agent'
  timestamp?: string
  message: string
  reasoning_content?: string
  model_name?: string
  tool_calls?: ToolCall[]
  observation?: { results: Result[] }
  metrics?: Record<string, unknown>
  is_copied_context?: boolean
  llm_call_count?: number
  extra: Record<string, unknown>
}

export function* toAtif(source: ExportSource): Generator<string> {
  yield* trajectory(source, { id: source.session.session_uid, agent: null, depth: 1, above: [] })
  yield '\n'
}

interface Part {
  /** `trajectory_id`. */
  id: string
  /** A sub-agent inside the session, or null for the session itself. */
  agent: string | null
  depth: number
  above: readonly string[]
}

function* trajectory(source: ExportSource, part: Part): Generator<string> {
  const { session } = source
  const head = {
    schema_version: 'ATIF-v1.7',
    session_id: session.session_uid,
    trajectory_id: part.id,
    agent: {
      name: part.agent || session.flavor,
      version: source.agentVersion ?? 'unknown',
      ...(session.model === null ? {} : { model_name: session.model }),
    },
    ...(source.loss === undefined ? {} : { notes: source.loss }),
  }
  yield `${toJson(head).slice(0, -1)},"steps":[`
  let count = 0
  for (const step of stepsOf(source, part.agent)) {
    count++
    yield `${count === 1 ? '' : ','}\n${toJson({ step_id: count, ...step })}`
  }
  yield `\n],"final_metrics":${toJson({ ...totals(part.agent === null ? source.responses() : []), total_steps: count })}`
  yield* embedded(source, part)
  const { repo, domain, cwd, git_branch, title, outcome, task_ref } = session
  // With those of the trajectories inside it: what comes first cannot tell what is read later.
  const unread = source.unread === undefined ? {} : { unread: source.unread }
  yield `,"extra":${toJson({ repo, domain, cwd, git_branch, title, outcome, task_ref, ...unread })}}`
}

function* embedded(source: ExportSource, part: Part): Generator<string> {
  if (part.agent !== null || part.depth > MAX_DEPTH) return
  const above = [...part.above, source.session.session_uid]
  const depth = part.depth + 1
  let count = 0
  const open = (): string => (count++ === 0 ? ',"subagent_trajectories":[\n' : ',\n')
  for (const { agent } of source.sidechains()) {
    yield open()
    yield* trajectory(source, { id: sidechainId(source, agent), agent, depth, above })
  }
  for (const uid of source.children.filter((child) => !above.includes(child))) {
    const child = source.other(uid)
    if (!child) continue
    yield open()
    yield* trajectory(child, { id: uid, agent: null, depth, above })
  }
  if (count > 0) yield ']'
}

const sidechainId = (source: ExportSource, agent: string): string =>
  `${source.session.session_uid}/${agent || 'sub-agent'}`

function* stepsOf(source: ExportSource, agent: string | null): Generator<Step> {
  const steps = new StepBuilder(agent === null ? source.responses() : [])
  if (agent === null)
    for (const { agent: name, anchorSeq } of source.sidechains())
      steps.anchor(anchorSeq, {
        trajectory_id: sidechainId(source, name),
        session_id: source.session.session_uid,
      })
  let isEmpty = true
  for (const step of [lostSteps(source, agent)].flat()) {
    isEmpty = false
    yield step
  }
  for (const one of source.events(agent)) {
    for (const step of steps.add(one)) {
      isEmpty = false
      yield step
    }
  }
  for (const step of steps.end()) {
    isEmpty = false
    yield step
  }
  // A trajectory has one step at least.
  if (isEmpty) yield { source: 'system', message: 'no events', extra: {} }
}

/** What the digest keeps of a part that was evicted. */
function lostSteps(source: ExportSource, agent: string | null): Step[] {
  const digest = agent === null && source.loss !== undefined ? source.digest : undefined
  if (!digest) return []
  const extra = { from: 'digest' }
  const steps: Step[] = []
  if (digest.first_prompt) steps.push({ source: 'user', message: digest.first_prompt, extra })
  if (digest.last_assistant) steps.push({ source: 'agent', message: digest.last_assistant, extra })
  return steps
}

const MAX_NOTES = 200

/** Gathers events into steps, and gives each one out when it is complete. */
class StepBuilder {
  readonly #responses: Response[]
  readonly #anchors = new Map<number, { trajectory_id: string; session_id: string }[]>()
  #open: Step | undefined
  /** Notes that came while calls were under way. */
  #notes: Step[] = []
  #lastAt: number | null = null

  constructor(responses: Response[]) {
    this.#responses = responses
  }

  anchor(seq: number | null, ref: { trajectory_id: string; session_id: string }): void {
    if (seq !== null) this.#anchors.set(seq, [...(this.#anchors.get(seq) ?? []), ref])
  }

  add(one: ExportEvent): Step[] {
    const { event } = one
    if (event.role === 'tool') return this.#addResult(one)
    const isAgents = isCall(event) || (event.role === 'assistant' && event.kind !== 'error')
    if (!isAgents) return this.#addPlain(plainStep(one))
    // What came back belongs to the response before: the next words are of the next one.
    const done = this.#open?.observation || this.#open?.is_copied_context !== copied(one) ? this.end() : []
    this.#open ??= agentStep(one)
    this.#lastAt = event.ts === null ? this.#lastAt : Date.parse(event.ts)
    this.#fill(this.#open, one)
    return done
  }

  end(): Step[] {
    const step = this.#open
    if (!step) return []
    this.#open = undefined
    const notes = this.#notes
    this.#notes = []
    const own = this.#take()
    if (own.length > 0) {
      const model = own.find((one) => one.model !== null)?.model
      if (model) step.model_name = model
      step.metrics = metricsOf(own)
      step.llm_call_count = own.length
    }
    return [step, ...notes]
  }

  /** A note does not part a call from its result; somebody's words do. */
  #addPlain(step: Step): Step[] {
    const open = this.#open
    const isWaiting = (open?.tool_calls?.length ?? 0) > (open?.observation?.results.length ?? 0)
    if (step.source === 'user' || !isWaiting || this.#notes.length >= MAX_NOTES) return [...this.end(), step]
    this.#notes.push(step)
    return []
  }

  #fill(step: Step, one: ExportEvent): void {
    const { event, call } = one
    ;(step.extra['seqs'] as number[]).push(event.seq)
    if (isCall(event)) {
      step.tool_calls ??= []
      const id = callId(call, event.seq)
      // Some programs give one id to several calls.
      const isTaken = step.tool_calls.some((known) => known.tool_call_id === id)
      const body = one.body()
      step.tool_calls.push({
        tool_call_id: isTaken ? `${id}_${event.seq}` : id,
        function_name: event.tool ?? event.kind,
        arguments: argumentsOf(body),
        // Without it, a call whose body is gone would look like one without arguments.
        extra: {
          seq: event.seq,
          kind: event.kind,
          ...(body === undefined ? { summary: event.summary } : {}),
        },
      })
      return
    }
    const text = wordsOf(event, one.body())
    if (event.kind === 'thinking')
      step.reasoning_content =
        step.reasoning_content === undefined ? text : `${step.reasoning_content}\n\n${text}`
    else step.message = step.message === '' ? text : `${step.message}\n\n${text}`
  }

  #addResult(one: ExportEvent): Step[] {
    const { event, call } = one
    const asked = call === null ? undefined : this.#askedBy(callId(call, 0))
    const refs = asked ? this.#anchors.get(asked.extra['seq'] as number) : undefined
    const result: Result = {
      ...(asked ? { source_call_id: asked.tool_call_id } : {}),
      content: wordsOf(event, one.body()),
      ...(refs ? { subagent_trajectory_ref: refs } : {}),
      extra: { seq: event.seq, kind: event.kind, exit_code: event.exit_code, duration_ms: event.duration_ms },
    }
    if (asked && this.#open) {
      this.#open.observation ??= { results: [] }
      this.#open.observation.results.push(result)
      return []
    }
    // It came after the conversation had gone on.
    if (call !== null) result.extra['tool_call_id'] = callId(call, 0)
    return [
      ...this.end(),
      { ...plainStep(one), source: 'system', message: '', observation: { results: [result] } },
    ]
  }

  /** The call of this id in the open step; of several, the first that has no result yet. */
  #askedBy(id: string): ToolCall | undefined {
    const { tool_calls: calls = [], observation } = this.#open ?? {}
    const same = calls.filter((call) => call.tool_call_id === id || call.tool_call_id.startsWith(`${id}_`))
    if (same.length < 2) return same[0]
    const answered = new Set(observation?.results.map((result) => result.source_call_id))
    return same.find((call) => !answered.has(call.tool_call_id)) ?? same[0]
  }

  /** The responses up to the last event of the open step. */
  #take(): Response[] {
    const lastAt = this.#lastAt
    const count = this.#responses.findIndex((one) => lastAt === null || (one.ts ?? 0) > lastAt)
    return this.#responses.splice(0, count === -1 ? this.#responses.length : count)
  }
}

/** As an object, which the format asks for; of a call by a bare text, under `input`. */
const argumentsOf = ({ input }: Told = {}): Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input)
    ? (input as Record<string, unknown>)
    : input === undefined
      ? {}
      : { input }

const callId = (call: string | null, seq: number): string => (call === null ? `seq_${seq}` : `call_${call}`)
const copied = ({ event }: ExportEvent): true | undefined => (event.is_inherited ? true : undefined)
const stamp = ({ event }: ExportEvent): { timestamp?: string } =>
  event.ts === null ? {} : { timestamp: event.ts }

const agentStep = (one: ExportEvent): Step => ({
  source: 'agent',
  ...stamp(one),
  message: '',
  ...(one.event.is_inherited ? { is_copied_context: true } : {}),
  extra: { seqs: [] },
})

const PEOPLE = new Set(['user_msg', 'human_intervention', 'decision'])

function plainStep(one: ExportEvent): Step {
  const { event } = one
  const isNote = event.kind === 'lifecycle' || event.kind === 'completion'
  return {
    source: event.role === 'user' && PEOPLE.has(event.kind) ? 'user' : 'system',
    ...stamp(one),
    message: isNote ? event.summary : wordsOf(event, one.body()),
    ...(event.is_inherited ? { is_copied_context: true } : {}),
    extra: { seqs: [event.seq], kind: event.kind, ...(event.is_superseded ? { is_superseded: true } : {}) },
  }
}

/** Prompt tokens with all that was cached, as the format counts them. */
function metricsOf(responses: readonly Response[]): Record<string, unknown> {
  const sum = (count: (one: Response) => number): number =>
    responses.reduce((all, one) => all + count(one), 0)
  const written = (one: Response): number => one.cacheWrite5m + one.cacheWrite1h
  return {
    prompt_tokens: sum((one) => one.input + one.cacheRead + written(one)),
    completion_tokens: sum((one) => one.output),
    cached_tokens: sum((one) => one.cacheRead),
    extra: { cache_creation_tokens: sum(written), reasoning_tokens: sum((one) => one.reasoning) },
  }
}

function totals(responses: readonly Response[]): Record<string, unknown> {
  const { prompt_tokens, completion_tokens, cached_tokens, extra } = metricsOf(responses)
  return {
    total_prompt_tokens: prompt_tokens,
    total_completion_tokens: completion_tokens,
    total_cached_tokens: cached_tokens,
    extra,
  }
}
