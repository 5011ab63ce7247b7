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
