// One HTML file that needs nothing else: no script, no remote resource, everything recorded escaped. Light and dark, and
// on paper.
import { argumentsOf, wordsOf } from './body.ts'
import { factLines, marksOf } from './markdown.ts'
import { type ExportEvent, type ExportSource, MAX_DEPTH } from './source.ts'

/** Everything that could end a text, an attribute or a comment; and what turns the direction of writing. */
export const escapeHtml = (text: string): string =>
  text
    .replace(/[&<>"'`]/g, (sign) => `&#${sign.charCodeAt(0)};`)
    .replace(
      /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
      '',
    )
    .toWellFormed()

const STYLE = `
:root{color-scheme:light dark;--fg:#1c2024;--bg:#fff;--soft:#f4f5f7;--line:#d8dce2;--dim:#5d6670;--ask:#eaf2ff;--bad:#b3261e}
@media (prefers-color-scheme:dark){:root{--fg:#e6e8eb;--bg:#16181b;--soft:#1f2226;--line:#363b42;--dim:#9aa3ad;--ask:#182840;--bad:#ff8a80}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:60rem;font:16px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg)}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2.5rem}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem;color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
article{margin:.6rem 0;padding:.5rem .8rem;border-left:3px solid var(--line)}
article.user_msg,article.human_intervention,article.decision{background:var(--ask);border-color:#3b82f6}
article.error{border-color:var(--bad)}article.thinking,article.lifecycle,article.completion{color:var(--dim);font-size:.9rem}
article.side{margin-left:1.5rem}
.head{font-size:.8rem;color:var(--dim)}.head a{color:inherit}
pre{margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,monospace}
.words{font:inherit}details>pre{padding:.5rem;background:var(--soft)}summary{cursor:pointer;overflow-wrap:anywhere}
.loss{padding:.6rem .8rem;border:1px solid var(--bad)}
@media print{body{max-width:none;padding:0;font-size:11pt}article{break-inside:avoid}details>pre{background:none}}
`

export function* toHtml(source: ExportSource): Generator<string> {
  const title = escapeHtml(source.session.title ?? source.session.session_uid)
  yield `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${title}</title><style>${STYLE}</style></head><body>
`
  yield* sessionHtml(source, 1, [])
  yield '</body></html>\n'
}

function* sessionHtml(source: ExportSource, depth: number, above: readonly string[]): Generator<string> {
  const { session } = source
  const uid = session.session_uid
  const tag = depth === 1 ? 'h1' : 'h2'
  yield `<section>\n<${tag}>${escapeHtml(session.title ?? uid)}</${tag}>\n<dl>`
  for (const [name, value] of factLines(source)) yield `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`
  yield '</dl>\n'
  if (source.loss !== undefined) yield* lossHtml(source)
  for (const one of source.events()) yield eventHtml(one, uid)
  const line = [...above, uid]
  for (const childUid of depth > MAX_DEPTH ? [] : source.children.filter((one) => !line.includes(one))) {
    const child = source.other(childUid)
    if (child) yield* sessionHtml(child, depth + 1, line)
  }
  yield '</section>\n'
}

function* lossHtml(source: ExportSource): Generator<string> {
  yield `<div class="loss"><p>${escapeHtml(source.loss ?? '')}</p>`
  const { digest } = source
  if (digest?.first_prompt) yield `<article class="user_msg">${words(digest.first_prompt)}</article>`
  if (digest?.last_assistant) yield `<article class="assistant_msg">${words(digest.last_assistant)}</article>`
  for (const one of digest?.error_snippets ?? [])
    yield `<article class="error">${one.count}× ${words(one.sample)}</article>`
  for (const one of digest?.files ?? []) yield `<p>${escapeHtml(one.path)}</p>`
  yield '</div>\n'
}

const words = (text: string): string => `<pre class="words">${escapeHtml(text)}</pre>`

function eventHtml({ event, isCall, isResult, payload }: ExportEvent, uid: string): string {
  const id = `${escapeHtml(uid)}-${event.seq}`
  const time = event.ts === null ? '' : ` · <time datetime="${event.ts}">${event.ts.slice(11, 19)}</time>`
  const code = event.exit_code === null ? '' : ` · exit ${event.exit_code}`
  const tool = event.tool === null ? '' : ` · ${escapeHtml(event.tool)}`
  const head = `<div class="head"><a href="#${id}">#${event.seq}</a> ${event.kind}${tool}${time}${code}${escapeHtml(marksOf(event))}</div>`
  const side = event.is_sidechain ? ' side' : ''
  return `<article id="${id}" class="${event.kind}${side}">${head}${bodyHtml(event, { isCall, isResult, payload })}</article>\n`
}

function bodyHtml(event: ExportEvent['event'], one: Omit<ExportEvent, 'event' | 'call'>): string {
  if (event.kind === 'lifecycle' || event.kind === 'completion') return words(event.summary)
  if (one.isCall) return folded(event.summary, JSON.stringify(argumentsOf(one.payload()), null, 2))
  const text = wordsOf(event, one.payload())
  if (one.isResult || event.kind === 'thinking') return folded(event.summary, text)
  return words(text)
}

/** What fits on a line needs no folding. */
const folded = (summary: string, text: string): string =>
  text.trim() === summary.trim() || text.trim() === ''
    ? words(summary)
    : `<details><summary>${escapeHtml(summary)}</summary><pre>${escapeHtml(text)}</pre></details>`
