// Error fingerprints: the same failure with other paths, numbers, ids or times is one fingerprint, another failure is
// another one. First the line that tells the failure is found, then what varies is taken out of it.
import { createHash } from 'node:crypto'
import { snippet, toolClass } from './event.ts'

export interface Failure {
  fingerprint: string
  /** The telling line as it stood, redacted and cut. */
  sample: string
}

/** Raised with every change of the rules below: fingerprints of different rules must not be compared. */
const VERSION = 1
const LOOKED_AT = 20_000
const SAMPLE_LENGTH = 200

/** `command` tells silent failures apart: one that printed nothing is known by the program that ended so. */
export function failureOf(tool: string | null, text: string, command = ''): Failure {
  const line = tellingLine(text) || silentLine(text, command)
  const shape = shapeOf(line)
  const digest = createHash('sha256')
    .update(`${VERSION}\0${toolClass(tool)}\0${shape}`)
    .digest('hex')
  return { fingerprint: `e${VERSION}:${digest.slice(0, 16)}`, sample: snippet(line, SAMPLE_LENGTH) }
}

// What surrounds a failure but does not name it: frames, carets, rulers, progress, the client's own wrapping.
const NOISE =
  /^(?:\s*at\s|\s*\^+\s*$|\s*[-=*_~#.]{3,}\s*$|\s*throw\b|Traceback|\s+File "|\s*\d+\s*\||\s*\|\s|node:|Node\.js v|Exit code:? ?\d|exit: ?\d|Wall time:|Output:|Chunk ID|Process exited|Total output lines|> |npm (?:error|ERR!) (?:code|path|A complete log|errno|syscall)|\s*$|(?:Now using|warning:))/i

// The most telling first. The name of an exception beats the word "error" somewhere in a line.
const TELLING = [
  /^(?:Uncaught )?(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Failure|Panic|Interrupt|Timeout)\b(?: \[\w+\])?:/,
  /^E\s{2,}\S/,
  /\b(?:error|fatal)(?:\[\w+\])?: |\bpanicked at\b|\bcommand not found\b|\bis not recognized as\b|\bNo such file or directory\b/i,
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
    const line = lines.find((one) => pattern.test(one))
    if (line !== undefined) return line.trim()
  }
  return (lines[0] ?? '').trim()
}

function silentLine(text: string, command: string): string {
  const program =
    /^(?:\s*(?:cd\s[^&;|]*(?:&&|;)|\w+=\S*|sudo|time|env)\s*)*([\w./-]+)/.exec(command)?.[1] ?? ''
  const code = /exit(?:ed)?(?: with)?(?: code)?:? (\d+)/i.exec(text)?.[1]
  const said = text.trim().split('\n')[0] ?? ''
  if (code === undefined && said !== '') return said
  return `${program.split('/').at(-1) || 'it'} failed without a word${code === undefined ? '' : `, exit code e${code}`}`
}

function unwrap(text: string): string {
  return text
    .replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '')
    .replaceAll('\r', '')
    .replace(/<\/?[a-z_]+>/g, '')
    .replace(/^exit \d+:\s*/, '')
}

// In this order: a later rule sees what an earlier one left. The marks are words no message holds.
const VARYING: [RegExp, string][] = [
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s'"`)\]>]+/gi, '‹url›'],
  [/\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b/g, '‹mail›'],
  [/\[REDACTED:[^\]]*\]/g, '‹secret›'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?/g, '‹time›'],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b/g, '‹time›'],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '‹id›'],
  // A path: a drive, a root or a dot in front, or a name with slashes and an ending; the line behind it goes too.
  [
    /(?<![\w.@~+›-])(?:[A-Za-z]:[\\/]|~[\\/]|\.{1,2}[\\/]|[\\/](?=[\w.@~-]))[^\s'"`:,;|<>()[\]{}]*(?::\d+)*/g,
    '‹path›',
  ],
  [/(?<![\w›])[\w.@~+-]+(?:[\\/][\w.@~+-]+)+(?::\d+)*/g, '‹path›'],
  [/(?<![\w›])[\w@~+-][\w.@~+-]*\.[A-Za-z][A-Za-z0-9]{0,4}(?::\d+)+\b/g, '‹path›'],
  [/\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '‹host›'],
  [/\b(?:localhost|0\.0\.0\.0)(?::\d+)?\b/g, '‹host›'],
  [/\b0x[0-9a-f]+\b/gi, '‹n›'],
  [
    /\b\d+(?:[.,]\d+)*\s?(?:ms|µs|us|ns|s|sec|secs|seconds?|minutes?|min|m|h|hours?|[kKMGT]i?B|bytes|B|%)(?![\w›])/g,
    '‹n›',
  ],
  // An id: hex or letters and digits mixed, long enough not to be a name.
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b/g, '‹id›'],
  [/\b(?=\w*\d)(?=\w*[A-Za-z])\w{16,}\b/g, '‹id›'],
  // Left between marks and words: numbers that stand alone. A number inside a name (TS2304, E0308, HTTP2) stays.
  [/(?<![\w.›])[+-]?\d+(?:[.,:]\d+)*(?![\w›])/g, '‹n›'],
  [/(?:‹n›[\s,x×/-]*)+‹n›/g, '‹n›'],
  [/\s+/g, ' '],
]

/** The line without what varies from one occurrence to the next. */
function shapeOf(line: string): string {
  let shape = line.slice(0, 2000)
  for (const [pattern, mark] of VARYING) shape = shape.replace(pattern, mark)
  return shape.trim().toLowerCase()
}
