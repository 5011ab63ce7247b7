// The words in foreign JSON: what a person reads in one line, what a search should find.
import { hash } from 'node:crypto'
import { isRecord, list, str } from './guards.ts'

export { leaves } from '../../event/words.ts'

/** The first line that is not blank. Looks no further than it must. */
export function firstLine(text: string): string {
  return /\S.*/.exec(text)?.[0] ?? ''
}

/** Names, written with blanks between them. */
export const wordList = (names: string): string[] => names.trim().split(/\s+/)
export const wordSet = (names: string): ReadonlySet<string> => new Set(wordList(names))

/** The readable part of a message's content: a string, or the texts of its blocks. */
export function contentText(content: unknown): string | undefined {
  if (typeof content === 'string') return content
  const texts = list(content)
    .map((part) => (isRecord(part) ? str(part['text']) : str(part)))
    .filter((text) => text !== undefined)
  if (texts.length === 0) return undefined
  return texts.length === 1 ? texts[0] : texts.join('\n')
}

/** A value as JSON. */
export function printed(value: unknown): string {
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    // Nested too deeply to print.
    return 'unprintable'
  }
}

/** A short name for a text, and for a value: the same wherever that is the same. */
export const shortHash = (text: string): string => hash('sha1', text, 'hex').slice(0, 16)
export const hashOf = (value: unknown): string => shortHash(printed(value))

/** What a text holds as JSON; the text itself where it holds none. */
export function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
