// Exit codes, and how an error is told to a person.
import { RecollectError } from '../errors.ts'

/** At the top of a command these are about what was typed. */
const ABOUT_COMMAND_LINE = new Set(['USAGE', 'BAD_CONFIG', 'BAD_NAME', 'BAD_INPUT'])

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  partial: 4,
  busy: 5,
  interrupted: 130,
  terminated: 143,
} as const

/** Prints an error on stderr (`error:`, `where:`, `try:`) and returns the exit code it deserves. */
export function reportError(error: unknown): number {
  if (!(error instanceof RecollectError)) {
    process.stderr.write(
      `error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
    )
    return EXIT.failed
  }
  process.stderr.write(`error: ${error.message} [${error.code}]\n`)
  if (error.where !== undefined) process.stderr.write(`where: ${error.where}\n`)
  if (error.cause instanceof Error) process.stderr.write(`cause: ${error.cause.message}\n`)
  if (error.hint !== undefined) process.stderr.write(`try: ${error.hint}\n`)
  if (error.code === 'BUSY') return EXIT.busy
  return ABOUT_COMMAND_LINE.has(error.code) ? EXIT.usage : EXIT.failed
}

/** For commands that only print: `recollect … | head` closes our output early, which is no error. */
export function endWithOutput(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(EXIT.ok)
  })
}
