// How the text of an event is shortened for a list and for the search index. Redaction comes before: half a secret
// would not be recognised.
import type { EventKind } from '../model.ts'
import type { PreparedEvent } from '../store/batch.ts'

const SUMMARY_LENGTH = 140
const TALK_LIMIT = 200_000
const CALL_LIMIT = 6_000
const RESULT_LIMIT = 3_000

/** Lone halves of surrogate pairs become U+FFFD: the store would turn each into three of them. */
export const wellFormed = (text: string): string => text.toWellFormed()

/** The first line that says something, in at most `limit` characters. */
export function oneLine(text: string, limit = SUMMARY_LENGTH): string {
  const start = text
    .slice(0, limit * 8)
    .replace(/[\s\0]+/gu, ' ')
    .trim()
  return wellFormed(start.length > limit ? `${start.slice(0, limit - 1)}…` : start)
}

const CALLS = new Set<EventKind>(['tool_call', 'edit', 'test_run', 'retry'])

/** Talk is indexed whole; of a long tool output the two ends tell most. SQLite's functions stop at NUL. */
export function searchable(text: string, kind: EventKind): string {
  const limit =
    headingOf(kind) !== 'work' || kind === 'thinking'
      ? TALK_LIMIT
      : CALLS.has(kind)
        ? CALL_LIMIT
        : RESULT_LIMIT
  const cut = text.length <= limit ? text : `${text.slice(0, limit / 2)}\n${text.slice(-limit / 2)}`
  return wellFormed(cut.includes('\0') ? cut.replaceAll('\0', ' ') : cut)
}

export function headingOf(kind: EventKind): PreparedEvent['heading'] {
  if (kind === 'user_msg' || kind === 'human_intervention' || kind === 'decision') return 'prompt'
  return kind === 'assistant_msg' || kind === 'completion' ? 'answer' : 'work'
}

/** Whether a string stands, whole, somewhere in the upper levels of a value. */
export function holds(value: unknown, text: string, depth: number): boolean {
  if (typeof value === 'string') return value === text
  if (depth === 0 || typeof value !== 'object' || value === null) return false
  for (const one of Object.values(value)) if (holds(one, text, depth - 1)) return true
  return false
}
