// Who wrote the text of a `user` line. The client puts a lot into the user's mouth: reminders, notifications, outputs
// of local commands. Unknown origins are not human.
import { isRecord, str } from '../kit/guards.ts'

type Author =
  | 'human'
  /** A slash command, or `!` with a shell command. */
  | 'command'
  | 'interrupt'
  /** The process was told to end; the client words it as an interrupt. */
  | 'shutdown'
  /** Put in by the client, and worth finding: what a task, a command or a colleague answered. */
  | 'answer'
  /** Put in by the client for the model's eyes. */
  | 'injected'

const OPENINGS: [string, Author][] = [
  ['[Request interrupted by user', 'interrupt'],
  ['<command-name>', 'command'],
  ['<command-message>', 'command'],
  ['<bash-input>', 'command'],
  ['<bash-stdout>', 'answer'],
  ['<bash-stderr>', 'answer'],
  ['<local-command-stdout>', 'answer'],
  ['<local-command-stderr>', 'answer'],
  ['<task-notification>', 'answer'],
  ['<agent-notification>', 'answer'],
  ['[SYSTEM NOTIFICATION - NOT USER INPUT]', 'answer'],
  ['<agent-message from=', 'answer'],
  ['<teammate-message', 'answer'],
  // The first versions did not mark the summary of a compaction.
  ['This session is being continued from a previous conversation that ran out of context', 'answer'],
  ['<local-command-caveat>', 'injected'],
  ['Caveat: The messages below were generated', 'injected'],
  ['<session-start-hook>', 'injected'],
  ['<user-prompt-submit-hook>', 'injected'],
  ['<tick>', 'injected'],
  ['<goal>', 'injected'],
]

/** Editors and hooks put their notes before the prompt, in the same text. */
const ENVELOPE = /^\s*<(ide_\w+|system-reminder)>[\s\S]*?<\/\1>\s*/

export interface Said {
  by: Author
  /** The text without what the client put before it. */
  text: string
}

export function whoSaid(record: Record<string, unknown>, text: string): Said {
  const opening = OPENINGS.find(([start]) => text.startsWith(start))
  if (opening?.[1] === 'interrupt')
    return { by: record['interruptedByShutdown'] === true ? 'shutdown' : 'interrupt', text }
  if (record['isCompactSummary'] === true) return { by: 'answer', text }
  if (record['isMeta'] === true) return { by: 'injected', text }
  if (opening?.[1] === 'command' && isByModel(record, text)) return { by: 'answer', text }
  if (opening) return { by: opening[1], text }
  const origin = isRecord(record['origin']) ? str(record['origin']['kind']) : undefined
  if (origin !== undefined && origin !== 'human') return { by: 'answer', text }
  if (record['promptSource'] === 'system' || typeof record['teamName'] === 'string')
    return { by: 'answer', text }
  const rest = withoutEnvelopes(text)
  return rest === '' && text !== '' ? { by: 'injected', text } : { by: 'human', text: rest }
}

/** The model's own use of a skill or command looks the same, but comes from a tool. */
const isByModel = (record: Record<string, unknown>, text: string): boolean =>
  typeof record['sourceToolUseID'] === 'string' ||
  /^<command-message>The "[^"\n]*" skill is (?:loading|running)/.test(text)

function withoutEnvelopes(text: string): string {
  let rest = text
  for (let match = ENVELOPE.exec(rest); match; match = ENVELOPE.exec(rest)) rest = rest.slice(match[0].length)
  return rest
}

/** The output of a command that the client carried out, without the marks around its streams; another text as it is. */
export function answerIn(text: string): string {
  const stream = /^<((?:local-command|bash)-std(?:out|err))>/.exec(text)?.[1]
  if (stream === undefined) return text
  const inner = text.slice(stream.length + 2)
  const end = inner.lastIndexOf(`</${stream}>`)
  if (end === -1) return text
  const rest = answerIn(inner.slice(end + stream.length + 3).trim())
  return [inner.slice(0, end), rest].filter((part) => part.trim() !== '').join('\n')
}

/** `/name arguments` or `! command` of a command line. */
export function commandLine(text: string): string {
  const shell = between(text, '<bash-input>', '</bash-input>')
  if (shell !== undefined) return `! ${shell}`
  const name =
    between(text, '<command-name>', '</command-name>') ??
    between(text, '<command-message>', '</command-message>')
  const args = between(text, '<command-args>', '</command-args>') ?? ''
  if (name === undefined) return text
  return `${name.startsWith('/') ? name : `/${name}`} ${args}`.trim()
}

export function between(text: string, open: string, close: string): string | undefined {
  const start = text.indexOf(open)
  if (start === -1) return undefined
  const end = text.indexOf(close, start + open.length)
  return end === -1 ? undefined : text.slice(start + open.length, end).trim()
}
