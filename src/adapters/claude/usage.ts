// Tokens of one response. A response stands on several lines and in several files: every line yields its numbers under
// the response's id, and whoever adds up keeps the greatest output per id.

import type { Item, UsageItem } from '../adapter.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import { anthropicTokens } from '../kit/tokens.ts'
import type { Line } from './line.ts'

export const SYNTHETIC = '<synthetic>'
const COSTS_PER_DOLLAR = 1e8

/** Whether the model was asked, and answered or failed to. The client puts fillers in its mouth too. */
export function isAnswering({ type, record }: Line): boolean {
  const message = record['message']
  if (type !== 'assistant' || !isRecord(message)) return false
  return message['model'] !== SYNTHETIC || record['isApiErrorMessage'] === true
}

export function usageOf(line: Line, events: readonly Item[]): UsageItem[] {
  const { state } = line
  const record = speaker(line)
  const message = record['message']
  if (record['type'] !== 'assistant' || !isRecord(message) || !isRecord(message['usage'])) return []
  const model = str(message['model'])
  if (model === SYNTHETIC || record['isApiErrorMessage'] === true) return []
  const item: UsageItem = {
    type: 'usage',
    session: state.session,
    id: responseId(line, str(message['id']) ?? '', str(record['requestId']) ?? ''),
    ts: line.ts,
    model: model === undefined ? null : servedAs(model, message['usage']),
    ...anthropicTokens(message['usage']),
    scope: 'response',
  }
  const first = events.find((event) => event.type === 'event')
  if (first) item.event = first.key
  if (line.isSidechain || line.type === 'progress') item.isSidechain = true
  const others = apart(item, message['usage'])
  // Up to 1.0 a line told what its response cost.
  const dollars = num(record['costUSD'])
  if (dollars !== undefined && dollars > 0) item.reportedCost = Math.round(dollars * COSTS_PER_DOLLAR)
  return [item, ...others]
}

/**
 * Calls within a response that its totals leave out and that are paid for: a stronger model that was asked for advice, and
 * the summary of a compaction by the server. The totals hold all others; a turned down attempt costs nothing.
 */
const APART = ['advisor_message', 'compaction']

function apart(item: UsageItem, { iterations }: Record<string, unknown>): UsageItem[] {
  if (!Array.isArray(iterations)) return []
  return iterations.flatMap((one: unknown, at) => {
    const type = isRecord(one) ? str(one['type']) : undefined
    if (!isRecord(one) || type === undefined || !APART.includes(type)) return []
    const model = str(one['model'])
    return [
      {
        ...item,
        id: `${item.id}/${at}`,
        model: model === undefined ? item.model : servedAs(model, one),
        ...anthropicTokens(one),
      },
    ]
  })
}

/** The same model served faster has a price of its own; others who count Claude's tokens name it so too. */
const servedAs = (model: string, usage: Record<string, unknown>): string =>
  usage['speed'] === 'fast' && !model.endsWith('-fast') ? `${model}-fast` : model

/** The providers' own ids are longer than this. */
const SHORTEST_ID = 12

/** A gateway may give all its responses one id: a short one names nothing but the lines that follow each other. */
function responseId({ state, record, key }: Line, id: string, request: string): string {
  if (id === '' || id.length >= SHORTEST_ID) return id || request || key
  if (request !== '') return `${id}:${request}`
  const origin = isRecord(record['forkedFrom']) ? str(record['forkedFrom']['messageUuid']) : undefined
  if (state.answer?.[0] !== id) state.answer = [id, origin ?? key]
  return state.answer.join(':')
}

/** A sub-agent's message stands in a `progress` line of its parent too: where its own file is lost, only there. */
function speaker({ type, record }: Line): Record<string, unknown> {
  const data = type === 'progress' ? record['data'] : undefined
  return isRecord(data) && isRecord(data['message']) ? data['message'] : record
}
