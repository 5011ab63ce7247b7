// OpenTelemetry spans by the conventions for generative AI, as OTLP/JSON: `invoke_agent` for a session and for each of its
// sub-agents, below it `chat` for each response of a model and `execute_tool` for each call. Ids are hashes of ours, so
// the same session always gives the same spans. What was said is sent only where that is asked for.
import { createHash } from 'node:crypto'
import { providerOf } from '../adapters/flavors.ts'
import { searchedIn } from '../event/words.ts'
import { isCall } from '../model.ts'
import { type ExportEvent, type ExportSource, MAX_DEPTH, type Response, sidechainOf } from './source.ts'
import { toJson } from './text.ts'

type Attribute = {
  key: string
  value: { stringValue: string } | { intValue: string } | { doubleValue: number }
}

export interface OtlpOptions {
  /** Epoch milliseconds: without the spans that ended until then, of a session that was sent before. */
  after?: number
  /** What a session cost in USD; null where it is not known. */
  cost?: (uid: string) => number | null
  /** With prompts, answers, and what calls were given and gave. */
  withText?: boolean
}

interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  status: { code: number; message?: string }
}

const KIND = { internal: 1, client: 3 } as const
const STATUS = { unset: 0, error: 2 } as const
/** Spans of one request: well below what collectors take by default (4 MB). */
const SPANS_PER_REQUEST = 500

const AGENT_SPAN = 'invoke_agent '

/** One request per line, as collectors read them from files and over HTTP. */
export function* toOtlp(source: ExportSource, options: OtlpOptions = {}): Generator<string> {
  let spans: Span[] = []
  const after = BigInt(nanos(options.after ?? 0))
  for (const span of sessionSpans(source, idOf(source.session.session_uid, 16), undefined, [], options)) {
    // An agent's span ends with the last of what it did: it is told anew.
    if (BigInt(span.endTimeUnixNano) <= after && after > 0n && !span.name.startsWith(AGENT_SPAN)) continue
    spans.push(span)
    if (spans.length < SPANS_PER_REQUEST) continue
    yield request(source, spans)
    spans = []
  }
  if (spans.length > 0) yield request(source, spans)
}

function request(source: ExportSource, spans: readonly Span[]): string {
  const { session, agentVersion } = source
  const attributes = attributesOf({ 'service.name': session.flavor, 'service.version': agentVersion })
  const scopeSpans = [{ scope: { name: 'recollect' }, spans }]
  return `${toJson({ resourceSpans: [{ resource: { attributes }, scopeSpans }] })}\n`
}

/** Never all zeros, which would be no id. */
const idOf = (text: string, bytes: number): string =>
  createHash('sha256')
    .update(text)
    .digest('hex')
    .slice(0, bytes * 2)

function attributesOf(values: Record<string, string | number | null>): Attribute[] {
  return Object.entries(values).flatMap(([key, value]): Attribute[] => {
    if (value === null) return []
    if (typeof value === 'string') return [{ key, value: { stringValue: value } }]
    return [{ key, value: Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value } }]
  })
}

/** Not `0000000`: readers of numbers in JSON take no zero in front. */
const nanos = (ms: number): string => (ms < 1 ? '0' : `${Math.trunc(ms)}000000`)

function* sessionSpans(
  source: ExportSource,
  traceId: string,
  parentSpanId: string | undefined,
  above: readonly string[],
  options: OtlpOptions,
): Generator<Span> {
  const { session } = source
  const uid = session.session_uid
  const spans = new SpanBuilder(source, traceId, options)
  // What a fork brought along is told where it was done.
  for (const one of source.events()) if (!one.event.is_inherited) yield* spans.add(one)
  yield* spans.rest()
  yield spans.agent(null, parentSpanId)
  for (const { agent } of source.sidechains()) yield spans.agent(agent, spans.idOf(null))
  if (above.length >= MAX_DEPTH) return
  const line = [...above, uid]
  for (const childUid of source.children.filter((one) => !line.includes(one))) {
    const child = source.other(childUid)
    if (child) yield* sessionSpans(child, traceId, spans.idOf(null), line, options)
  }
}

interface Times {
  from: number
  to: number
}

class SpanBuilder {
  readonly #source: ExportSource
  readonly #traceId: string
  readonly #options: OtlpOptions
  readonly #responses: Response[]
  readonly #waiting = new Map<string, ExportEvent>()
  #lastAt: number | null = null
  /** When the main chain (null) and each sub-agent began and ended. */
  readonly #times = new Map<string | null, Times>()

  constructor(source: ExportSource, traceId: string, options: OtlpOptions) {
    this.#source = source
    this.#options = options
    this.#traceId = traceId
    this.#responses = source.responses()
    const { started_at, ended_at } = source.session
    const from = started_at === null ? 0 : Date.parse(started_at)
    this.#times.set(null, { from, to: ended_at === null ? from : Date.parse(ended_at) })
  }

  idOf(agent: string | null): string {
    return idOf(`${this.#source.session.session_uid}${agent === null ? '' : `/${agent}`}`, 8)
  }

  /** A call waits for its result. */
  *add(one: ExportEvent): Generator<Span> {
    const { event, call } = one
    const agent = sidechainOf(event)
    if (event.ts !== null) {
      const at = Date.parse(event.ts)
      yield* this.#chats(at)
      this.#lastAt = at
      const times = this.#times.get(agent) ?? { from: at, to: at }
      this.#times.set(agent, { from: Math.min(times.from, at), to: Math.max(times.to, at) })
    }
    if (isCall(event) && call !== null) {
      // Some programs give one id to several calls: the one before it gets no result, and is told all the same.
      const before = this.#waiting.get(call)
      if (before) yield this.#tool(before, undefined)
      this.#waiting.set(call, one)
    } else if (isCall(event)) yield this.#tool(one, undefined)
    else if (event.role === 'tool' && call !== null) {
      const asked = this.#waiting.get(call)
      this.#waiting.delete(call)
      if (asked) yield this.#tool(asked, one)
    }
  }

  /** Responses after the last event, and calls that never came back. */
  *rest(): Generator<Span> {
    yield* this.#chats(Number.POSITIVE_INFINITY)
    for (const one of this.#waiting.values()) yield this.#tool(one, undefined)
  }

  agent(agent: string | null, parentSpanId: string | undefined): Span {
    const { session } = this.#source
    const times = this.#times.get(agent) ?? (this.#times.get(null) as Times)
    const name = agent || session.flavor
    return {
      ...this.#span(this.idOf(agent), parentSpanId, `${AGENT_SPAN}${name}`, KIND.internal, times),
      attributes: attributesOf({
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.provider.name': providerOf(session.flavor) ?? session.flavor,
        'gen_ai.agent.name': name,
        'gen_ai.agent.version': this.#source.agentVersion,
        'gen_ai.conversation.id': session.native_session_id,
        'gen_ai.request.model': session.model,
        'recollect.session_uid': session.session_uid,
        'recollect.outcome': agent === null ? session.outcome : null,
        'recollect.repo': session.repo,
        'recollect.loss': agent === null ? (this.#source.loss ?? null) : null,
        'recollect.cost_usd': agent === null ? (this.#options.cost?.(session.session_uid) ?? null) : null,
        ...(agent === null ? { ...this.#sums(), ...this.#talk() } : {}),
      }),
      status: { code: session.outcome === 'fail' && agent === null ? STATUS.error : STATUS.unset },
    }
  }

  /** The model's responses up to a time; each lasts since the event before it. */
  *#chats(until: number): Generator<Span> {
    for (let one = this.#responses[0]; one && (one.ts ?? 0) <= until; one = this.#responses[0]) {
      this.#responses.shift()
      const at = one.ts ?? (this.#times.get(null) as Times).from
      yield this.#chat(one, { from: Math.min(this.#lastAt ?? at, at), to: at })
    }
  }

  #chat(one: Response, times: Times): Span {
    const { session } = this.#source
    const id = idOf(`${session.session_uid}!${one.id}`, 8)
    return {
      ...this.#span(id, this.idOf(null), `chat ${one.model ?? ''}`.trim(), KIND.client, times),
      attributes: attributesOf({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': providerOf(session.flavor) ?? session.flavor,
        'gen_ai.conversation.id': session.native_session_id,
        'gen_ai.request.model': one.model,
        'gen_ai.response.model': one.model,
        'gen_ai.response.id': one.id,
        ...tokenAttributes([one]),
      }),
      status: { code: STATUS.unset },
    }
  }

  /** What was asked first and answered last. */
  #talk(): Record<string, string> {
    const { digest } = this.#source
    if (!this.#options.withText || !digest) return {}
    return {
      'gen_ai.input.messages': messages('user', digest.first_prompt),
      'gen_ai.output.messages': messages('assistant', digest.last_assistant),
    }
  }

  #sums(): Record<string, number> {
    return tokenAttributes(this.#source.responses())
  }

  #tool(asked: ExportEvent, result: ExportEvent | undefined): Span {
    const { event, call } = asked
    const { session } = this.#source
    const from = event.ts === null ? (this.#times.get(null) as Times).from : Date.parse(event.ts)
    const answeredAt = result?.event.ts
      ? Date.parse(result.event.ts)
      : from + (result?.event.duration_ms ?? 0)
    const hasFailed = result?.event.kind === 'error'
    const name = event.tool ?? event.kind
    return {
      ...this.#span(
        idOf(`${session.session_uid}#${event.seq}`, 8),
        this.idOf(sidechainOf(event)),
        `execute_tool ${name}`,
        KIND.internal,
        { from, to: Math.max(from, answeredAt) },
      ),
      attributes: attributesOf({
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
        'gen_ai.tool.call.id': call === null ? null : `call_${call}`,
        'gen_ai.tool.type': 'function',
        'gen_ai.conversation.id': session.native_session_id,
        'error.type': hasFailed ? 'tool_error' : null,
        'process.exit.code': result?.event.exit_code ?? null,
        'gen_ai.tool.call.arguments': this.#text(asked),
        'gen_ai.tool.call.result': result ? this.#text(result) : null,
        'recollect.seq': event.seq,
        'recollect.kind': event.kind,
      }),
      status: { code: hasFailed ? STATUS.error : STATUS.unset },
    }
  }

  #text(one: ExportEvent): string | null {
    const body = this.#options.withText ? one.body() : undefined
    return body ? searchedIn(body).slice(0, MAX_TEXT).toWellFormed() : null
  }

  #span(
    spanId: string,
    parentSpanId: string | undefined,
    name: string,
    kind: number,
    { from, to }: Times,
  ): Omit<Span, 'attributes' | 'status'> {
    return {
      traceId: this.#traceId,
      spanId,
      ...(parentSpanId === undefined ? {} : { parentSpanId }),
      name,
      kind,
      startTimeUnixNano: nanos(from),
      endTimeUnixNano: nanos(to),
    }
  }
}

const MAX_TEXT = 4000

/** As the conventions have it: a list of messages with their parts. */
const messages = (role: string, content: string): string =>
  toJson([{ role, parts: [{ type: 'text', content: content.slice(0, MAX_TEXT).toWellFormed() }] }])

/** Input with all that was cached, as the conventions count it. */
function tokenAttributes(responses: readonly Response[]): Record<string, number> {
  const sum = (count: (one: Response) => number): number =>
    responses.reduce((all, one) => all + count(one), 0)
  const written = (one: Response): number => one.cacheWrite5m + one.cacheWrite1h
  return {
    'gen_ai.usage.input_tokens': sum((one) => one.input + one.cacheRead + written(one)),
    'gen_ai.usage.output_tokens': sum((one) => one.output),
    'gen_ai.usage.cache_read.input_tokens': sum((one) => one.cacheRead),
    'gen_ai.usage.cache_creation.input_tokens': sum(written),
    'gen_ai.usage.reasoning.output_tokens': sum((one) => one.reasoning),
  }
}
