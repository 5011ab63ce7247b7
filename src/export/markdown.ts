// Markdown: prompts as quotes, answers as they were written, calls and their output in fences.
import { argumentsOf, wordsOf } from './body.ts'
import { type ExportEvent, type ExportSource, MAX_DEPTH } from './source.ts'

export function* toMarkdown(
  source: ExportSource,
  depth = 1,
  above: readonly string[] = [],
): Generator<string> {
  const { session } = source
  const level = '#'.repeat(Math.min(depth, 6))
  yield `${level} ${inline(session.title ?? session.session_uid)}\n\n`
  yield `${factLines(source)
    .map(([name, value]) => `- ${name}: ${inline(value)}`)
    .join('\n')}\n\n`
  if (source.loss !== undefined) yield* lossText(source)
  for (const one of source.events()) yield* eventText(one)
  if (depth > MAX_DEPTH) return
  const line = [...above, session.session_uid]
  for (const uid of source.children.filter((child) => !line.includes(child))) {
    const child = source.other(uid)
    if (child) yield* toMarkdown(child, depth + 1, line)
  }
}

/** What is known of a session, for its head. */
export function factLines({ session, agentVersion }: ExportSource): [name: string, value: string][] {
  const { cost } = session
  const facts: [string, string | null][] = [
    ['Session', session.session_uid],
    ['Agent', [session.flavor, agentVersion].filter(Boolean).join(' ')],
    ['Model', session.model],
    ['Repository', session.repo],
    ['Branch', session.git_branch],
    ['Directory', session.cwd],
    ['Started', session.started_at],
    ['Ended', session.ended_at],
    ['Outcome', session.outcome],
    ['Tokens', `${cost.input_tokens} in, ${cost.output_tokens} out, ${cost.cache_tokens} cache`],
    ['Turns', String(cost.turns)],
  ]
  return facts.filter((fact): fact is [string, string] => fact[1] !== null && fact[1] !== '')
}

function* lossText(source: ExportSource): Generator<string> {
  yield `> **${source.loss}**\n\n`
  const { digest } = source
  if (!digest) return
  if (digest.first_prompt) yield `${quote(digest.first_prompt)}\n\n`
  if (digest.last_assistant) yield `${digest.last_assistant}\n\n`
  const errors = digest.error_snippets.map((one) => `- ${one.count}× ${inline(one.sample)}`)
  if (errors.length > 0) yield `Errors:\n\n${errors.join('\n')}\n\n`
  const files = digest.files.map((one) => `- ${inline(one.path)}${one.edits > 0 ? ' (changed)' : ''}`)
  if (files.length > 0) yield `Files:\n\n${files.join('\n')}\n\n`
}

function* eventText({ event, isCall, isResult, payload }: ExportEvent): Generator<string> {
  const mark = marksOf(event)
  const name = `#${event.seq}`
  if (event.kind === 'lifecycle' || event.kind === 'completion') {
    yield `*${name} ${inline(event.summary)}${mark}*\n\n`
  } else if (isCall) {
    yield `**${name} ${inline(event.tool ?? event.kind)}**${mark}\n\n${fence(JSON.stringify(argumentsOf(payload()), null, 2), 'json')}\n\n`
  } else if (isResult) {
    const code = event.exit_code === null ? '' : `, exit ${event.exit_code}`
    const what = `${event.kind === 'error' ? 'failed' : 'result'}${code}`
    yield `${name} ${inline(event.tool ?? '')} ${what}${mark}\n\n${fence(wordsOf(event, payload()))}\n\n`
  } else if (event.role === 'assistant' && event.kind !== 'thinking') {
    yield `**${name} Answer**${mark}\n\n${wordsOf(event, payload())}\n\n`
  } else {
    yield `**${name} ${TITLES[event.kind] ?? event.kind}**${mark}\n\n${quote(wordsOf(event, payload()))}\n\n`
  }
}

const TITLES: Partial<Record<ExportEvent['event']['kind'], string>> = {
  user_msg: 'Prompt',
  thinking: 'Thinking',
  human_intervention: 'Human',
  decision: 'Decision',
  error: 'Error',
}

/** What sets an event apart from the main story. */
export function marksOf(event: ExportEvent['event']): string {
  const marks = [
    event.is_sidechain ? `sub-agent ${event.agent ?? ''}`.trim() : '',
    event.is_inherited ? 'inherited' : '',
    event.is_superseded ? 'taken back' : '',
  ].filter(Boolean)
  return marks.length === 0 ? '' : ` (${marks.join(', ')})`
}

const quote = (text: string): string => text.replace(/^/gm, '> ')

/** On one line, with nothing that Markdown would read. */
const inline = (text: string): string =>
  text
    .replace(/\s+/gu, ' ')
    .trim()
    .replace(/[\\`*_[\]<>#|]/g, '\\$&')

/** Longer than any run of backticks inside. */
function fence(text: string, language = ''): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length))
  const mark = '`'.repeat(longest + 1)
  return `${mark}${language}\n${text}${text.endsWith('\n') ? '' : '\n'}${mark}`
}
