// Small things said about texts: one-line summaries, the searchable part of an input, fields that differ per copy.

import { isRecord } from '../kit/guards.ts'
import { wordList } from '../kit/text.ts'

/** Every string of a tool's input down to the third level, one per line; a single one is returned as it is. */
export function stringsOf(value: unknown, depth = 3): string {
  const found: string[] = []
  collectStrings(value, depth, found)
  return found.length === 1 ? (found[0] as string) : found.join('\n')
}

function collectStrings(value: unknown, depth: number, found: string[]): void {
  if (typeof value === 'string') {
    if (value !== '') found.push(value)
  } else if (depth > 0 && Array.isArray(value)) {
    for (const one of value) collectStrings(one, depth - 1, found)
  } else if (depth > 0 && isRecord(value)) {
    for (const name of Object.keys(value)) collectStrings(value[name], depth - 1, found)
  }
}

/** The text of a content block, a list of them, or a plain string. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  if (isRecord(content)) return typeof content['text'] === 'string' ? content['text'] : ''
  if (!Array.isArray(content)) return ''
  const texts = content.map(contentText).filter((text) => text !== '')
  return texts.length === 1 ? (texts[0] as string) : texts.join('\n')
}

// A fork copies records but rewrites these, or lives elsewhere: with them the copy would not have equal bytes.
const PER_COPY = new Set(
  wordList(`
  sessionUpdate session_id sessionId parent_session_id owner_session_id output_file current_dir cwd ts`),
)

/** A shallow-ish copy of a small record without what differs from copy to copy. */
export function withoutCopyFields(value: unknown, depth = 3): unknown {
  if (depth === 0) return value
  if (Array.isArray(value)) return value.map((one) => withoutCopyFields(one, depth - 1))
  if (!isRecord(value)) return value
  const entries = Object.entries(value).filter(([name]) => !PER_COPY.has(name))
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutCopyFields(inner, depth - 1)]))
}
