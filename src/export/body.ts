// What an event's body says: its words, and what a tool was asked. Bodies are native records, judged by their shape.
import { textOf } from '../digest/event.ts'
import type { SessionEvent } from '../model.ts'

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The words of a message, a thought or a result; the summary when the body is gone. */
export function wordsOf(event: SessionEvent, payload: unknown): string {
  if (payload === undefined || payload === null) return event.summary
  if (event.kind === 'thinking' && isFields(payload))
    for (const name of ['thinking', 'summary']) {
      const text = Object.hasOwn(payload, name) ? textOf(payload[name]) : ''
      if (text !== '') return text
    }
  return textOf(payload) || event.summary
}

/** The arguments of a call, as an object; of a call by a bare text, under `input`. */
export function argumentsOf(payload: unknown): Fields {
  if (!isFields(payload)) return {}
  const given = ['input', 'arguments', 'rawInput', 'args']
    .map((name) => payload[name])
    .find((one) => one != null)
  if (isFields(given)) return given
  if (typeof given !== 'string') return given === undefined ? {} : { input: given }
  const parsed = parse(given)
  return isFields(parsed) ? parsed : { input: given }
}

function parse(text: string): unknown {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
