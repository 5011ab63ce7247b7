// Markdown as elements of ours. Only the structure is taken from the parser: HTML in it stays the text it is, links lead to
// http, https and mailto only, and images are named, not loaded.
import { marked, type Token, type Tokens } from 'marked'
import type { ComponentChildren, JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { Code } from './code.tsx'
import { redacted } from './plain.tsx'

const MAX_LENGTH = 200_000
const SAFE_LINK = /^(https?:|mailto:)/i

export function Markdown({ text }: { text: string }): JSX.Element {
  const tokens = useMemo(() => parse(text), [text])
  if (tokens === undefined) return <pre class="plain">{redacted(text)}</pre>
  return <div class="markdown">{blocks(tokens)}</div>
}

/** Undefined when the text is too long or too strange to be taken apart. */
function parse(text: string): Token[] | undefined {
  if (text.length > MAX_LENGTH) return undefined
  try {
    return marked.lexer(text, { gfm: true, breaks: true })
  } catch {
    return undefined
  }
}

const blocks = (tokens: readonly Token[]): ComponentChildren => tokens.map(block)

function block(token: Token): ComponentChildren {
  switch (token.type) {
    case 'heading':
      // One level below the page's own headings, whatever a transcript says.
      return <p class={`heading heading-${(token as Tokens.Heading).depth}`}>{inline(token.tokens)}</p>
    case 'paragraph':
      return <p>{inline(token.tokens)}</p>
    case 'code':
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang ?? ''} />
    case 'blockquote':
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>
    case 'list':
      return list(token as Tokens.List)
    case 'table':
      return table(token as Tokens.Table)
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
      return null
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens) : redacted(token.text)
    default:
      return <p>{redacted(token.raw)}</p>
  }
}

function list(token: Tokens.List): JSX.Element {
  const items = token.items.map((item) => (
    <li class={item.task ? 'task' : ''}>
      {item.task && <span>{item.checked ? '☑ ' : '☐ '}</span>}
      {blocks(item.tokens)}
    </li>
  ))
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function table(token: Tokens.Table): JSX.Element {
  return (
    <table class="prose">
      <thead>
        <tr>
          {token.header.map((cell) => (
            <th scope="col">{inline(cell.tokens)}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {token.rows.map((row) => (
          <tr>
            {row.map((cell) => (
              <td>{inline(cell.tokens)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function inline(tokens: readonly Token[] | undefined): ComponentChildren {
  return tokens?.map(span) ?? null
}

function span(token: Token): ComponentChildren {
  switch (token.type) {
    case 'strong':
      return <strong>{inline(token.tokens)}</strong>
    case 'em':
      return <em>{inline(token.tokens)}</em>
    case 'del':
      return <del>{inline(token.tokens)}</del>
    case 'codespan':
      return <code>{redacted((token as Tokens.Codespan).text)}</code>
    case 'br':
      return <br />
    case 'link':
      return link(token as Tokens.Link)
    case 'image':
      return <span class="muted">[image: {token.text || token.href}]</span>
    case 'escape':
      return token.text
    case 'text':
      return 'tokens' in token && token.tokens ? inline(token.tokens) : redacted(token.text)
    default:
      return redacted(token.raw)
  }
}

function link(token: Tokens.Link): ComponentChildren {
  if (!SAFE_LINK.test(token.href)) return <span title={token.href}>{inline(token.tokens)}</span>
  return (
    <a href={token.href} target="_blank" rel="noopener noreferrer nofollow">
      {inline(token.tokens)}
    </a>
  )
}
