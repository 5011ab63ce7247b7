// Exit codes, and how an error is told: `error:`, `where:`, `cause:`, `try:` on stderr, or with --json one document on stdout.
import { causeOf, fromUnforeseen, type RecollectError } from '../errors.ts'
import { inLocale, paintError } from './colour.ts'
import { isBegun, printJson, tell } from './print.ts'
import { terminal } from './streams.ts'
import { foldText, harmless } from './text.ts'

/** At the top of a command these are about what was typed. */
const ABOUT_COMMAND_LINE = new Set(['USAGE', 'AMBIGUOUS', 'BAD_CONFIG', 'BAD_NAME', 'BAD_INPUT'])

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  partial: 4,
  busy: 5,
  interrupted: 130,
  terminated: 143,
} as const

/** Whether the answer is to be a document; asked before the command line is understood. */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  const own = end === -1 ? args : args.slice(0, end)
  return own.some((word, at) => word === '--json' || word === '--format=json' || isFormat(word, own[at + 1]))
}

const isFormat = (word: string, value: string | undefined): boolean => word === '--format' && value === 'json'

/** Tells an error and returns the exit code it deserves. */
export function reportError(error: unknown, asJson = false): number {
  const ours = fromUnforeseen(error)
  const known = ours.code === 'INTERNAL' ? undefined : ours
  if (asJson && !isBegun()) printJson({ error: ours })
  else if (known) tell(inLocale(errorText(known)))
  else
    tell(
      `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\ntry: ${ours.hint}\n`,
    )
  if (known?.code === 'BUSY') return EXIT.busy
  return known && ABOUT_COMMAND_LINE.has(known.code) ? EXIT.usage : EXIT.failed
}

/** File names and ids in it are foreign text. */
export function errorText(error: RecollectError): string {
  const label = (name: string): string => paintError.bold(`${name}:`)
  const lines = [`${paintError.red(label('error'))} ${harmless(error.message)} [${error.code}]`]
  lines.push(`${label('where')} ${harmless(error.where)}`)
  const cause = causeOf(error)
  if (cause !== undefined) lines.push(`${label('cause')} ${harmless(cause)}`)
  lines.push(`${label('try')} ${harmless(error.hint)}`)
  return `${foldText(lines.join('\n'), terminal(2)?.columns || Number.POSITIVE_INFINITY)}\n`
}
