// Records of `lines` and `document` transcripts → items: Recollect's own lines, and those of agents without an adapter.

import type { Item, UsageItem } from '../adapter.ts'
import { factsItems, usageItem } from '../kit/facts.ts'
import { isRecord, num, str, time } from '../kit/guards.ts'
import { messageEvents } from '../kit/messages.ts'
import type { Part } from '../kit/parts.ts'
import { type Message, messageOf } from '../kit/shapes.ts'
import { wordList } from '../kit/text.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { anthropicTokens, disjointTokens } from '../kit/tokens.ts'

/** Carry-over between records; plain, bounded JSON. */
export interface State extends Thread {
  agent: string
  /** Of responses that name none. */
  toldModel?: string | undefined
  /** [short id of the response that the latest records are of, name of the first of them]. */
  response?: [string, string] | undefined
}

export const newState = (session: string, agent: string): State => ({ ...newThread(session), agent })

export function* recordItems(state: State, record: Record<string, unknown>): Generator<Item> {
  const ts = timeOf(record)
  const name = recordName(state, record, idOf(record), ts)
  const message = messageOf(record)
  if (givenId(record, message) !== state.response?.[0]) state.response = undefined
  yield* newFacts(state, record, message, ts)
  const parent = parentOf(record)
  if (!message) {
    const parts = [plainPart(record)]
    yield* messageEvents(state, { name, ts, speaker: 'system', parts, parent, facts: factsBeside(record) })
    yield { type: 'unknown', name: `${state.agent} transcript` }
    return
  }
  const { speaker, parts } = message
  yield* messageEvents(state, { name, ts, speaker, parts, parent, facts: factsBeside(record) })
  const usage = usageOf(state, message, record, name, ts)
  if (usage) yield { ...usage, event: `${name}#0` }
}

function timeOf(record: Record<string, unknown>): number | null {
  const { info, message } = record
  const created = isRecord(info) && isRecord(info['time']) ? info['time']['created'] : undefined
  return time(
    record['timestamp'] ?? created ?? record['ts'] ?? (isRecord(message) ? message['timestamp'] : undefined),
  )
}

function idOf(record: Record<string, unknown>): string | undefined {
  const info = isRecord(record['info']) ? record['info'] : {}
  return str(record['uuid']) || str(record['id']) || str(info['id'])
}

function plainPart(record: Record<string, unknown>): Part {
  const summary = str(record['type']) ?? 'a record without a type'
  return { is: 'other', name: summary, isKnown: true, summary, raw: bare(record) }
}

// Ids, links and places: all of it changes when a record is copied.
const PER_COPY = wordList('uuid id parentUuid parentId sessionId timestamp cwd version requestId')
const BODY = wordList('type role message content parts text data thoughts toolCalls tool_calls')

function bare(record: Record<string, unknown>, ...leftOut: string[]): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).filter(([name]) => !PER_COPY.includes(name) && !leftOut.includes(name)),
  )
}

/** The record's own fields, and the message's, go with the first event. */
function factsBeside(record: Record<string, unknown>): Record<string, unknown> {
  const outer = bare(record, ...BODY, 'recollectSpill')
  const inner = isRecord(record['message']) ? bare(record['message'], ...BODY) : {}
  const filled: Record<string, unknown> = {}
  if (Object.keys(outer).length > 0) filled['record'] = outer
  if (Object.keys(inner).length > 0) filled['message'] = inner
  return filled
}

function parentOf(record: Record<string, unknown>): string | null | undefined {
  const parent = record['parentUuid'] ?? record['parentId']
  if (typeof parent === 'string' && parent !== '') return parent
  return record['parentUuid'] === null || record['parentId'] === null ? null : undefined
}

function modelOf(state: State, { speaker, facts: { model, modelID } }: Message): string | undefined {
  return str(model) || str(modelID) || (speaker === 'assistant' ? state.toldModel : undefined)
}

function newFacts(
  state: State,
  record: Record<string, unknown>,
  message: Message | undefined,
  ts: number | null,
): Item[] {
  const data = isRecord(record['data']) ? record['data'] : {}
  const context = isRecord(data['context']) ? data['context'] : {}
  return factsItems(state, {
    cwd: str(record['cwd']) ?? str(context['cwd']),
    gitBranch: str(context['branch']),
    agentVersion: str(record['version']) ?? str(data['copilotVersion']),
    model: message && modelOf(state, message),
    startedAt: ts ?? undefined,
  })
}

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
  const model = modelOf(state, message) ?? null
  if (isRecord(usage) && num(usage['output_tokens']) !== undefined) {
    const id = responseId(state, givenId(record, message), name)
    return usageItem(state, anthropicTokens(usage), { id, ts, model })
  }
  if (!isRecord(tokens)) return undefined
  const { cache, input, output, cached, thoughts, reasoning } = tokens
  const id = `${state.agent}:${state.session}:${name}`
  // opencode's counts are disjoint; Gemini's input holds what was cached. Neither has reasoning in its output.
  const counts = { input, output, reasoning: reasoning ?? thoughts }
  const disjoint = isRecord(cache)
    ? disjointTokens(
        { ...counts, cacheRead: cache['read'], cacheWrite: cache['write'] },
        { outputLacksReasoning: true },
      )
    : disjointTokens({ ...counts, cacheRead: cached }, { inputHasCache: true, outputLacksReasoning: true })
  return usageItem(state, disjoint, { id, ts, model })
}
