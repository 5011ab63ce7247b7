// Bodies from before adapters told what they know: the record alone. What it says is judged by the names of its fields, as
// well as that can be done. Nothing else guesses.
import type { Made, Told } from './body.ts'
import { editsIn, type Fields, isFields, originalIn } from './edits.ts'

const ARGUMENTS = ['input', 'arguments', 'rawInput', 'args']
const COMMANDS = ['command', 'cmd', 'script']
const TEXT_FIELDS = [
  'thinking',
  'content',
  'text',
  'output',
  'output_text',
  'message',
  'error',
  'stderr',
  'stdout',
  'result',
]
const MAX_DEPTH = 6

export function legacyTold(raw: unknown): Told {
  const told: Told = {}
  const said = textOf(raw, MAX_DEPTH)
  if (said !== '') told.said = said
  if (!isFields(raw)) return told
  const given = ARGUMENTS.map((name) => raw[name]).find((one) => one != null)
  if (given === undefined) return { ...told, ...resultTold(raw) }
  told.input = typeof given === 'string' ? (parsed(given) ?? given) : given
  const command = commandIn(told.input)
  if (command !== undefined) told.command = command
  const edits = editsIn(told.input)
  if (edits.length > 0) told.edits = edits
  return told
}

function resultTold(raw: Fields): Told {
  const [edits, original, made] = [editsIn(raw), originalIn(raw), madeIn(raw)]
  return {
    ...(edits.length > 0 && { edits }),
    ...(original !== undefined && { original }),
    ...(made && { made }),
  }
}

/** What adapters put beside a result, and a client's own record of a pull request. */
function madeIn({ kept, prUrl }: Fields): Made | undefined {
  if (typeof prUrl === 'string') return { commits: [], pullRequests: [prUrl] }
  if (!isFields(kept)) return undefined
  const texts = (list: unknown): string[] =>
    Array.isArray(list) ? list.filter((one): one is string => typeof one === 'string') : []
  return { commits: texts(kept['commits']), pullRequests: texts(kept['pull_requests']) }
}

function textOf(value: unknown, depth: number): string {
  if (typeof value === 'string') return value
  if (depth === 0 || typeof value !== 'object' || value === null) return ''
  if (Array.isArray(value))
    return value
      .map((part) => textOf(part, depth - 1))
      .filter((text) => text !== '')
      .join('\n')
  for (const field of TEXT_FIELDS) {
    const text = Object.hasOwn(value, field) ? textOf((value as Fields)[field], depth - 1) : ''
    if (text !== '') return text
  }
  return ''
}

function commandIn(input: unknown): string | undefined {
  if (!isFields(input)) return undefined
  for (const name of COMMANDS) {
    const command = input[name]
    if (typeof command === 'string') return command
    if (Array.isArray(command)) return command.join(' ')
  }
  return undefined
}

function parsed(text: string): unknown {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
