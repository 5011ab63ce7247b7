// One entry → what was said, the calls, the results and the tokens of that turn, in this order.
import { basename } from 'node:path'
import type { EventItem, Item, Position, Source, UsageItem } from '../adapter.ts'
import { beside } from '../kit/beside.ts'
import { type CallBook, newCallBook } from '../kit/calls.ts'
import { isRecord, list, num, str, time } from '../kit/guards.ts'
import { type Line, OWN_LIMITS, readLines } from '../kit/lines.ts'
import { firstLine, leaves } from '../kit/text.ts'
import { callDraft, resultDraft } from '../kit/tools.ts'
import { sessionOf } from './paths.ts'

interface State {
  calls: CallBook
  model: string | null
  isBegun: boolean
  /** [name of a turn, times seen]: an id that comes again means another turn. Bounded: see `nameOf`. */
  names: [string, number][]
}

const MAX_NAMES = 64

export function read(source: Source, from: Position | null): Generator<Item> {
  const session = sessionOf(source.path) ?? basename(source.path, '.jsonl')
  const fresh = (): State => ({ calls: newCallBook(), model: null, isBegun: false, names: [] })
  return readLines(source.path, from, fresh, (state, line) => entryItems(session, state, line), {
    limits: OWN_LIMITS,
  })
}

function* entryItems(session: string, state: State, line: Line): Generator<Item> {
  const { record } = line
  const role = str(record['role'])
  const turnId = str(record['turnId'])
  if (turnId === undefined && role === undefined) {
    yield { type: 'gap', reason: 'schema', detail: 'no turn', offset: line.offset, length: line.length }
    return
  }
  const ts = time(record['ts'])
  const name = nameOf(state, `${turnId ?? ''}/${role ?? ''}@${ts ?? ''}`)
  const metadata = isRecord(record['metadata']) ? record['metadata'] : {}
  const model = str(metadata['model'])
  if (!state.isBegun || (model !== undefined && model !== state.model)) {
    yield {
      type: 'session',
      session,
      ...(model && { model }),
      ...(!state.isBegun && ts !== null && { startedAt: ts }),
    }
    state.isBegun = true
    state.model = model ?? state.model
  }
  const place = { type: 'event', session, ts, ...(model && { model }) } as const
  const said = saidEvent(record, role)
  if (said) yield { ...place, key: name, ...said }
  if (said?.kind === 'lifecycle' && role !== 'system')
    yield { type: 'unknown', name: `role ${role ?? 'missing'}` }
  // Facts of the turn go with its first event.
  let facts = said || record['metadata'] === undefined ? {} : { metadata: record['metadata'] }
  for (const [index, call] of list(record['toolCalls']).entries()) {
    const key = `${name}/call${index}`
    const { payload, ...parts } = callEvent(state, call, key, ts)
    yield { ...place, key, ...parts, payload: beside(payload, facts) }
    facts = {}
  }
  for (const [index, result] of list(record['toolResults']).entries()) {
    const { payload, ...parts } = resultEvent(state, result, ts)
    yield { ...place, key: `${name}/result${index}`, ...parts, payload: beside(payload, facts) }
    facts = {}
  }
  const part = list(record['toolCalls']).length > 0 ? 'call0' : 'result0'
  const event = said ? name : `${name}/${part}`
  yield* usageItems(session, name, record, { model: model ?? null, ts, event })
}

/** The time is part of a name, so two turns of one id and role differ unless they were written in the same millisecond: those are counted. */
function nameOf(state: State, name: string): string {
  const known = state.names.find((entry) => entry[0] === name)
  if (known) return `${name}#${++known[1]}`
  state.names.push([name, 0])
  if (state.names.length > MAX_NAMES) state.names.shift()
  return name
}

type Parts = Omit<EventItem, 'type' | 'session' | 'key' | 'ts' | 'payload'> & {
  payload: Record<string, unknown>
}

const SAID = {
  user: ['user_msg', 'user'],
  assistant: ['assistant_msg', 'assistant'],
  system: ['lifecycle', 'system'],
  tool: ['tool_result', 'tool'],
} as const

/** The entry itself; undefined when calls and results say it all. */
function saidEvent(record: Record<string, unknown>, role: string | undefined): Parts | undefined {
  const content = str(record['content'])
  const { toolCalls, toolResults, turnId: _turnId, ts: _ts, ...payload } = record
  const hasParts = list(toolCalls).length + list(toolResults).length > 0
  const isKnown = role !== undefined && Object.hasOwn(SAID, role)
  const isPlain = Object.keys(payload).every(
    (field) => field === 'role' || field === 'content' || field === 'metadata',
  )
  if (!content && hasParts && isKnown && isPlain) return undefined
  const [kind, speaker] = isKnown ? SAID[role as keyof typeof SAID] : (['lifecycle', 'system'] as const)
  const parts: Parts = {
    kind,
    role: speaker,
    summary: firstLine(content ?? '') || `(empty ${role ?? 'turn'})`,
    payload,
  }
  if (content) parts.said = content
  if (speaker === 'tool') parts.state = 'ok'
  return parts
}

function callEvent(state: State, call: unknown, key: string, ts: number | null): Parts {
  const body = isRecord(call) ? call : { call }
  const tool = str(body['name']) ?? 'unknown'
  const id = str(body['id']) || key
  return { ...callDraft(state.calls, { id, tool, input: body['args'], ts }), payload: body }
}

function resultEvent(state: State, result: unknown, ts: number | null): Parts {
  const body = isRecord(result) ? result : { result }
  const error = str(body['error'])
  const text = [error, resultText(body['result'])].filter(Boolean).join('\n')
  const failed = error !== undefined
  return { ...resultDraft(state.calls, { id: str(body['callId']) ?? '', failed, text, ts }), payload: body }
}

function resultText(result: unknown): string | undefined {
  return typeof result === 'number' || typeof result === 'boolean' ? String(result) : leaves(result)
}

function* usageItems(
  session: string,
  name: string,
  record: Record<string, unknown>,
  place: Pick<UsageItem, 'model' | 'ts' | 'event'>,
): Generator<Item> {
  const tokens = isRecord(record['metadata']) ? record['metadata']['tokens'] : undefined
  if (!isRecord(tokens)) return
  yield {
    type: 'usage',
    session,
    id: `turns:${session}:${name}`,
    ...place,
    input: Math.max(0, num(tokens['prompt']) ?? 0),
    cacheRead: 0,
    cacheWrite5m: 0,
    cacheWrite1h: 0,
    output: Math.max(0, num(tokens['completion']) ?? 0),
    reasoning: 0,
    scope: 'response',
  }
}
