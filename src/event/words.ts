// The words of an event as readers show and search them: what was said, and what a call was about and was given. Pure,
// because the page reads them as well.
import type { Told } from './body.ts'

/** What readers need of what is told. */
type Words = Pick<Told, 'said' | 'input' | 'command'>

/** All that was said; the summary where nothing was, or the body is gone. */
export const wordsOf = ({ summary }: { summary: string }, told: Words | null | undefined): string =>
  told?.said ?? summary

/** What a call was about: its summary without the tool's name. */
export function subjectOf({ tool, summary }: { tool: string | null; summary: string }): string {
  if (tool === null || !summary.startsWith(tool)) return summary
  const rest = summary.slice(tool.length)
  return (rest.startsWith(':') ? rest.slice(1) : rest).trimStart() || summary
}

/** What a call was given, as text: the command line as it was typed, else its input. Empty where nothing is told of it. */
export function givenText({ command, input }: Words, indent?: number): string {
  if (command !== undefined) return command
  if (input === undefined) return ''
  return typeof input === 'string' ? input : JSON.stringify(input, null, indent)
}

/** What a search finds an event by. */
export const searchedIn = ({ said, input, command }: Words): string => said ?? leaves(input) ?? command ?? ''

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
