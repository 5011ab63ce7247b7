// What a terminal would have shown: colours and weights as classes, every other control sequence dropped. Links that
// hide in sequences lose their target; their text stays.
import type { ComponentChildren, JSX } from 'preact'
import { redacted } from './plain.tsx'

// Control sequences, operating system commands (closed by BEL or ST), and other escapes.
const SEQUENCE =
  /\x1b\[([0-9;:]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[@-Z\\-_]|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g
const NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white']

interface Style {
  colour: string
  isBold: boolean
  isDim: boolean
  isItalic: boolean
  isUnderlined: boolean
}
const PLAIN: Style = { colour: '', isBold: false, isDim: false, isItalic: false, isUnderlined: false }

function applied(style: Style, codes: readonly number[]): Style {
  let next = style
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number
    if (code === 0) next = PLAIN
    else if (code === 1) next = { ...next, isBold: true }
    else if (code === 2) next = { ...next, isDim: true }
    else if (code === 3) next = { ...next, isItalic: true }
    else if (code === 4) next = { ...next, isUnderlined: true }
    else if (code === 22) next = { ...next, isBold: false, isDim: false }
    else if (code === 23) next = { ...next, isItalic: false }
    else if (code === 24) next = { ...next, isUnderlined: false }
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97))
      next = { ...next, colour: NAMES[code % 10] as string }
    else if (code === 39) next = { ...next, colour: '' }
    // Exact colours would fight with ours: they become emphasis.
    else if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4
  }
  return next
}

const classOf = (style: Style): string =>
  [
    style.colour && `ansi-${style.colour}`,
    style.isBold && 'ansi-bold',
    style.isDim && 'ansi-dim',
    style.isItalic && 'ansi-italic',
    style.isUnderlined && 'ansi-underline',
  ]
    .filter(Boolean)
    .join(' ')

/** A carriage return overwrites its line: what was last drawn is what was seen. */
const settled = (text: string): string =>
  text.includes('\r') ? text.replaceAll('\r\n', '\n').split('\n').map(lastDrawn).join('\n') : text

const lastDrawn = (line: string): string => line.slice(line.lastIndexOf('\r', line.length - 2) + 1)

export function Terminal({ text }: { text: string }): JSX.Element {
  const parts: ComponentChildren[] = []
  let style = PLAIN
  let from = 0
  const clean = settled(text)
  const push = (part: string): void => {
    if (part === '') return
    const name = classOf(style)
    parts.push(name === '' ? redacted(part) : <span class={name}>{redacted(part)}</span>)
  }
  for (const match of clean.matchAll(SEQUENCE)) {
    push(clean.slice(from, match.index))
    from = match.index + match[0].length
    if (match[2] === 'm') style = applied(style, (match[1] || '0').split(/[;:]/).map(Number))
  }
  push(clean.slice(from))
  return <>{parts}</>
}
