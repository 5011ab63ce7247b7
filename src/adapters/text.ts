// The words in foreign JSON: what a person reads in one line, what a search should find.
import { hash } from 'node:crypto'
import { isRecord, list, str } from './guards.ts'

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

const MAX_LEAVES = 500

/** Every string inside a value, one per line, in order; undefined when there is none. */
export function leaves(value: unknown): string | undefined {
  const found: string[] = []
  const waiting: unknown[] = [value]
  while (waiting.length > 0 && found.length < MAX_LEAVES) {
    const one = waiting.pop()
    if (typeof one === 'string') {
      if (one !== '') found.push(one)
    } else if (typeof one === 'object' && one !== null) {
      waiting.push(...Object.values(one).slice(0, MAX_LEAVES).reverse())
    }
  }
  if (found.length === 0) return undefined
  return found.length === 1 ? found[0] : found.join('\n')
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
