// The line of an output that says what went wrong: the runner's, the compiler's or the program's own, not what a client or a
// shell puts around it.

const LOOKED_AT = 20_000

/** Whose words count: of a command that only reads, the output is other people's text unless a program speaks in its own name. */
export type Speaker = ((line: string) => boolean) | null

// What surrounds a failure but does not name it: frames, carets, rulers, progress, the client's own wrapping, start-up files of
// shells, and where in its own text a shell found it.
const NOISE =
  /^(?:\s*at\s|\s*\^+\s*$|\s*[-=*_~#.]{3,}\s*$|\s*throw\b|Traceback|\s+File "|\s*\d+\s*\||\s*\|\s|node:|Node\.js v|Exit code:? ?\d|exit: ?\d|Wall time:|Output:|Chunk ID|Process exited|Original token count|Total output lines|Script (?:failed|completed|error)|> |npm (?:error|ERR!) (?:code|path|A complete log|errno|syscall)|\s*$|(?:Now using|warning:)|# [\w./-]+$|[x\W]{0,4}(?:Build failed in [\d.]+ ?m?s|Failed to compile\.?|error during build:)$|At (?:line|[A-Za-z]:[^\n]*):\d+ char:\d+|\+ |\s+\+ (?:CategoryInfo|FullyQualifiedErrorId)|\S*(?:shellenv\.sh|\.?(?:bash|zsh)rc|\.?z?profile|zshenv): line \d+:|\s*%\s+Total\s|\s*\d+(?:\s+\d+){6,}|HTTP\/[\d.]+ \d|(?:date|server|content-\w+|cache-control|connection|vary|etag): )/i

// The most telling first. The name of an exception beats the word "error" somewhere in a line.
const TELLING = [
  /^\s{0,12}(?:Uncaught )?(?:[\w$]+\.)*[A-Z][\w$]*(?:Error|Exception|Failure|Panic|Interrupt|Timeout)\b(?: \[\w+\])?:/,
  /^E\s{2,}\S/,
  // Where the message stands on the next line, or beside its place.
  /\bpanicked at\b|^\* What went wrong:|^\s*\d+:\d+\s+error\s+\S|^\s*● \S|^\s*✖ (?!\d)|^--- FAIL: |^\(fail\) \S/,
  /\b(?:error|fatal)(?:\[\w+\]| [A-Z]+\d+)?: |\bcommand not found\b|\bis not recognized as\b|\bNo such file or directory\b|\S:\d+(?::\d+)? error \S|\bundefined reference to\b|^\S+\.\w+:\d+:\d+: \S/i,
  /\b(?:FAIL(?:ED|URE)?|ERR!|CONFLICT|AssertionError|assertion failed)\b/,
  /\b(?:not found|no such|cannot|can't|could not|unable to|denied|refused|timed? ?out|invalid|unexpected|missing|failed|must be|(?:does|do|did) not|issues? found|rejected|aborted|killed|unknown|unsupported|already exists|not allowed|would be reformatted|out of date|violations?|is reserved|was expected|is not (?:a )?valid|nothing to commit)\b/i,
]

/** Empty where no line tells anything. */
export function tellingLine(text: string, speaker: Speaker = null): string {
  const lines = linesOf(text)
  const heard = speaker && !isPowerShell(text) ? lines.filter(speaker) : lines
  for (const pattern of TELLING) {
    const at = heard.findIndex((one) => pattern.test(one))
    if (at !== -1) return withNext(lines, lines.indexOf(heard[at] as string))
  }
  // Whoever is listened to has something to say.
  return heard === lines || heard[0] === undefined ? '' : withNext(lines, lines.indexOf(heard[0]))
}

/** The first line that is not noise. */
export const firstLineOf = (text: string): string => withNext(linesOf(text), 0)

const linesOf = (text: string): string[] =>
  unwrap(text.length > LOOKED_AT ? `${text.slice(0, LOOKED_AT / 2)}\n${text.slice(-LOOKED_AT / 2)}` : text)
    .split('\n')
    .filter((line) => !NOISE.test(line))

const isPowerShell = (text: string): boolean => /^At line:\d+ char:\d+/m.test(text)

/** How PowerShell begins what a cmdlet has to say, and breaks it at the width of a window. */
const CMDLET = /^[\w.-]+ : \S/

/** A line that ends in a colon announces the message: it stands on the next one. */
function withNext(lines: readonly string[], at: number): string {
  const line = (lines[at] ?? '').trim()
  const next = (lines[at + 1] ?? '').trim()
  const goesOn = line.endsWith(':') || (CMDLET.test(line) && !/[.!'"]$/.test(line) && !CMDLET.test(next))
  return messageIn(goesOn && next !== '' ? `${line} ${next}` : line)
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
      .replace(/<\/?(?:[a-z]+(?:_[a-z]+)+|error)>/g, '')
      // An early client put all of it on one line.
      .replace(/^failed in sandbox \w+ with execution error: (?:sandbox denied exec error, )?/gm, '')
      .replace(/^exit code: \d+, stdout: /gm, '')
      .replace(/, stderr: /g, '\n')
      .replace(/^exit \d+:\s*/, '')
  )
}
