// Which message a record is, in the shapes agents use: a type or a role, and content at the top, under `message` or under
// `data`. Records that are none of these are kept as they are.
import { isRecord, str } from './guards.ts'
import { type Part, partsBeside, partsOf, toolMessage } from './parts.ts'

export type Speaker = 'user' | 'assistant' | 'system' | 'tool'

export interface Message {
  speaker: Speaker
  parts: Part[]
  /** Where model, tokens and ids of the response stand. */
  facts: Record<string, unknown>
}

const SPEAKERS: [string, Speaker][] = [
  ['user', 'user'],
  ['human', 'user'],
  ['assistant', 'assistant'],
  ['gemini', 'assistant'],
  ['model', 'assistant'],
  ['system', 'system'],
  ['developer', 'system'],
  ['tool', 'tool'],
  ['tool_result', 'tool'],
  ['toolResult', 'tool'],
]

/** Who speaks, by the usual names of roles. */
export const speakerOf = (name: unknown): Speaker | undefined =>
  SPEAKERS.find((entry) => entry[0] === name)?.[1]

export function messageOf(record: Record<string, unknown>): Message | undefined {
  const { data, info } = record
  if (typeof record['type'] === 'string' && isRecord(data)) return dottedMessage(record['type'], data)
  // An export of opencode keeps facts and parts apart.
  if (isRecord(info) && Array.isArray(record['parts'])) {
    const speaker = speakerOf(info['role'])
    return speaker && { speaker, parts: partsOf(record['parts']), facts: info }
  }
  const body = isRecord(record['message']) ? record['message'] : record
  const speaker = speakerOf(record['type']) ?? speakerOf(record['role']) ?? speakerOf(body['role'])
  const content = body['content'] ?? body['parts'] ?? body['text']
  const { before, after } = partsBeside(body)
  if (speaker === undefined || (content === undefined && before.length + after.length === 0)) return undefined
  if (speaker === 'tool' && body['parts'] === undefined)
    return { speaker, parts: toolMessage(body), facts: body }
  return { speaker, parts: [...before, ...partsOf(content), ...after], facts: body }
}

/** Copilot's events: `user.message`, `tool.execution_start` … */
function dottedMessage(type: string, data: Record<string, unknown>): Message | undefined {
  const said = str(data['content'])
  switch (type) {
    case 'user.message':
      return { speaker: 'user', parts: textParts(said, data), facts: data }
    case 'assistant.message': {
      const thought = str(data['reasoningText'])
      const thoughts: Part[] = thought
        ? [{ is: 'thinking', text: thought, raw: { reasoningText: thought } }]
        : []
      return { speaker: 'assistant', parts: [...thoughts, ...textParts(said, data)], facts: data }
    }
    case 'assistant.reasoning':
      return { speaker: 'assistant', parts: [{ is: 'thinking', text: said ?? '', raw: data }], facts: data }
    case 'tool.execution_start': {
      const tool = str(data['toolName']) ?? 'unknown'
      const call: Part = {
        is: 'call',
        id: str(data['toolCallId']),
        tool,
        input: data['arguments'],
        raw: data,
      }
      return { speaker: 'assistant', parts: [call], facts: data }
    }
    case 'tool.execution_complete':
      return { speaker: 'tool', parts: [executed(data)], facts: data }
    case 'abort': {
      const name = `stopped: ${str(data['reason']) ?? 'no reason given'}`
      const stop: Part = {
        is: 'other',
        name,
        isKnown: true,
        kind: 'human_intervention',
        mark: 'interrupt',
        summary: name,
        raw: data,
      }
      return { speaker: 'user', parts: [stop], facts: data }
    }
    default:
      return undefined
  }
}

function textParts(text: string | undefined, raw: Record<string, unknown>): Part[] {
  return text ? [{ is: 'text', text, raw }] : [{ is: 'other', name: 'message', isKnown: true, raw }]
}

function executed(data: Record<string, unknown>): Part {
  const { result, error } = data
  const text = isRecord(result) ? str(result['content']) : undefined
  const said = isRecord(error) ? str(error['message']) : str(error)
  return {
    is: 'result',
    id: str(data['toolCallId']),
    text: said ?? text,
    failed: data['success'] === false,
    raw: data,
  }
}
