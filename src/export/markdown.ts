// Markdown: prompts as quotes, answers as they were written, calls and their output in fences, edits as diffs.
import type { Body } from '../event/body.ts'
import { givenText, wordsOf } from '../event/words.ts'
import { isCall, type SessionEvent } from '../model.ts'
import { diffsOf } from './diff.ts'
import { endsOpen } from './ends-open.ts'
import type { ExportSource } from './source.ts'
import { type Chapter, factLines, marksOf, outcomeOf, storyOf, titleOf } from './story.ts'
import { harmless } from './text.ts'

export function* toMarkdown(source: ExportSource): Generator<string> {
  yield `# ${inline(titleOf(source))}\n\n`
  yield `${factLines(source)
    .map(([name, value]) => `- ${name}: ${inline(value)}`)
    .join('\n')}\n\n`
  if (source.loss !== undefined) yield* lossText(source)
  for (const chapter of storyOf(source)) yield* chapterText(source, chapter)
  if (source.unread !== undefined) yield `> **${source.unread}**\n\n`
}

function* lossText(source: ExportSource): Generator<string> {
  yield `> **${source.loss}**\n\n`
  const { digest } = source
  if (!digest) return
  if (digest.first_prompt) yield `${quote(digest.first_prompt)}\n\n`
  if (digest.last_assistant) yield `${answer(digest.last_assistant)}\n\n`
  const errors = digest.error_snippets.map((one) => `- ${one.count}× ${inline(one.sample)}`)
  if (errors.length > 0) yield `Errors:\n\n${errors.join('\n')}\n\n`
  const files = digest.files.map((one) => `- ${inline(one.path)}${one.edits > 0 ? ' (changed)' : ''}`)
  if (files.length > 0) yield `Files:\n\n${files.join('\n')}\n\n`
}

function* chapterText(source: ExportSource, chapter: Chapter): Generator<string> {
  switch (chapter.type) {
    case 'agent': {
      yield `---\n\n**Sub-agent** ${inline(chapter.name)}, ${chapter.eventCount} ${chapter.eventCount === 1 ? 'event' : 'events'}\n\n`
      const own = chapter.name === chapter.sessionUid ? source.other(chapter.sessionUid) : undefined
      if (own?.loss !== undefined) yield* lossText(own)
      return
    }
    case 'end':
      return yield '*end of the sub-agent*\n\n---\n\n'
    case 'notes':
      return yield `*${chapter.events.map((event) => `#${event.seq} ${inline(event.summary)}${marksOf(event)}`).join(' · ')}*\n\n`
    case 'event':
      yield* eventText(source, chapter.event, chapter.result)
  }
}

const TITLES: Partial<Record<SessionEvent['kind'], string>> = {
  user_msg: 'Prompt',
  assistant_msg: 'Answer',
  thinking: 'Thinking',
  human_intervention: 'Human',
  decision: 'Decision',
  error: 'Error',
}

function* eventText(
  source: ExportSource,
  event: SessionEvent,
  result: SessionEvent | null,
): Generator<string> {
  const mark = marksOf(event)
  const name = `#${event.seq}`
  const words = (of: SessionEvent): string => wordsOf(of, source.body(of))
  if (event.role === 'tool')
    return yield `**${name} ${inline(event.tool ?? 'Result')}** ${outcomeOf(event, event)}${mark}\n\n${fence(words(event))}\n\n`
  if (!isCall(event)) {
    const text = words(event)
    const isAnswer = event.kind === 'assistant_msg'
    return yield `**${name} ${TITLES[event.kind] ?? event.kind}**${mark}\n\n${isAnswer ? answer(text) : quote(text)}\n\n`
  }
  yield `**${name} ${inline(event.tool ?? '')}** ${outcomeOf(event, result)}${mark}\n\n`
  yield `${askedText(event, source.body(event))}\n\n`
  const output = result ? words(result) : ''
  if (output.trim() !== '') yield `${fence(output)}\n\n`
}

/** An edit as its diff, a command as it was typed, anything else as its arguments; the summary when the body is gone. */
function askedText(event: SessionEvent, body: Body | undefined): string {
  const diffs = diffsOf(body)
  if (diffs.length > 0)
    return diffs.map(({ path, lines }) => fence([`--- ${path}`, ...lines].join('\n'), 'diff')).join('\n\n')
  const given = body ? givenText(body, 2) : ''
  if (given === '') return fence(event.summary)
  return fence(given, body?.command !== undefined ? 'sh' : typeof body?.input === 'string' ? '' : 'json')
}

const quote = (text: string): string =>
  harmless(text)
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n')

/** As it was written; one that would take in whatever follows, because it was cut off in a fence, as its source. */
function answer(text: string): string {
  const plain = harmless(text)
  return endsOpen(plain) ? fence(plain, 'markdown') : plain
}

/** On one line, with nothing that Markdown would read. */
const inline = (text: string): string =>
  harmless(text)
    .replace(/\s+/gu, ' ')
    .trim()
    .replace(/[\\`*_[\]<>#|&~]/g, '\\$&')

/** Longer than any run of backticks inside. */
function fence(given: string, language = ''): string {
  const text = harmless(given)
  let longest = 2
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  const mark = '`'.repeat(longest + 1)
  return `${mark}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${mark}`
}
