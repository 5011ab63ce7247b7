// The parts of a message in the vocabularies of agents without an adapter of their own (and of Recollect's own lines, which
// speak that of the Messages API): every block becomes a text, a thought, a call, a result or something else.
import type { EndState, EventKind, Mark } from '../../model.ts'
import type { Act, EventItem } from '../adapter.ts'
import { isRecord, list, str } from './guards.ts'
import { contentText, leaves, wordSet } from './text.ts'

/** `more`: what is told of its event beyond what parts of its kind tell. */
export type Part = { raw: Record<string, unknown>; more?: Partial<EventItem> | undefined } & (
  | { is: 'text' | 'thinking'; text: string }
  | {
      is: 'call'
      id: string | undefined
      tool: string
      /** As it stands in `raw`: fields, or JSON in a string. */
      input: unknown
      /** Where the format tells it better than the input does. */
      act?: Partial<Act>
    }
  | {
      is: 'result'
      id: string | undefined
      text: string | undefined
      failed: boolean
      /** A person, or a rule in a person's name, said no. */
      isRefused?: boolean
      /** Where it is more than `failed` tells: `stopped`, `cut`, `background`. */
      state?: EndState | undefined
      exitCode?: number | undefined
      /** Null where the times of call and result tell nothing of it. */
      durationMs?: number | null | undefined
      /** The whole file as it was before an edit. */
      original?: string | undefined
    }
  | { is: 'other'; name: string; isKnown: boolean; kind?: EventKind; summary?: string; mark?: Mark }
)

export type ResultPart = Extract<Part, { is: 'result' }>
export type CallPart = Extract<Part, { is: 'call' }>
type OtherPart = Extract<Part, { is: 'other' }>

/** What is no text, thought, call or result, and is known; `isKnown: false` counts it by its name. */
export const otherPart = (
  name: string,
  raw: Record<string, unknown>,
  told: Partial<OtherPart> = {},
): OtherPart => ({ is: 'other', name, isKnown: true, ...told, raw })

/** A call, from what should be its id and the name of its tool; `input` as it stands in `raw`: fields, or JSON in a string. */
export const toolCall = (
  id: unknown,
  tool: unknown,
  input: unknown,
  raw: Record<string, unknown>,
): CallPart => ({
  ...{ is: 'call', id: str(id), tool: str(tool) ?? 'unknown' },
  ...{ input, raw },
})

const TEXTS = new Set(['text', 'input_text', 'output_text'])
const THOUGHTS = new Set(['thinking', 'redacted_thinking', 'reasoning', 'thought'])
const CALLS = new Set([
  'tool_use',
  'server_tool_use',
  'mcp_tool_use',
  'toolCall',
  'tool_call',
  'function_call',
])
/** Blocks that say nothing of their own. */
const MARKS = wordSet(`
  image image_url imageUrl input_image input_audio input_file audio document file step-start step-finish
  snapshot patch`)

/** The same of Gemini, whose blocks have no type: the name of their one field is it. */
const UNTYPED_MARKS = ['inlineData', 'fileData', 'executableCode', 'codeExecutionResult']

/** The parts of a message's content: a string, a block, or a list of them. */
export function partsOf(content: unknown): Part[] {
  if (typeof content === 'string')
    return [{ is: 'text', text: content, raw: { type: 'text', text: content } }]
  return (isRecord(content) ? [content] : list(content)).flatMap((block) => blockParts(block))
}

function blockParts(block: unknown): Part[] {
  if (typeof block === 'string') return partsOf(block)
  const raw = isRecord(block) ? block : { value: block }
  const type = str(raw['type'])
  if (isRecord(raw['functionCall'])) return [callPart(raw['functionCall'], raw)]
  if (isRecord(raw['functionResponse'])) return [responsePart(raw['functionResponse'], raw)]
  const text = str(raw['text'])
  if (raw['thought'] === true) return [{ is: 'thinking', text: text ?? '', raw }]
  if (text !== undefined && (type === undefined || TEXTS.has(type))) return [{ is: 'text', text, raw }]
  if (type === undefined) {
    const name = UNTYPED_MARKS.find((field) => isRecord(raw[field]))
    return [{ is: 'other', name: `block ${name ?? 'without type'}`, isKnown: name !== undefined, raw }]
  }
  if (THOUGHTS.has(type)) return [{ is: 'thinking', text: str(raw['thinking']) ?? text ?? '', raw }]
  if (CALLS.has(type)) return [callPart(raw, raw)]
  if (type.endsWith('tool_result') || type === 'toolResult') return [resultPart(raw, raw)]
  if (type === 'tool' && isRecord(raw['state'])) return toolParts(raw, raw['state'])
  return [{ is: 'other', name: `block ${type}`, isKnown: MARKS.has(type), raw }]
}

function callPart(call: Record<string, unknown>, raw: Record<string, unknown>): Part {
  const id = str(call['id']) || str(call['call_id']) || str(call['toolCallId']) || undefined
  const input = call['input'] ?? call['args'] ?? call['arguments']
  return { is: 'call', id, tool: str(call['name']) ?? 'unknown', input, raw }
}

function resultPart(result: Record<string, unknown>, raw: Record<string, unknown>): Part {
  const id =
    str(result['tool_use_id']) ??
    str(result['toolCallId']) ??
    str(result['tool_call_id']) ??
    str(result['callId'])
  const failed = result['is_error'] === true || result['isError'] === true
  const content = result['content'] ?? result['output']
  return { is: 'result', id, text: contentText(content) ?? leaves(content), failed, raw }
}

function responsePart(response: Record<string, unknown>, raw: Record<string, unknown>): Part {
  const body = response['response']
  const failed = isRecord(body) && body['error'] !== undefined
  return { is: 'result', id: str(response['id']), text: leaves(body), failed, raw }
}

/** A message of role `tool`, which is one result. */
export function toolMessage(message: Record<string, unknown>): Part[] {
  return [resultPart(message, message)]
}

/** opencode: call, outcome and times in one part. */
function toolParts(raw: Record<string, unknown>, state: Record<string, unknown>): Part[] {
  const id = str(raw['callID'])
  const { input, output, error, ...rest } = state
  const call: Part = {
    is: 'call',
    id,
    tool: str(raw['tool']) ?? 'unknown',
    input,
    raw: { ...raw, state: { input } },
  }
  const status = str(state['status'])
  if (status !== 'completed' && status !== 'error') return [call]
  const text = str(error) ?? str(output) ?? leaves(output)
  return [call, { is: 'result', id, text, failed: status === 'error', raw: { output, error, ...rest } }]
}

/** What stands beside the content in messages of Gemini and of the chat protocol. */
export function partsBeside(message: Record<string, unknown>): { before: Part[]; after: Part[] } {
  const before = list(message['thoughts']).map((thought): Part => {
    const raw = isRecord(thought) ? thought : { thought }
    const text = [str(raw['subject']), str(raw['description'])].filter(Boolean).join('\n')
    return { is: 'thinking', text, raw }
  })
  const after = [...list(message['toolCalls']), ...list(message['tool_calls'])].flatMap((one): Part[] => {
    const call = isRecord(one) ? one : {}
    if (isRecord(call['function']))
      return [{ ...callPart(call['function'], call), id: str(call['id']) } as Part]
    const { result, status, resultDisplay, ...asked } = call
    const part = callPart(call, asked)
    if (status === undefined && result === undefined) return [part]
    const isRefused = status === 'cancelled'
    const text = leaves(result) ?? str(resultDisplay)
    const raw = { result, status, resultDisplay }
    return [part, { is: 'result', id: str(call['id']), text, failed: status === 'error', isRefused, raw }]
  })
  return { before, after }
}
