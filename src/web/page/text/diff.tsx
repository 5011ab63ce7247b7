// A change as lines that went and lines that came, with the words that differ marked. Signs say which, colour only repeats it.
import { diffArrays, structuredPatch } from 'diff'
import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Hunk, DiffSize as Size } from '../../../digest/changes.ts'
import { redacted } from './plain.tsx'

const MAX_LENGTH = 400_000
const CONTEXT = 3

/** Of two texts whose place in their file is not known. */
function hunksOf(before: string, after: string): Hunk[] {
  if (before.length + after.length > MAX_LENGTH) return []
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: CONTEXT })
  return hunks.map(({ lines }) => ({
    before_line: 0,
    after_line: 0,
    lines: lines.filter((line) => !line.startsWith('\\')),
  }))
}

export function sizeOf(before: string, after: string): Size {
  const lines = hunksOf(before, after).flatMap((hunk) => hunk.lines)
  const of = (sign: string): number => lines.filter((line) => line.startsWith(sign)).length
  return { added: of('+'), removed: of('-') }
}

export function DiffSize({ added, removed }: Size): JSX.Element {
  return (
    <span class="diff-size">
      <span class="added">+{added}</span> <span class="removed">−{removed}</span>
    </span>
  )
}

/** What differs between two lines that stand for each other, as marked parts of each. */
const MAX_LINE = 400
const WORD = /\w+|\s+|[^\w\s]/g
/** Lines that share less than this have nothing to compare word by word. */
const MIN_SHARED = 0.4

function wordsOf(before: string, after: string): [ComponentChildren, ComponentChildren] | undefined {
  if (before.length > MAX_LINE || after.length > MAX_LINE) return undefined
  const parts = diffArrays(before.match(WORD) ?? [], after.match(WORD) ?? [])
  const textOf = (words: readonly string[]): string => words.join('')
  const shared = parts
    .filter((part) => !part.added && !part.removed)
    .reduce((sum, part) => sum + textOf(part.value).trim().length, 0)
  if (shared < MIN_SHARED * Math.max(before.trim().length, after.trim().length)) return undefined
  const side = (name: 'added' | 'removed'): ComponentChildren =>
    parts
      .filter((part) => part[name] || (!part.added && !part.removed))
      .map((part) =>
        part[name] ? <span class="word">{redacted(textOf(part.value))}</span> : redacted(textOf(part.value)),
      )
  return [side('removed'), side('added')]
}

/** The lines of a hunk as they are shown; removed ones and the added ones right behind them are compared by pairs. */
function shownLines(lines: readonly string[]): ComponentChildren[] {
  const shown: ComponentChildren[] = lines.map((line) => redacted(line.slice(1)))
  let at = 0
  while (at < lines.length) {
    const from = at
    while (lines[at]?.startsWith('-')) at++
    const middle = at
    while (lines[at]?.startsWith('+')) at++
    // As many of each: what each became is clear then.
    if (middle - from === at - middle)
      for (let i = from; i < middle; i++) {
        const other = i + middle - from
        const words = wordsOf((lines[i] as string).slice(1), (lines[other] as string).slice(1))
        if (words) [shown[i], shown[other]] = words
      }
    if (at === from) at++
  }
  return shown
}

const SIGNS: Record<string, [name: string, sign: string]> = {
  '+': ['added', '+'],
  '-': ['removed', '−'],
  ' ': ['same', ' '],
}

function HunkLines({ hunk }: { hunk: Hunk }): JSX.Element {
  const isPlaced = hunk.after_line > 0
  let [old, fresh] = [hunk.before_line, hunk.after_line]
  const shown = shownLines(hunk.lines)
  return (
    <>
      {isPlaced && <div class="line place">line {hunk.after_line}</div>}
      {hunk.lines.map((line, i) => {
        const sign = line[0] ?? ' '
        const [name, mark] = SIGNS[sign] ?? ['same', ' ']
        const number = sign === '-' ? old : fresh
        if (sign !== '+') old++
        if (sign !== '-') fresh++
        return (
          <div class={`line ${name}`}>
            {isPlaced && <span class="number">{number}</span>}
            <span class="sign">{mark}</span>
            <span class="text">{shown[i]}</span>
          </div>
        )
      })}
    </>
  )
}

export function Hunks({ hunks, label }: { hunks: readonly Hunk[]; label: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <section class="diff" tabIndex={0} aria-label={label}>
      {hunks.map((hunk, i) => (
        <>
          {i > 0 && hunk.after_line === 0 && <div class="line place">⋯</div>}
          <HunkLines hunk={hunk} />
        </>
      ))}
    </section>
  )
}

export function Diff({
  before,
  after,
  label,
}: {
  before: string
  after: string
  label: string
}): JSX.Element {
  const hunks = useMemo(() => hunksOf(before, after), [before, after])
  if (hunks.length === 0)
    return <p class="muted">{before === after ? 'Nothing changed.' : 'Too large to be compared here.'}</p>
  return <Hunks hunks={hunks} label={label} />
}
