// What there is to read in a body of whatever shape: the words of a message, what a call was given, what came back.
// Shapes are told apart by their fields, never by which program wrote them.

type Fields = Record<string, unknown>
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const TEXT_FIELDS = [
  'text',
  'content',
  'output',
  'output_text',
  'aggregated_output',
  'thinking',
  'summary',
  'message',
  'error',
  'stdout',
  'stderr',
  'result',
]
const MAX_DEPTH = 6

/** The readable text; parts of a list are joined. */
export function textOf(value: unknown, depth = MAX_DEPTH): string {
  if (typeof value === 'string') return value
  if (depth === 0 || typeof value !== 'object' || value === null) return ''
  if (Array.isArray(value))
    return value
      .map((part) => textOf(part, depth - 1))
      .filter(Boolean)
      .join('\n')
  for (const field of TEXT_FIELDS) {
    const text = Object.hasOwn(value, field) ? textOf((value as Fields)[field], depth - 1) : ''
    if (text !== '') return text
  }
  return ''
}

/** What a call was given: fields, or a text. */
export function inputOf(payload: unknown): Fields | string {
  if (!isFields(payload)) return ''
  for (const name of ['input', 'rawInput', 'arguments', 'args', 'parameters']) {
    const value = payload[name]
    if (typeof value === 'string' && value !== '') return value
    if (isFields(value)) return value
  }
  const { type: _type, id: _id, record: _record, message: _message, ...rest } = payload
  return rest
}

/** The command line in what a shell was given. */
export function commandOf(input: Fields | string): string | undefined {
  if (typeof input === 'string') return undefined
  const command = input['command'] ?? input['cmd']
  if (typeof command === 'string') return command
  if (!Array.isArray(command)) return undefined
  // ["bash", "-lc", "what was typed"]
  const last = command.at(-1)
  return command.length === 3 && /^-\w*c$/.test(String(command[1])) ? String(last) : command.join(' ')
}

export interface Picture {
  type: string
  base64: string
}

const PICTURE_TYPES = /^image\/(png|jpeg|gif|webp)$/
const DATA_URL = /^data:(image\/[a-z]+);base64,([A-Za-z0-9+/=]+)$/

/** Pictures that stand in a body as bytes. Drawings that could carry scripts are not among them. */
export function picturesIn(value: unknown, depth = MAX_DEPTH, found: Picture[] = []): Picture[] {
  if (depth === 0 || typeof value !== 'object' || value === null || found.length >= 20) return found
  if (Array.isArray(value)) {
    for (const part of value) picturesIn(part, depth - 1, found)
    return found
  }
  const fields = value as Fields
  const type = fields['media_type'] ?? fields['mimeType'] ?? fields['mime_type']
  if (typeof type === 'string' && typeof fields['data'] === 'string' && PICTURE_TYPES.test(type))
    found.push({ type, base64: fields['data'] })
  for (const inner of Object.values(fields)) {
    if (typeof inner === 'string') {
      const match = DATA_URL.exec(inner.slice(0, 5) === 'data:' ? inner : '')
      if (match && PICTURE_TYPES.test(match[1] as string))
        found.push({ type: match[1] as string, base64: match[2] as string })
    } else picturesIn(inner, depth - 1, found)
  }
  return found
}
