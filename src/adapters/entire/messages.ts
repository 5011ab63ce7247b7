// Records of `lines` and `document` transcripts → items: Recollect's own lines, and those of agents without an adapter.
import type { EventItem, Item, SessionItem, UsageItem } from '../adapter.ts'
import { beside } from '../beside.ts'
import { type CallBook, newCallBook } from '../calls.ts'
import { tokensOf } from '../claude/usage.ts'
import { isRecord, num, str, time } from '../guards.ts'
import { firstLine, hashOf } from '../text.ts'
import { callParts, resultParts } from '../tools.ts'
import type { Part } from './parts.ts'
import { type Message, messageOf, type Speaker } from './shapes.ts'

/** Carry-over between records; plain, bounded JSON. */
export interface State {
  session: string
  agent: string
  calls: CallBook
  /** [id of a record, index of its last event], only for records that gave more than one. */
  wide: [string, number][]
  /** [name, times seen] of the latest records without an id. */
  seen: [string, number][]
  /** Name of the latest record that had neither id nor time. */
  chain: string
  cwd?: string
  model?: string
  version?: string
  isBegun?: boolean
  /** Of responses that name none. */
  toldModel?: string | undefined
  /** [short id of the response that the latest records are of, name of the first of them]. */
  response?: [string, string] | undefined
}

export const newState = (session: string, agent: string): State => ({
  session,
  agent,
  calls: newCallBook(),
  wide: [],
  seen: [],
  chain: '',
})

const LIMIT = 64

function remember<Entry>(entries: Entry[], entry: Entry): void {
  entries.push(entry)
  if (entries.length > LIMIT) entries.shift()
}

export function* recordItems(state: State, record: Record<string, unknown>): Generator<Item> {
  const ts = timeOf(record)
  const name = nameOf(state, record, ts)
  const message = messageOf(record)
  if (givenId(record, message) !== state.response?.[0]) state.response = undefined
  const facts = newFacts(state, record, message, ts)
  if (facts) yield facts
  const drafts = message ? messageDrafts(state, message, name, ts) : [plainDraft(record, 'system')]
  yield* place(state, record, { name, ts, drafts, model: message && modelOf(state, message) })
  if (!message) yield { type: 'unknown', name: `${state.agent} transcript` }
  for (const part of message?.parts ?? [])
    if (part.is === 'other' && !part.isKnown) yield { type: 'unknown', name: part.name }
  const usage = message && usageOf(state, message, record, name, ts)
  if (usage) yield { ...usage, event: `${name}#0` }
}

function timeOf(record: Record<string, unknown>): number | null {
  const { info, message } = record
  const created = isRecord(info) && isRecord(info['time']) ? info['time']['created'] : undefined
  return time(
    record['timestamp'] ?? created ?? record['ts'] ?? (isRecord(message) ? message['timestamp'] : undefined),
  )
}

/** The record's id; else its content with its time; else its content in its place, so that no repetition is lost. */
function nameOf(state: State, record: Record<string, unknown>, ts: number | null): string {
  const info = isRecord(record['info']) ? record['info'] : {}
  const id = str(record['uuid']) || str(record['id']) || str(info['id'])
  if (id) return id
  if (ts === null) {
    state.chain = hashOf([state.chain, record])
    return state.chain
  }
  const name = hashOf(record)
  const known = state.seen.find((entry) => entry[0] === name)
  if (known) return `${name}:${++known[1]}`
  remember(state.seen, [name, 0])
  return name
}

type Draft = Omit<EventItem, 'type' | 'session' | 'key' | 'ts' | 'payload'> & {
  payload: Record<string, unknown>
}

function messageDrafts(state: State, message: Message, name: string, ts: number | null): Draft[] {
  const drafts = message.parts.map((part, index) => partDraft(state, message, part, `${name}#${index}`, ts))
  return drafts.length > 0
    ? drafts
    : [{ kind: 'lifecycle', role: message.speaker, summary: '(empty message)', payload: {} }]
}

const TEXT_KINDS = {
  user: 'user_msg',
  assistant: 'assistant_msg',
  system: 'lifecycle',
  tool: 'tool_result',
} as const

function partDraft(state: State, message: Message, part: Part, key: string, ts: number | null): Draft {
  const { speaker } = message
  const payload = part.raw
  switch (part.is) {
    case 'text': {
      const draft: Draft = {
        kind: TEXT_KINDS[speaker],
        role: speaker,
        summary: firstLine(part.text),
        payload,
      }
      // What a model is told about itself is the same in every session.
      return part.text === '' || speaker === 'system' ? draft : { ...draft, text: part.text }
    }
    case 'thinking': {
      const summary = firstLine(part.text) || '(thinking not shown)'
      const draft: Draft = {
        kind: 'thinking',
        role: 'assistant',
        summary,
        payload: withoutSignature(payload),
      }
      return part.text === '' ? draft : { ...draft, text: part.text }
    }
    case 'call':
      return {
        ...callParts(state.calls, { id: part.id ?? key, tool: part.tool, input: part.input, ts }),
        payload,
      }
    case 'result': {
      const { id = '', failed, text } = part
      const parts = resultParts(state.calls, { id, failed, text, ts })
      return { ...parts, ...(part.isRefused && { kind: 'human_intervention' }), payload }
    }
    case 'other':
      return {
        kind: message.isInterrupt ? 'human_intervention' : 'lifecycle',
        role: speaker,
        summary: message.isInterrupt ? part.name : `[${part.name.replace(/^block /, '')}]`,
        payload,
      }
  }
}

function withoutSignature({ signature, ...payload }: Record<string, unknown>): Record<string, unknown> {
  return typeof signature === 'string' ? { ...payload, signatureLength: signature.length } : payload
}

function plainDraft(record: Record<string, unknown>, role: Speaker): Draft {
  const summary = str(record['type']) ?? 'a record without a type'
  return { kind: 'lifecycle', role, summary, payload: bare(record) }
}

// Ids, links and places: all of it changes when a record is copied.
const PER_COPY = [
  'uuid',
  'id',
  'parentUuid',
  'parentId',
  'sessionId',
  'timestamp',
  'cwd',
  'version',
  'requestId',
]
const BODY = [
  'type',
  'role',
  'message',
  'content',
  'parts',
  'text',
  'data',
  'thoughts',
  'toolCalls',
  'tool_calls',
]

function bare(record: Record<string, unknown>, ...leftOut: string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => !PER_COPY.includes(name) && !leftOut.includes(name)),
  )
}

interface Placed {
  name: string
  ts: number | null
  drafts: Draft[]
  model: string | undefined
}

function* place(state: State, record: Record<string, unknown>, placed: Placed): Generator<EventItem> {
  const { name, ts, drafts, model } = placed
  let parentKey = parentOf(state, record)
  for (const [index, draft] of drafts.entries()) {
    const key = `${name}#${index}`
    const event: EventItem = { type: 'event', session: state.session, key, ts, ...draft }
    if (index === 0) event.payload = beside(draft.payload, facts(record))
    if (parentKey !== undefined) event.parentKey = parentKey
    if (model !== undefined) event.model = model
    yield event
    parentKey = key
  }
  if (drafts.length > 1) remember(state.wide, [name, drafts.length - 1])
}

/** The record's own fields, and the message's, go with the first event. */
function facts(record: Record<string, unknown>): Record<string, unknown> {
  const outer = bare(record, ...BODY, 'recollectSpill')
  const inner = isRecord(record['message']) ? bare(record['message'], ...BODY) : {}
  const filled: Record<string, unknown> = {}
  if (Object.keys(outer).length > 0) filled['record'] = outer
  if (Object.keys(inner).length > 0) filled['message'] = inner
  return filled
}

function parentOf(state: State, record: Record<string, unknown>): string | null | undefined {
  const parent = record['parentUuid'] ?? record['parentId']
  if (typeof parent === 'string' && parent !== '')
    return `${parent}#${state.wide.find((entry) => entry[0] === parent)?.[1] ?? 0}`
  return record['parentUuid'] === null || record['parentId'] === null ? null : undefined
}

function modelOf(state: State, { speaker, facts: { model, modelID } }: Message): string | undefined {
  return str(model) || str(modelID) || (speaker === 'assistant' ? state.toldModel : undefined)
}

/** Facts go out when they change, so that reading in steps says the same as reading at once. */
function newFacts(
  state: State,
  record: Record<string, unknown>,
  message: Message | undefined,
  ts: number | null,
): SessionItem | undefined {
  const item: SessionItem = { type: 'session', session: state.session }
  const data = isRecord(record['data']) ? record['data'] : {}
  const context = isRecord(data['context']) ? data['context'] : {}
  const cwd = str(record['cwd']) ?? str(context['cwd'])
  const gitBranch = str(context['branch'])
  const version = str(record['version']) ?? str(data['copilotVersion'])
  const model = message && modelOf(state, message)
  if (cwd && state.cwd === undefined) state.cwd = item.cwd = cwd
  if (gitBranch) item.gitBranch = gitBranch
  if (version && version !== state.version) state.version = item.agentVersion = version
  if (model && model !== state.model) state.model = item.model = model
  if (!state.isBegun && ts !== null) {
    item.startedAt = ts
    state.isBegun = true
  }
  return Object.keys(item).length > 2 ? item : undefined
}

const NO_TOKENS = { cacheRead: 0, cacheWrite5m: 0, cacheWrite1h: 0, reasoning: 0 }
/** A shorter id is no name in the world: some servers call every thousandth response `chatcmpl-7`. */
const SHORTEST_RESPONSE_ID = 16

function givenId(record: Record<string, unknown>, message: Message | undefined): string {
  if (message?.speaker !== 'assistant') return ''
  return str(message.facts['id']) || str(record['requestId']) || ''
}

/** A short id names one response only on lines that follow each other. */
function responseId(state: State, given: string, name: string): string {
  if (given.length >= SHORTEST_RESPONSE_ID) return given
  if (given !== '') state.response ??= [given, name]
  return `${state.session}:${state.response?.[1] ?? name}`
}

function usageOf(
  state: State,
  message: Message,
  record: Record<string, unknown>,
  name: string,
  ts: number | null,
): UsageItem | undefined {
  const { usage, tokens } = message.facts
  const place = {
    type: 'usage',
    session: state.session,
    ts,
    model: modelOf(state, message) ?? null,
    scope: 'response',
  } as const
  if (isRecord(usage) && num(usage['output_tokens']) !== undefined) {
    return { ...place, id: responseId(state, givenId(record, message), name), ...tokensOf(usage) }
  }
  if (!isRecord(tokens)) return undefined
  const count = (value: unknown): number => Math.max(0, Math.trunc(num(value) ?? 0))
  const { cache, input, output, cached, thoughts, reasoning } = tokens
  const id = `${state.agent}:${state.session}:${name}`
  // opencode's counts are disjoint; Gemini's input holds what was cached. Neither has reasoning in its output.
  const thought = count(thoughts) + count(reasoning)
  const [read, written] = isRecord(cache) ? [count(cache['read']), count(cache['write'])] : [count(cached), 0]
  return {
    ...place,
    ...NO_TOKENS,
    id,
    input: isRecord(cache) ? count(input) : Math.max(0, count(input) - read),
    cacheRead: read,
    cacheWrite5m: written,
    output: count(output) + thought,
    reasoning: thought,
  }
}
