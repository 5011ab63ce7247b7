// The words by which a digest is found, and those of a question: our own, so that parts of identifiers, paths and CJK work as
// they do on one machine; Postgres' parsers know none of them.
import { indexText } from '../words.ts'

const MOST_WORDS = 4000
const LONGEST_WORD = 100

/** As an index holds them. */
function split(text: string): string[] {
  const found = indexText(text)
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu)
  return [...new Set((found ?? []).map((word) => word.slice(0, LONGEST_WORD)))]
}

/** Of a digest: what was asked, answered, done, and which files and tools it took. */
export function wordsOf(digest: Record<string, unknown>): string[] {
  const list = (name: string, field: string): string[] => {
    const items = digest[name]
    return Array.isArray(items) ? items.map((item) => String(item?.[field] ?? '')) : []
  }
  const texts = [
    ...['title', 'first_prompt', 'last_assistant', 'task_ref', 'git_branch', 'repo'].map((name) =>
      String(digest[name] ?? ''),
    ),
    ...list('error_snippets', 'sample'),
    ...list('commands', 'command'),
    ...list('commits', 'subject'),
    ...list('files', 'path'),
    ...list('decisions', 'text'),
    ...Object.keys((digest['tool_histogram'] as Record<string, number> | undefined) ?? {}),
  ]
  return split(texts.join('\n')).slice(0, MOST_WORDS)
}

/** A `tsquery` that asks for all words; undefined where there are none. */
export function queryOf(typed: string): string | undefined {
  const words = split(typed).slice(0, 50)
  return words.length === 0 ? undefined : words.map((word) => `'${word}'`).join(' & ')
}
