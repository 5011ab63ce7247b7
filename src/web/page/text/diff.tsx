// A change as lines that went and lines that came. Signs say which, colour only repeats it.
import { structuredPatch } from 'diff'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { redacted } from './plain.tsx'

const MAX_LENGTH = 400_000
const CONTEXT = 3

interface Line {
  sign: '+' | '-' | ' ' | '@'
  text: string
  before: number | undefined
  after: number | undefined
}

export interface Size {
  added: number
  removed: number
}

function linesOf(before: string, after: string, isWhole: boolean): Line[] {
  if (before.length + after.length > MAX_LENGTH) return []
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT })
  const lines: Line[] = []
  for (const hunk of patch?.hunks ?? []) {
    let [old, fresh] = [hunk.oldStart, hunk.newStart]
    if (isWhole) lines.push({ sign: '@', text: `line ${hunk.newStart}`, before: undefined, after: undefined })
    for (const line of hunk.lines) {
      const sign = line[0] as Line['sign'] | '\\'
      if (sign === '\\') continue
      lines.push({
        sign,
        text: line.slice(1),
        before: isWhole && sign !== '+' ? old : undefined,
        after: isWhole && sign !== '-' ? fresh : undefined,
      })
      if (sign !== '+') old++
      if (sign !== '-') fresh++
    }
  }
  return lines
}

export function sizeOf(before: string, after: string): Size {
  const lines = linesOf(before, after, false)
  const of = (sign: string): number => lines.filter((line) => line.sign === sign).length
  return { added: of('+'), removed: of('-') }
}

export function DiffSize({ added, removed }: Size): JSX.Element {
  return (
    <span class="diff-size">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  )
}

const SIGNS = { '+': ['added', '+'], '-': ['removed', '−'], ' ': ['same', ' '], '@': ['place', ''] } as const

export function Diff(props: {
  before: string
  after: string
  isWhole?: boolean
  label: string
}): JSX.Element {
  const { before, after, isWhole = false } = props
  const lines = useMemo(() => linesOf(before, after, isWhole), [before, after, isWhole])
  if (lines.length === 0)
    return <p class="muted">{before === after ? 'Nothing changed.' : 'Too large to be compared here.'}</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="diff" tabIndex={0} aria-label={props.label}>
      {lines.map((line) => {
        const [name, sign] = SIGNS[line.sign]
        return (
          <div class={`line ${name}`}>
            {isWhole && <span class="number">{line.after ?? line.before ?? ''}</span>}
            <span class="sign">{sign}</span>
            <span class="text">{redacted(line.text)}</span>
          </div>
        )
      })}
    </section>
  )
}
