// What is a failure, and which one. Fingerprints: the same failure with other paths, numbers, ids or times is one fingerprint,
// another failure is another one. First the line that tells the failure is found, then what varies is taken out of it.
import { createHash } from 'node:crypto'
import { partsOf } from './command.ts'
import { snippet } from './event.ts'
import { messageOfJson } from './hidden.ts'
import { isAsking, isProbing, isReading, lookingOf } from './reading.ts'
import { pathIn, shapeOf } from './shape.ts'
import { firstLineOf, type Speaker, tellingLine } from './telling.ts'

export interface Failure {
  fingerprint: string
  /** The telling line as it stood, redacted and cut. */
  sample: string
  /** The file that could not be found or changed: the same failure of another file is overcome elsewhere. Empty for most. */
  about: string
}

/** Raised with every change of the rules below: fingerprints of different rules must not be compared. */
const VERSION = 4
export const FINGERPRINT_PREFIX = `e${VERSION}:`
const SAMPLE_LENGTH = 200

/** How a call failed. `command` and `exitCode` tell silent failures apart: one that printed nothing is known by the program that ended so. */
export interface HowItFailed {
  text: string
  command?: string
  exitCode?: number | null
}

/** Interrupted, or ended by a signal that asks to end: whoever started it ended it. */
const ENDED = new Set([130, 143])

/**
 * Whether a command that ended with another code than 0 is no failure: a search that found nothing, a question whether
 * something is there, a command that was ended on purpose.
 */
export function isMereNo({ text, command = '', exitCode }: HowItFailed): boolean {
  const code = codeOf(text, exitCode)
  if (code !== null && ENDED.has(code)) return true
  if (code !== null && code >= 124) return false
  if (isProbing(command)) return true
  if (isReading(command) && !isOfAService(command)) return tellingLine(text, speakerOf(command)) === ''
  return (
    (code === 1 || code === null) && isAsking(command) && tellingLine(text) === '' && firstLineOf(text) === ''
  )
}

export function failureOf(how: HowItFailed): Failure {
  const line = withoutLongQuotes(lineOf(how))
  const digest = createHash('sha256')
    .update(`${VERSION}\0${shapeOf(line)}`)
    .digest('hex')
  const about = OF_A_FILE.test(line) ? snippet(pathIn(line), SAMPLE_LENGTH) : ''
  return {
    fingerprint: FINGERPRINT_PREFIX + digest.slice(0, 16),
    sample: snippet(line, SAMPLE_LENGTH),
    about,
  }
}

/** What is quoted at length would push out of the sample what is said of it. */
const withoutLongQuotes = (line: string): string =>
  line.length <= SAMPLE_LENGTH ? line : line.replace(/(['"`])([^'"`\n]{40})[^'"`\n]{40,}\1/g, '$1$2…$1')

const OF_A_FILE =
  /\bNo such file\b|\bcannot find (?:the )?(?:path|file)\b|\bdoes not exist\b|\bexpected lines\b|\bfile to update\b|\bFailed to write file\b|\bcan't read\b|\bcannot access\b/i

/** Whether the line went on behind the sample. */
export const isCut = (sample: string): boolean => sample.endsWith('…')

/** Who asks a service prints what it answers, or else what went wrong. Only `checks` tells of others by its code. */
const isOfAService = (command: string): boolean => {
  const parts = partsOf(command).filter((part) => lookingOf(part) !== 'print')
  return parts.length > 0 && parts.every(({ program, args }) => program === 'gh' && args[1] !== 'checks')
}

/** Of what only reads, the output is other people's text: a line counts where a program, a shell or the client speaks itself. */
function speakerOf(command: string): Speaker {
  if (command === '' || !isReading(command) || isOfAService(command)) return null
  const names = new Set(partsOf(command).map(({ program }) => program))
  return (line) => {
    const name = SPEAKS.exec(line)?.[1]?.toLowerCase()
    return (name !== undefined && (names.has(name) || SPEAKERS.test(name))) || CLIENT.test(line)
  }
}

const SPEAKS = /^(?:\S{0,200}[\\/])?([\w.+-]{1,60}?)(?:\.exe)? ?:/
const SPEAKERS = /^(?:(?:ba|z|da|k|fi)?sh|fatal|error|get-\w+|select-\w+)$/
const CLIENT =
  /^(?:command timed out|execution error|sandbox error|failed )|\bcommand not found\b|\bis not recognized as\b/

function lineOf({ text, command = '', exitCode }: HowItFailed): string {
  const code = codeOf(text, exitCode)
  const told = messageOfJson(text) ?? tellingLine(text, speakerOf(command))
  if (told !== '') return withProgram(told, command)
  const first = firstLineOf(text)
  if (command === '') {
    const said = first || (text.trim().split('\n')[0] ?? '')
    return said !== '' && (code === null || first !== '') ? said : silentLine(command, code)
  }
  return first === '' ? silentLine(command, code) : `${silentLine(command, code)}: ${first}`
}

/** Only how it ended, and not what failed: the program tells such ends apart. */
const ENDS =
  /^(?:command timed out(?: after [\d.]+ \w+)?|(?:sandbox error: )?command was killed by a signal|execution error: [^:]*|Exit code:? \d+)$/i

function withProgram(line: string, command: string): string {
  const name = ENDS.test(line) ? programIn(command) : ''
  return name === '' ? line : `${line}: ${name}`
}

const EXIT_CODE = /exit(?:ed)?(?: with)?(?: code)?:? (\d+)/i

/** Programs that keep no code may have printed it. */
function codeOf(text: string, exitCode: number | null = null): number | null {
  const printed = exitCode === null ? EXIT_CODE.exec(text.slice(0, 300))?.[1] : undefined
  return printed === undefined ? exitCode : Number(printed)
}

/** `timeout` and shells that end a program after a time give this code. */
const TIMED_OUT = 124

function silentLine(command: string, code: number | null): string {
  const name = programIn(command) || 'it'
  if (code === TIMED_OUT) return `${name} timed out, exit code ${code}`
  return `${name} failed${code === null ? ' without a word' : `, exit code ${code}`}`
}

/** The program, and what it was told to do where it does many things. */
function programIn(command: string): string {
  const parts = partsOf(command)
  const part = parts.find((one) => /[a-z]/.test(one.program) && lookingOf(one) !== 'print') ?? parts[0]
  if (!part) return ''
  const task = MANY_TASKS.has(part.program) ? part.args.find((one) => /^[a-z][\w:-]*$/.test(one)) : undefined
  return task === undefined ? part.program : `${part.program} ${task}`
}

export const MANY_TASKS = new Set(
  'git gh cargo npm pnpm yarn bun go docker kubectl dotnet uv pip pip3 poetry make just mise brew gradle gradlew mvn terraform swift'.split(
    ' ',
  ),
)
