// Code with a little colour: comments, strings, numbers and the words that most languages share. Not a parser; a wrong
// guess costs a colour, nothing else.
import type { ComponentChildren, JSX } from 'preact'
import { redacted } from './plain.tsx'

const MAX_COLOURED = 40_000
const TOKEN =
  /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(?:^|(?<=\s))#[^\n]*|--[^\n-][^\n]*)|("(?:\\.|[^"\\\n]){0,400}"|'(?:\\.|[^'\\\n]){0,400}'|`(?:\\.|[^`\\]){0,400}`)|\b(\d[\d_.]*(?:e[+-]?\d+)?|0x[\da-f]+)\b|\b(abstract|and|as|async|await|begin|break|case|catch|class|const|continue|def|default|defer|del|do|elif|else|end|enum|except|export|extends|false|final|finally|fn|for|from|func|function|go|if|impl|implements|import|in|interface|is|lambda|let|match|mod|module|mut|new|nil|none|None|not|null|or|package|pass|private|protected|pub|public|raise|return|self|static|struct|super|switch|then|this|throw|trait|true|True|False|try|type|typeof|undefined|use|using|var|void|where|while|with|yield)\b/g

export function coloured(text: string): ComponentChildren {
  if (text.length > MAX_COLOURED) return redacted(text)
  const parts: ComponentChildren[] = []
  let from = 0
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > from) parts.push(redacted(text.slice(from, match.index)))
    const kind = match[1] ? 'comment' : match[2] ? 'string' : match[3] ? 'number' : 'keyword'
    parts.push(<span class={`code-${kind}`}>{redacted(match[0])}</span>)
    from = match.index + match[0].length
  }
  parts.push(redacted(text.slice(from)))
  return parts
}

const PROSE = /^(|text|txt|plain|plaintext|console|output|log|markdown|md)$/i

export function Code({ text, language = 'code' }: { text: string; language?: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by the keyboard
    <pre class="code" tabIndex={0}>
      <code>{PROSE.test(language) ? redacted(text) : coloured(text)}</code>
    </pre>
  )
}
