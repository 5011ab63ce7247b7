// Error fingerprints: the same failure with other paths, numbers, ids or times is one fingerprint, another failure is
// another one. First the line that tells the failure is found, then what varies is taken out of it.
import { createHash } from 'node:crypto'
import { snippet } from './event.ts'
import { isAsking } from './reading.ts'
import { shapeOf } from './shape.ts'

export interface Failure {
  fingerprint: string
  /** The telling line as it stood, redacted and cut. */
  sample: string
}

/** Raised with every change of the rules below: fingerprints of different rules must not be compared. */
const VERSION = 2
export const FINGERPRINT_PREFIX = `e${VERSION}:`
const LOOKED_AT = 20_000
const SAMPLE_LENGTH = 200

/** How a call failed. `command` and `exitCode` tell silent failures apart: one that printed nothing is known by the program that ended so. */
interface Told {
  text: string
  command?: string
  exitCode?: number | null
}

/** Whether it only said, by its exit code, that there is nothing of the kind: no failure to be compared. */
export const isMereNo = ({ text, command = '', exitCode }: Told): boolean =>
  codeOf(text, exitCode) === 1 && isAsking(command) && tellingLine(text) === ''

export function failureOf(toolClass: string, { text, command = '', exitCode }: Told): Failure {
  const line = tellingLine(text) || silentLine(text, command, codeOf(text, exitCode))
  const shape = shapeOf(line)
  const digest = createHash('sha256').update(`${VERSION}\0${toolClass}\0${shape}`).digest('hex')
  return { fingerprint: FINGERPRINT_PREFIX + digest.slice(0, 16), sample: snippet(line, SAMPLE_LENGTH) }
}

/** Whether the line went on behind the sample. */
export const isCut = (sample: string): boolean => sample.endsWith('…')

// What surrounds a failure but does not name it: frames, carets, rulers, progress, the client's own wrapping.
const NOISE =
  /^(?:\s*at\s|\s*\^+\s*$|\s*[-=*_~#.]{3,}\s*$|\s*throw\b|Traceback|\s+File "|\s*\d+\s*\||\s*\|\s|node:|Node\.js v|Exit code:? ?\d|exit: ?\d|Wall time:|Output:|Chunk ID|Process exited|Total output lines|> |npm (?:error|ERR!) (?:code|path|A complete log|errno|syscall)|\s*$|(?:Now using|warning:))/i

// The most telling first. The name of an exception beats the word "error" somewhere in a line.
const TELLING = [
  /^(?:Uncaught )?(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Failure|Panic|Interrupt|Timeout)\b(?: \[\w+\])?:/,
  /^E\s{2,}\S/,
  // Where the message stands on the next line, or beside its place.
  /\bpanicked at\b|^\* What went wrong:|^\s*\d+:\d+\s+error\s+\S|^\s*● \S/,
  /\b(?:error|fatal)(?:\[\w+\]| [A-Z]+\d+)?: |\bcommand not found\b|\bis not recognized as\b|\bNo such file or directory\b/i,
  /\b(?:FAIL(?:ED|URE)?|ERR!|AssertionError|assertion failed)\b/,
  /\b(?:not found|cannot|can't|could not|unable to|denied|refused|timed? ?out|invalid|unexpected|missing|failed|must be)\b/i,
]

/** The line of an output that says what went wrong; empty when none does. */
function tellingLine(text: string): string {
  const clean = unwrap(
    text.length > LOOKED_AT ? `${text.slice(0, LOOKED_AT / 2)}\n${text.slice(-LOOKED_AT / 2)}` : text,
  )
  const lines = clean.split('\n').filter((line) => !NOISE.test(line))
  for (const pattern of TELLING) {
    const at = lines.findIndex((one) => pattern.test(one))
    if (at !== -1) return withNext(lines, at)
  }
  return withNext(lines, 0)
}

/** A line that ends in a colon announces the message: it stands on the next one. */
function withNext(lines: readonly string[], at: number): string {
  const line = (lines[at] ?? '').trim()
  const next = line.endsWith(':') ? (lines[at + 1] ?? '').trim() : ''
  return messageIn(next === '' ? line : `${line} ${next}`)
}

/** What a provider wraps in JSON, taken out of it: the rest is ids and empty fields. */
function messageIn(line: string): string {
  const [first, last] = [line.indexOf('{'), line.lastIndexOf('}')]
  if (first === -1) return line
  MESSAGE.lastIndex = first
  const message = MESSAGE.exec(line)?.[1]
  return message === undefined || MESSAGE.lastIndex > last
    ? line
    : line.slice(0, first) + message + line.slice(last + 1)
}

const MESSAGE = /"message": ?"((?:[^"\\]|\\.)+)"/g

const EXIT_CODE = /exit(?:ed)?(?: with)?(?: code)?:? (\d+)/i

/** Programs that keep no code may have printed it. */
function codeOf(text: string, exitCode: number | null = null): number | null {
  const printed = exitCode === null ? EXIT_CODE.exec(text)?.[1] : undefined
  return printed === undefined ? exitCode : Number(printed)
}

function silentLine(text: string, command: string, code: number | null): string {
  const program =
    /^\s*(?:(?:cd\s[^&;|]*(?:&&|;)|\w+=\S*(?!\S)|sudo|time|env)\s*)*([\w./-]+)/.exec(command)?.[1] ?? ''
  const said = text.trim().split('\n')[0] ?? ''
  if (code === null && said !== '') return said
  return `${program.split('/').at(-1) || 'it'} failed without a word${code === null ? '' : `, exit code e${code}`}`
}

/** A terminal shows what was written last over the same line. */
const shownOf = (line: string): string => line.slice(line.lastIndexOf('\r', line.length - 2) + 1)

function unwrap(text: string): string {
  return (
    text
      // Links and titles, then colours, and what is left of colours where the first byte got lost.
      .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, '')
      .replace(/(?:\u001b\[|\u009b)[0-9;?]*[A-Za-z]|\u001b[()][A-Z0-9]|\u001b[=>]/g, '')
      .replace(/\[\d{1,3}(?:;\d{1,3})*m(?!\])|\[m(?![\w\]])/g, '')
      .replaceAll('\r\n', '\n')
      .split('\n')
      .map(shownOf)
      .join('\n')
      .replaceAll('\r', '')
      .replace(/<\/?[a-z_]+>/g, '')
      // An early client put all of it on one line.
      .replace(/^failed in sandbox \w+ with execution error: (?:sandbox denied exec error, )?/gm, '')
      .replace(/^exit code: \d+, stdout: /gm, '')
      .replace(/, stderr: /g, '\n')
      .replace(/^exit \d+:\s*/, '')
  )
}
