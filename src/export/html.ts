// One HTML file that needs nothing else: no script, no remote resource, everything recorded escaped. Light and dark, and
// on paper.
import { givenText, subjectOf, wordsOf } from '../event/words.ts'
import { isCall, type SessionEvent } from '../model.ts'
import { changeText, diffsOf, type FileDiff } from './diff.ts'
import type { ExportSource } from './source.ts'
import { type Chapter, factLines, marksOf, outcomeOf, storyOf, titleOf } from './story.ts'
import { escapeHtml } from './text.ts'
import { timelineSvg } from './timeline.ts'

const STYLE = `
:root{color-scheme:light dark;--fg:#1c2024;--bg:#fff;--soft:#f4f5f7;--line:#d8dce2;--dim:#5d6670;--ask:#eaf2ff;--bad:#b3261e;--add:#e3f5e6;--cut:#fde8e6}
@media (prefers-color-scheme:dark){:root{--fg:#e6e8eb;--bg:#16181b;--soft:#1f2226;--line:#363b42;--dim:#9aa3ad;--ask:#182840;--bad:#ff8a80;--add:#12331b;--cut:#3d1b1b}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem;max-width:60rem;font:16px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg)}
h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1rem;margin:.3rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem;color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
article{margin:.6rem 0;padding:.5rem .8rem;border-left:3px solid var(--line)}
figure.timeline{margin:1rem 0}figure.timeline svg{width:100%;font:11px sans-serif}figure.timeline text{fill:currentColor}
rect.said{fill:#94a3b8}rect.call{fill:#3b82f6}rect.error{fill:#dc2626}figcaption{font-size:.8em;opacity:.7}
article.user_msg,article.human_intervention,article.decision{background:var(--ask);border-color:#3b82f6}
article.error,article.failed{border-color:var(--bad)}article.thinking,article.notes{color:var(--dim);font-size:.9rem}
section.agent{margin:.6rem 0 .6rem 1rem;padding-left:.8rem;border-left:3px double var(--line)}
.head{font-size:.8rem;color:var(--dim)}.head a{color:inherit}
pre{margin:.3rem 0;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.45 ui-monospace,monospace}
.words{font:inherit}details>pre,pre.diff{padding:.5rem;background:var(--soft)}summary{cursor:pointer;overflow-wrap:anywhere}
ins,del{display:block;text-decoration:none}ins{background:var(--add)}del{background:var(--cut)}
.loss{padding:.6rem .8rem;border:1px solid var(--bad)}
@media print{body{max-width:none;padding:0;font-size:11pt}article{break-inside:avoid-page}details>pre,pre.diff{background:none}summary{list-style:none}
details:not(.notes)::details-content{content-visibility:visible;display:block;height:auto}article.notes{display:none}}
`

export function* toHtml(source: ExportSource): Generator<string> {
  const title = escapeHtml(titleOf(source))
  yield `<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">
<title>${title}</title><style>${STYLE}</style></head><body>
<section>
<h1>${title}</h1>
<dl>`
  for (const [name, value] of factLines(source)) yield `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`
  yield `</dl>\n${timelineSvg(source)}`
  if (source.loss !== undefined) yield* lossHtml(source)
  for (const chapter of storyOf(source)) yield* chapterHtml(source, chapter)
  if (source.unread !== undefined) yield `<div class="loss"><p>${escapeHtml(source.unread)}</p></div>\n`
  yield '</section>\n</body></html>\n'
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

function* chapterHtml(source: ExportSource, chapter: Chapter): Generator<string> {
  switch (chapter.type) {
    case 'agent': {
      yield `<section class="agent">\n<h2>Sub-agent ${escapeHtml(chapter.name)}, ${chapter.eventCount} ${chapter.eventCount === 1 ? 'event' : 'events'}</h2>\n`
      const own = chapter.name === chapter.sessionUid ? source.other(chapter.sessionUid) : undefined
      if (own?.loss !== undefined) yield* lossHtml(own)
      return
    }
    case 'end':
      return yield '</section>\n'
    case 'notes':
      return yield notesHtml(chapter.events)
    case 'event':
      return yield eventHtml(source, chapter.event, chapter.result)
  }
}

const clock = ({ ts }: SessionEvent): string => (ts === null ? '' : ts.slice(11, 19))

function notesHtml(events: readonly SessionEvent[]): string {
  const lines = events.map((event) => `#${event.seq} ${clock(event)} ${event.summary}${marksOf(event)}`)
  const count = `${events.length} ${events.length === 1 ? 'record' : 'records'} of the program`
  return `<article class="notes"><details class="notes"><summary>${count}</summary><pre>${escapeHtml(lines.join('\n'))}</pre></details></article>\n`
}

const NAMES: Partial<Record<SessionEvent['kind'], string>> = {
  user_msg: 'prompt',
  assistant_msg: 'answer',
  human_intervention: 'human',
}

function eventHtml(source: ExportSource, event: SessionEvent, result: SessionEvent | null): string {
  const id = `${escapeHtml(event.session_uid)}-${event.seq}`
  const time = event.ts === null ? '' : ` · <time datetime="${event.ts}">${clock(event)}</time>`
  const name = escapeHtml(event.tool ?? NAMES[event.kind] ?? event.kind)
  const isAsked = isCall(event)
  const came = isAsked ? outcomeOf(event, result) : event.role === 'tool' ? outcomeOf(event, event) : ''
  const head = `<div class="head"><a href="#${id}">#${event.seq}</a> ${name}${time}${came && ` · ${came}`}${escapeHtml(marksOf(event))}</div>`
  const kind = result?.kind === 'error' ? `${event.kind} failed` : event.kind
  const body = isAsked ? callHtml(source, event, result) : bodyHtml(source, event)
  return `<article id="${id}" class="${kind}">${head}${body}</article>\n`
}

function bodyHtml(source: ExportSource, event: SessionEvent): string {
  const text = wordsOf(event, source.body(event))
  return event.role === 'tool' || event.kind === 'thinking' ? folded(event.summary, text) : words(text)
}

/** An edit as its diff, a command as it was typed, anything else as its arguments; the summary when the body is gone. What came back is folded. */
function callHtml(source: ExportSource, event: SessionEvent, result: SessionEvent | null): string {
  const body = source.body(event)
  const diffs = diffsOf(body)
  const output = result ? wordsOf(result, source.body(result)) : ''
  const came = output.trim() === '' ? '' : folded(lineCount(output), output)
  if (body === undefined) return words(event.summary) + came
  if (diffs.length > 0) return diffs.map(diffHtml).join('') + came
  if (body.command !== undefined) return `<pre>${escapeHtml(body.command)}</pre>${came}`
  return folded(subjectOf(event), givenText(body, 2)) + came
}

function diffHtml(edit: FileDiff): string {
  const tags: Record<string, string> = { '+': 'ins', '-': 'del' }
  const lines = edit.lines.map((line) => {
    const tag = tags[line[0] ?? '']
    return tag ? `<${tag}>${escapeHtml(line)}</${tag}>` : `${escapeHtml(line)}\n`
  })
  return `<div>${escapeHtml(edit.path)} ${changeText(edit)}</div><pre class="diff">${lines.join('')}</pre>`
}

function lineCount(text: string): string {
  const count = text.trimEnd().split('\n').length
  return count === 1 ? text.trimEnd().slice(0, 200) : `${count} lines`
}

/** What fits on a line needs no folding. */
const folded = (summary: string, text: string): string =>
  text.trim() === summary.trim() || text.trim() === ''
    ? words(summary)
    : `<details><summary>${escapeHtml(summary)}</summary><pre>${escapeHtml(text)}</pre></details>`
