// Puts a streamed message of the Anthropic Messages API back together: raw bytes or parsed events in, the message out.
// It never throws on what the stream holds: what it cannot place is kept or counted, and a stream that was cut gives
// what had arrived, marked. Opening the connection and retrying are the caller's business.

import { wordsOf } from '../errors.ts'
import { SseDecoder, type SseEvent } from './sse.ts'

/** One block of a message: text, tool_use, thinking, or a type newer than this code. */
export interface ContentBlock {
  type: string
  [key: string]: unknown
}

/** Token counts as the API names them; fields it adds are kept. */
export type MessageUsage = Record<string, unknown>

export interface StreamError {
  type: string
  message: string
  /** What the source threw, when it was not the API that reported the error. */
  cause?: unknown
}

export interface AccumulatedMessage {
  id: string | null
  model: string | null
  content: ContentBlock[]
  stopReason: string | null
  stopSequence: string | null
  /** Null when nothing told any. Of an incomplete message, output_tokens is only a placeholder. */
  usage: MessageUsage | null
  /** True when message_start and message_stop arrived and no error did. */
  complete: boolean
  error?: StreamError
  /** Positions in `content` of blocks that were never finished. */
  unfinished: number[]
  /** Deltas that fit no block, or are of an unknown type: kept as they came. */
  unplaced: { index: unknown; delta: unknown }[]
  /** How often something was left out, by the event's type (or `not-json`, `not-object`, `no-type`, `[DONE]`). */
  ignored: Record<string, number>
  /** The message's further fields, such as `container` or `stop_details`. */
  other: Record<string, unknown>
}

export type StreamChunk = Uint8Array | string | object

interface OpenBlock {
  index: number
  block: ContentBlock
  json: string[] | undefined
  stopped: boolean
}

/** Accumulates all of a stream. Resolves also when the stream breaks off: see `complete` and `error`. */
export async function accumulateMessage(
  stream: AsyncIterable<StreamChunk> | Iterable<StreamChunk> | Uint8Array | string,
): Promise<AccumulatedMessage> {
  const accumulator = new MessageAccumulator()
  // Both are iterable themselves, but by character and by byte.
  const chunks = typeof stream === 'string' || isBytes(stream) ? [stream] : stream
  try {
    for await (const chunk of chunks) accumulator.push(chunk)
    accumulator.end()
  } catch (cause) {
    accumulator.end(cause)
  }
  return accumulator.result()
}

/** The incremental form: push while the stream runs, ask for the result at any time. */
export class MessageAccumulator {
  readonly #sse = new SseDecoder()
  readonly #blocks: OpenBlock[] = []
  readonly #byIndex = new Map<unknown, OpenBlock>()
  readonly #unplaced: AccumulatedMessage['unplaced'] = []
  readonly #ignored = new Map<string, number>()
  #hasStarted = false
  #message: Record<string, unknown> = {}
  #usage: MessageUsage | null = null
  #complete = false
  #error: StreamError | undefined

  /** Takes raw SSE (bytes or text, cut anywhere) or one parsed event. */
  push(chunk: StreamChunk): void {
    if (typeof chunk === 'string' || isBytes(chunk)) {
      for (const event of this.#sse.push(chunk)) this.#takeSse(event)
    } else this.#take(chunk)
  }

  /** Says that no more will come, and why if the source failed. */
  end(cause?: unknown): void {
    for (const event of this.#sse.end()) this.#takeSse(event)
    if (cause === undefined || this.#error) return
    this.#error = {
      type: 'source_failed',
      message: wordsOf(cause),
      cause,
    }
    this.#complete = false
  }

  /** The message as far as it has arrived. */
  result(): AccumulatedMessage {
    // Stable: of two blocks that claim one index, the earlier stays first.
    const blocks = this.#blocks.toSorted((a, b) => a.index - b.index)
    const { id, model, stop_reason, stop_sequence, content, usage, ...other } = this.#message
    const result: AccumulatedMessage = {
      id: textOrNull(id),
      model: textOrNull(model),
      content: blocks.map(finishedBlock),
      stopReason: textOrNull(stop_reason),
      stopSequence: textOrNull(stop_sequence),
      usage: this.#usage && { ...this.#usage },
      complete: this.#complete,
      unfinished: blocks.flatMap((open, position) => (open.stopped ? [] : [position])),
      unplaced: [...this.#unplaced],
      ignored: Object.fromEntries(this.#ignored),
      other,
    }
    if (this.#error) result.error = this.#error
    return result
  }

  #takeSse(event: SseEvent): void {
    const parsed = parseJson(event.data)
    if (parsed !== undefined) {
      // The type within the data decides; the name only stands in for it.
      if (isObject(parsed) && parsed['type'] === undefined && event.name) parsed['type'] = event.name
      this.#take(parsed)
    } else if (event.name === 'error') this.#fail({ type: 'error', message: event.data })
    else this.#ignore(event.data === '[DONE]' ? '[DONE]' : 'not-json')
  }

  #take(event: unknown): void {
    const type = isObject(event) ? (textOrNull(event['type']) ?? 'no-type') : 'not-object'
    if (type === 'ping') return
    // One stream is one message. After its end nothing may change it.
    if (!isObject(event) || this.#complete || this.#error) this.#ignore(type)
    else if (type === 'message_start') this.#start(event)
    else if (type === 'content_block_start') this.#startBlock(event)
    else if (type === 'content_block_delta') this.#applyDelta(event)
    else if (type === 'content_block_stop') this.#stopBlock(event)
    else if (type === 'message_delta') this.#applyMessageDelta(event)
    else if (type === 'message_stop') this.#complete = this.#hasStarted
    else if (type === 'error') this.#fail(isObject(event['error']) ? event['error'] : event)
    else this.#ignore(type)
  }

  #start(event: Record<string, unknown>): void {
    if (this.#hasStarted) {
      // Mixing two messages would falsify both: the first is kept as it stands, as after an error.
      this.#fail({ type: 'second_message_start', message: 'a message began before message_stop' })
      return
    }
    this.#hasStarted = true
    const message = isObject(event['message']) ? event['message'] : {}
    // What came before it is the later word all the same: counters are totals.
    this.#message = { ...message, ...this.#message }
    if (isObject(message['usage'])) this.#usage = { ...message['usage'], ...this.#usage }
    for (const [index, block] of (Array.isArray(message['content']) ? message['content'] : []).entries()) {
      if (isObject(block)) this.#addBlock(index, block).stopped = true
    }
  }

  #startBlock(event: Record<string, unknown>): void {
    const { index, content_block: block } = event
    if (typeof index !== 'number' || !isObject(block)) {
      this.#ignore('content_block_start')
      return
    }
    this.#addBlock(index, block)
    const to = block['to']
    // The last fallback block names the model that really answered.
    if (block['type'] === 'fallback' && isObject(to) && typeof to['model'] === 'string') {
      this.#message = { ...this.#message, model: to['model'] }
    }
  }

  #addBlock(index: number, block: Record<string, unknown>): OpenBlock {
    const open: OpenBlock = {
      index,
      block: { ...block, type: textOrNull(block['type']) ?? 'unknown' },
      json: undefined,
      stopped: false,
    }
    this.#blocks.push(open)
    this.#byIndex.set(index, open)
    return open
  }

  #applyDelta(event: Record<string, unknown>): void {
    const open = this.#byIndex.get(event['index'])
    const delta = event['delta']
    if (open && !open.stopped && isObject(delta) && applyBlockDelta(open, delta)) return
    this.#unplaced.push({ index: event['index'], delta })
  }

  #stopBlock(event: Record<string, unknown>): void {
    const open = this.#byIndex.get(event['index'])
    if (!open || open.stopped) {
      this.#ignore('content_block_stop')
      return
    }
    open.block = finishedBlock(open)
    open.json = undefined
    open.stopped = true
  }

  #applyMessageDelta(event: Record<string, unknown>): void {
    const { type: _, delta, usage, ...others } = event
    this.#message = { ...this.#message, ...withoutNulls(others), ...withoutNulls(delta) }
    // Counters are totals of the whole message, left out when they do not apply: overwritten, never added.
    if (isObject(usage)) this.#usage = { ...this.#usage, ...withoutNulls(usage) }
  }

  #fail(error: Record<string, unknown>): void {
    const type = textOrNull(error['type']) ?? 'error'
    this.#error = { ...error, type, message: textOrNull(error['message']) ?? '' }
  }

  #ignore(what: string): void {
    this.#ignored.set(what, (this.#ignored.get(what) ?? 0) + 1)
  }
}

/** False when the delta does not belong to such a block. */
function applyBlockDelta(open: OpenBlock, delta: Record<string, unknown>): boolean {
  const { block } = open
  switch (`${block.type} ${textOrNull(delta['type'])}`) {
    case 'text text_delta':
      return extend(block, 'text', delta['text'])
    case 'thinking thinking_delta':
      return extend(block, 'thinking', delta['thinking'])
    case 'thinking signature_delta':
      block['signature'] = delta['signature']
      return true
    case 'text citations_delta':
      block['citations'] = [
        ...(Array.isArray(block['citations']) ? block['citations'] : []),
        delta['citation'],
      ]
      return true
    case 'compaction compaction_delta': {
      // The delta holds the block's final value.
      const { type: _, ...final } = delta
      open.block = { ...block, ...final }
      return true
    }
  }
  const json = delta['partial_json']
  if (delta['type'] !== 'input_json_delta' || typeof json !== 'string') return false
  if (!('input' in block) && !block.type.endsWith('tool_use')) return false
  open.json ??= []
  open.json.push(json)
  return true
}

function extend(block: ContentBlock, key: string, more: unknown): boolean {
  if (typeof more !== 'string') return false
  block[key] = (textOrNull(block[key]) ?? '') + more
  return true
}

/**
 * The block with its input parsed. Input that is not whole stays readable as `partial_json` beside an empty `input`:
 * no guess at what the rest would have been.
 */
function finishedBlock({ block, json }: OpenBlock): ContentBlock {
  if (json === undefined) return { ...block }
  const text = json.join('')
  if (text === '') return { ...block, input: block['input'] ?? {} }
  const input = parseJson(text)
  return input === undefined ? { ...block, input: {}, partial_json: text } : { ...block, input }
}

/** Also of another realm (a test runner's, say), where `instanceof` says no. */
function isBytes(chunk: unknown): chunk is Uint8Array {
  return ArrayBuffer.isView(chunk) && Object.prototype.toString.call(chunk) === '[object Uint8Array]'
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function withoutNulls(value: unknown): Record<string, unknown> {
  if (!isObject(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field != null))
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
