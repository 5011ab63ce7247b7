// The words in foreign JSON: what a person reads in one line, what a search should find.
import { hash } from 'node:crypto'
import { isRecord, list, str } from './guards.ts'

export { leaves } from '../event/words.ts'

/** The first line that is not blank. Looks no further than it must. */
export function firstLine(text: string): string {
  return /\S.*/.exec(text)?.[0] ?? ''
}

/** The readable part of a message's content: a string, or the texts of its blocks. */
export function contentText(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  const texts = list(content)
    .map((part) => (isRecord(part) ? str(part['text']) : str(part)))
    .filter((text) => text !== undefined)
  if (texts.length === 0) return undefined
  return texts.length === 1 ? texts[0] : texts.join('\n')
}

/** A short name for a value, the same wherever the value is the same. */
export function hashOf(value: unknown): string {
  let text: string
  try {
    text = JSON.stringify(value) ?? ''
  } catch {
    // Nested too deeply to print.
    text = 'unprintable'
  }
  return hash('sha1', text, 'hex').slice(0, 16)
}
