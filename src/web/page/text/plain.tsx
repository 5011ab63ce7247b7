// Foreign text as text nodes: secrets that were taken out are shown as such, found words are marked.
import type { ComponentChildren, JSX } from 'preact'

const REDACTED = /\[REDACTED:([\w-]+):([0-9a-f]{8})\]/g

/** Text with its redaction marks made visible. */
export function redacted(text: string): ComponentChildren {
  if (!text.includes('[REDACTED:')) return text
  const parts: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(REDACTED)) {
    parts.push(text.slice(from, match.index))
    parts.push(
      <span class="redacted" title={`a secret stood here (${match[1]}, mark ${match[2]})`}>
        {match[1]} redacted
      </span>,
    )
    from = match.index + match[0].length
  }
  parts.push(text.slice(from))
  return parts
}

const SIGNS = /^[|:-]+$/
/** With the name of the language, where one stands there. */
const FENCE = /```\w*/g
const BOLD = /(?<![\w)*])\*\*([^*\s][^*]*)\*\*/g

/** What was written in Markdown, where there is room for a few lines only: without the signs of tables and headings, of bold and code. */
export function plainly(text: string): string {
  const words: string[] = []
  for (const word of text.replace(BOLD, '$1').replace(FENCE, ' ').replaceAll('`', '').split(/\s+/)) {
    if (/^#{1,6}$/.test(word)) continue
    if (!word.includes('|') || !SIGNS.test(word)) words.push(word)
    else if (words.at(-1) !== '·') words.push('·')
  }
  return words.join(' ')
}

/** A line with the parts that were looked for marked: [from, to) each. */
export function MarkedLine({
  text,
  marks,
}: {
  text: string
  marks: readonly [number, number][]
}): JSX.Element {
  const parts: ComponentChildren[] = []
  let from = 0
  for (const [start, end] of marks) {
    parts.push(redacted(text.slice(from, start)), <mark>{text.slice(start, end)}</mark>)
    from = end
  }
  parts.push(redacted(text.slice(from)))
  return <>{parts}</>
}
