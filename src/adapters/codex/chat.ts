// Items of single-JSON files written by clients that spoke the chat protocol: one message holds reasoning, text and
// calls together. Each becomes the response item it would be in a later file.
import type { Item } from '../adapter.ts'
import { isRecord, list, str } from '../kit/guards.ts'
import { message, reasoning } from './messages.ts'
import type { Spot } from './state.ts'
import { toolCall, toolOutput } from './tools.ts'

export function chatMessage(spot: Spot): Item[] {
  const { tool_calls, reasoning: thought, tool_call_id, ...body } = spot.payload
  if (body['role'] === 'tool') {
    const payload = { type: 'function_call_output', call_id: tool_call_id, output: body['content'] }
    return toolOutput({ ...spot, type: payload.type, payload })
  }
  const items: Item[] = []
  const text = str(thought)
  if (text) items.push(...reasoning({ ...spot, part: 'reasoning' }, 'item', [text], undefined))
  if (body['content'] || tool_calls === undefined)
    items.push(...message({ ...spot, type: 'message', payload: body }))
  for (const [at, call] of list(tool_calls).entries()) {
    const named = isRecord(call) && isRecord(call['function']) ? call['function'] : {}
    const payload = { type: 'function_call', ...named, call_id: isRecord(call) ? call['id'] : undefined }
    items.push(...toolCall({ ...spot, type: payload.type, payload, part: `call${at}` }))
  }
  return items
}
