// A line of an error message without what varies from one occurrence to the next: paths, places in files, ids, numbers,
// times, addresses, names of users, quotes. What names the failure stays: codes, statuses, packages, commands.

/** What is left of a line to compare; the same for the same failure. */
export function shapeOf(line: string): string {
  const missing = missingCommand(line)
  if (missing !== undefined) return `command not found: ${missing}`
  let shape = withoutWrapping(line)
    .slice(0, LONGEST)
    .replace(/[‘’‚′´`]/g, "'")
    .replace(/[“”„«»]/g, '"')
  shape = withoutQuotedPaths(keepNames(shape)).replace(QUOTED_TEXT, '$1‹text›$1')
  for (const [pattern, mark] of VARYING) shape = shape.replace(pattern, mark)
  return shape.replace(HIDDEN, shown).replace(/\s+/g, ' ').trim().toLowerCase()
}

/** How messages name a file: `program: file: No such …`, `in file`, in quotes, or behind a colon. */
const PATHS = [
  /^(?:\S{0,200}sh: (?:line \d+: )?)?[\w.-]{1,60}: (?:can't read |cannot access )?['‘"]?([^\s:'’"]{1,200}(?::[\\/][^\s:'’"]{1,200})?)['’"]?: (?:IO error|No such file|The system cannot find)/,
  /\b(?:in|file|update) ((?:[A-Za-z]:)?[^\s'"`:]{1,200}\.\w{1,8})/,
  /['"`]([^'"`\n]{0,200}[\\/.][^'"`\n]{0,200})['"`]/,
  /: ((?:[A-Za-z]:)?[\\/~.][^\s'"`:]{1,200})/,
]

/** The file that a message names; empty where there is none. */
export function pathIn(line: string): string {
  for (const pattern of PATHS) {
    const path = pattern.exec(line)?.[1]
    if (path !== undefined && !/\s{2}|[{};=]/.test(path))
      return path.replaceAll('\\', '/').replace(/\/{2,}/g, '/')
  }
  return ''
}

const LONGEST = 2000

/** Who says it, and the lines that were looked for, are not what failed. */
function withoutWrapping(line: string): string {
  const said = line.replace(
    /^(?:\S{1,60}: )?apply_patch verification failed: |^(?:Error|error|fatal): (?=Failed to find expected lines|invalid (?:hunk|patch))/,
    '',
  )
  const upTo = (words: string, length: number): string =>
    said.includes(words) ? said.slice(0, said.indexOf(words) + length) : ''
  const isHunk = /^invalid hunk at line \d/.test(said) && said.includes(NO_HEADER)
  if (isHunk) return `invalid hunk: ${NO_HEADER}`
  return upTo(NO_LINES, NO_LINES.length) || upTo(' Note: your current working directory is', 0) || said
}

const NO_HEADER = 'is not a valid hunk header'
const NO_LINES = 'Failed to find expected lines'

// Every shell says it in its own words.
const MISSING = [
  /(?:^|: )(?:line )?(?:\d+: )?([\w.+@-]+): (?:command )?not found$/,
  /\bcommand not found: ([\w.+@-]+)$/i,
  /^'([\w.+@-]+)' is not recognized as\b/,
  /\bThe term '([\w.+@-]+)' is not recognized\b/,
  /^(?:fish: )?Unknown command:? '?([\w.+@-]+)'?$/,
  // Started without a shell.
  /^execution error: No such file or directory \(os error 2\): ([\w.+@-]+)/,
]

export function missingCommand(line: string): string | undefined {
  for (const pattern of MISSING) {
    const name = pattern.exec(line)?.[1]
    if (name !== undefined) return name.toLowerCase()
  }
  return undefined
}

/** Characters that no later rule takes for a part of a path or a number. */
const HIDDEN = /[\u{f0000}-\u{f00ff}]/gu
const hide = (text: string): string =>
  text.replace(/[\d/\\@.:-]/g, (one) => String.fromCodePoint(0xf0000 + one.charCodeAt(0)))
const shown = (one: string): string => String.fromCharCode((one.codePointAt(0) as number) - 0xf0000)

// Numbers and slashes that tell failures apart: statuses, codes of exits, errors and databases, names of packages.
const NAMES = [
  /\bAPI error:? [1-5]\d\d\b/gi,
  /\b(?:status(?: code)?|exit(?:ed)?(?: with)?(?: code| status)?|returned error|error code|errno|signal|code)\b[ :=#(]*\d{1,5}\b/gi,
  /\bHTTP(?:\/\d(?:\.\d)?)? ?\d{3}\b/gi,
  /\b[A-Z]{2,8}-\d{3,6}\b/g,
  /\b(?:error|code|hresult|status)\b[ :=]*0x[8c][0-9a-f]{7}\b/gi,
  // Not a file of the project itself.
  /\b(?:module|package|crate|import(?:ing)?|dependency)\b:? ['"]?(?![./~\\]|[A-Za-z]:[\\/]|(?:src|lib|app|dist|build|tests?)\/|[^'"\s]*\.(?:[cm]?[jt]sx?|json|py|rs|go|java|rb|php|c|h|cpp)\b)@?[\w-]+(?:[./@-][\w.-]+)+/gi,
]

function keepNames(text: string): string {
  let kept = text
  for (const pattern of NAMES) kept = kept.replace(pattern, hide)
  return kept
}

/** What is quoted as a sentence is an example of what failed; a single name is what failed. */
const QUOTED_TEXT = /(["'])(?=[^"'\n]* [^"'\n]* )[^"'\n]{24,}\1/g

/** Within quotes a path may hold anything, spaces too. */
const withoutQuotedPaths = (text: string): string =>
  text.replace(
    /(['"])(?:[A-Za-z]:[\\/]|\\\\|~?[\\/]|\$\{?\w+\}?[\\/]|%\w+%[\\/]|[\w.+-]+[\\/]|file:)[^'"\n]*\1/g,
    '$1‹path›$1',
  )

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*'
const CLOCK = '\\d{1,2}:\\d\\d(?::\\d\\d(?:[.,]\\d+)?)?(?: ?[AaPp]\\.?[Mm]\\b\\.?)?'
const DOMAIN =
  '(?:com|org|net|io|dev|app|ai|co|edu|gov|local|internal|lan|cloud|svc|test|example|de|uk|fr|eu|us|cn|jp)'

// In this order: a later rule sees what an earlier one left. The marks are words no message holds. Where a rule may begin at
// each letter of what it looks for, that has a bound (of a host's name, of a file's): else its time would grow with the square.
const VARYING: [RegExp, string][] = [
  [/\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s'"`)\]>]+/gi, '‹url›'],
  [/\b[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,20}\b/g, '‹mail›'],
  [/\[REDACTED:[^\][]*\]/g, '‹secret›'],
  [/\b(user(?:name)?|login|role|owner|account)([ :=]+)(['"])[^'"]{1,80}\3/gi, '$1$2‹user›'],
  [
    /\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]+\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d))?)?/g,
    '‹time›',
  ],
  [new RegExp(`\\b\\d{1,2}/${MONTH}/\\d{4}(?::${CLOCK})?(?: [+-]\\d{4})?`, 'g'), '‹time›'],
  [
    new RegExp(
      `\\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:${MONTH} +\\d{1,2}|\\d{1,2} ${MONTH})(?:,? \\d{4})?(?:,? +${CLOCK})?(?: (?:[A-Z]{3,4}|[+-]\\d{4}))?(?: \\d{4})?\\b`,
      'g',
    ),
    '‹time›',
  ],
  [/\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?(?: ?[AaPp]\.?[Mm]\b)?/g, '‹time›'],
  [/\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b/gi, '‹n›'],
  // Addresses, before their parts are taken for paths or numbers.
  [new RegExp(`\\b(?:[\\w-]{1,63}\\.){1,20}${DOMAIN}:\\d{1,5}\\b`, 'gi'), '‹host›'],
  [/\[?(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\]?(?::\d{1,5})?(?![\w:])/gi, '‹host›'],
  [/(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b/g, '‹host›'],
  [/\blocalhost(?::\d+)?\b/g, '‹host›'],
  // A path: a drive, a share, a root, a variable or a dot in front, or a name with slashes; the line behind it goes too.
  [
    /(?<![\w.@~+›-])(?:[A-Za-z]:[\\/]|\\\\|~\w*[\\/]|\.{1,2}[\\/]|\$\{?\w+\}?[\\/]|%\w+%[\\/]|[\\/](?=[\w.@~-]))[^\s'"`:,;|<>()[\]{}]*(?::\d+)*/g,
    '‹path›',
  ],
  [/(?<![\w›@])(?!@)[\w.@~+-]{1,255}(?:[\\/][\w.@~+-]+)+(?::\d+)*/g, '‹path›'],
  [/(?<![\w›])[\w@~+-][\w.@~+-]{0,250}\.[A-Za-z][A-Za-z0-9]{0,4}(?::\d+)+\b/g, '‹path›'],
  [/\b0x[0-9a-f]+\b/gi, '‹n›'],
  [/@[0-9a-f]{4,8}\b/g, '@‹n›'],
  [/(?<![\w.])(?:\d+(?:\.\d+)?(?:ms|µs|us|ns|d|h|m|s))+(?![\w›])/g, '‹n›'],
  [
    /\b\d+(?:[.,]\d+){0,20}\s?(?:ms|µs|us|ns|s|sec|secs|seconds?|minutes?|min|m|h|hours?|[kKMGT]i?B|bytes|B|%)(?![\w›])/g,
    '‹n›',
  ],
  // An id: hex or letters and digits mixed, long enough not to be a name; with a word in front (`req_`), a little less.
  [/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}\b/g, '‹n›'],
  [/\b(?=[\w-]{0,255}\d)(?=[\w-]{0,255}[A-Z])(?=[\w-]{0,255}[a-z])[A-Za-z0-9_-]{20,24}\b/g, '‹n›'],
  [/\b(?=\w*\d)(?=\w*[A-Za-z])\w{16,}\b/g, '‹n›'],
  [/\b([a-z]{2,8})[_-](?=[0-9a-z]*\d)(?=[0-9a-z]*[a-z])[0-9a-z]{8,}\b/g, '$1_‹n›'],
  [/(‹n›)-(?=[a-z]*\d|[a-z0-9]*\d)[a-z0-9]{5}\b|(‹n›)-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '‹n›'],
  // Left between marks and words: numbers that stand alone. A number inside a name (TS2304, E0308, HTTP2) stays.
  [/(?<![\w.›])[+-]?\d+(?:[.,:]\d+)*(?![\w›])/g, '‹n›'],
  [/(?:‹n›[\s,x×/-]*)+‹n›/g, '‹n›'],
]
