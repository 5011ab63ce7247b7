// Passwords in command lines, data source names and password files: known by the program or the notation around them.
import { isTypedPassword, looksLikeFile, looksLikePassword } from './entropy.ts'
import { readCodes } from './escapes.ts'
import { type Finding, MARKER } from './finding.ts'

const SPACE = 32
const [LOWER_A, LOWER_P, LOWER_U, UPPER_N, UPPER_P] = [97, 112, 117, 78, 80]
const FLAGS = new Set([LOWER_A, LOWER_P, LOWER_U, UPPER_N, UPPER_P])

/** Whether the letter after a dash is one of the flags asked about below. */
export const isShortFlag = (letter: number | undefined): boolean => letter !== undefined && FLAGS.has(letter)

/** What stands before `at` of the command it belongs to. */
function commandBefore(text: string, at: number): string {
  const floor = Math.max(0, at - 400)
  let i = at
  for (; i > floor; i--) {
    const c = text[i - 1] as string
    // A line end after a backslash goes on with the command.
    if (
      c === '\n' ? !/\\\r?$/.test(text.slice(Math.max(0, i - 3), i - 1)) : c === ';' || c === '|' || c === '&'
    )
      break
  }
  return readCodes(text.slice(i, at))
}

/** At the dash of a flag of one letter: the password after it, if the command is one that takes it there. */
export function atShortFlag(text: string, codes: Uint16Array, at: number): Finding | undefined {
  const letter = codes[at + 1]
  const isAttached = codes[at + 2] !== SPACE
  if (letter === LOWER_U) return isAttached ? undefined : atUserFlag(text, at, at + 2)
  const command = commandBefore(text, at)
  if (letter === LOWER_P && isAttached && /\b(?:mysql|mariadb)/.test(command)) return typedAt(text, at + 2)
  if (letter === LOWER_P && opensSshpass(command)) return typedAt(text, at + 2)
  if (isAttached) return undefined
  const takesPassword =
    letter === LOWER_A
      ? /\b(?:redis|valkey|keydb)-(?:cli|benchmark)\b/.test(command)
      : letter === LOWER_P
        ? /\blogin\b/.test(command) &&
          /\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane)\b/.test(command)
        : /\bssh-keygen\b/.test(command)
  return takesPassword ? typedAt(text, at + 2) : undefined
}

/** Only options may stand between: the `-p` of the command it starts is another's. */
function opensSshpass(command: string): boolean {
  const at = command.lastIndexOf('sshpass')
  return at >= 0 && /^(?:\s+-[a-z]+)*\s*$/i.test(command.slice(at + 7))
}

/** In quotes: all that stands between them, or the first word where they do not close. */
const TYPED =
  /^[ =]{0,4}(?:\\{0,4}(["'])([^"'`\\\n]{3,200}(?=\\{0,4}\1)|[^\s"'`\\]{3,200})|([^\s"'`;|&<>\\]{3,200}))/

function typedAt(text: string, at: number): Finding | undefined {
  const match = TYPED.exec(text.slice(at, at + 220))
  const value = match?.[2] ?? match?.[3]
  if (!match || value === undefined || value.startsWith(MARKER) || !isTypedPassword(value)) return undefined
  const start = at + match[0].length - value.length
  return { start, end: start + value.length, rule: 'command-password' }
}

const USER = /^[ =]{1,4}["'`\\]{0,2}([^\s:"'`]{0,80})["'`]?:["'`]?([^\s"'`\\]{3,200})/

/** After `-u` or `--user`: the password, if it is curl's. */
export function atUserFlag(text: string, start: number, end: number): Finding | undefined {
  const match = USER.exec(text.slice(end, end + 300))
  const password = match?.[2] ?? ''
  if (!match || !isTypedPassword(password) || !/\bcurl\b/.test(commandBefore(text, start))) return undefined
  const from = end + match[0].length - password.length
  return { start: from, end: from + password.length, rule: 'curl-user' }
}

const WORD_END = /[\s"'`\\<>]/

/** At the `@` of `user:password@tcp(host)/db`, as Go and MySQL write it. */
export function dsnPassword(text: string, at: number): Finding | undefined {
  if (!/^@(?:tcp\(|unix\(|\/\w)/.test(text.slice(at, at + 8))) return undefined
  let from = at
  while (from > 0 && at - from < 200 && !WORD_END.test(text[from - 1] as string)) from--
  const word = text.slice(from, at)
  const scheme = word.indexOf('://')
  const colon = word.indexOf(':', scheme < 0 ? 0 : scheme + 3)
  const password = word.slice(colon + 1)
  if (colon < 1 || password.includes('/') || !/[\w%~.-]$/.test(word.slice(0, colon))) return undefined
  if (password.includes(MARKER) || !isTypedPassword(password)) return undefined
  return { start: from + colon + 1, end: at, rule: 'dsn-password' }
}

/** Whether the colon at `at` is followed by a port and a name, as in PostgreSQL's password file. */
export function mayBePgpass(codes: Uint16Array, at: number): boolean {
  let i = at + 1
  if (codes[i] === 42) i++
  else {
    while (i - at < 6 && (codes[i] as number) > 47 && (codes[i] as number) < 58) i++
    if (i - at < 5) return false
  }
  return codes[i] === 58 && (codes[i + 1] as number) > 41
}

const PGPASS = /:(?:\d{4,5}|\*):[\w*.-]{1,63}:[\w*.@-]{1,63}:/y
const MAX_PGPASS = 100

/** At the first colon of a line `host:port:database:user:password`. */
export function pgpass(text: string, at: number): Finding | undefined {
  PGPASS.lastIndex = at
  if (!PGPASS.test(text)) return undefined
  const start = PGPASS.lastIndex
  // Not by the expression: of what goes on for too long it would try every length, at each colon.
  let end = start
  while (end < text.length && end - start <= MAX_PGPASS && !endsPassword(text.charCodeAt(end))) end++
  if (end - start > MAX_PGPASS) return undefined
  const password = text.slice(start, end)
  if (password.length < 4 || !looksLikePassword(password, true)) return undefined
  let from = at
  while (from > 0 && at - from < 100 && /[\w.*-]/.test(text[from - 1] as string)) from--
  const host = text.slice(from, at)
  if (host === '' || looksLikeFile(host)) return undefined
  return { start, end, rule: 'pgpass' }
}

/** White space, quotes, a backslash. */
const endsPassword = (code: number): boolean =>
  code <= 32 ||
  code === 34 ||
  code === 39 ||
  code === 92 ||
  code === 96 ||
  (code > 127 && /\s/.test(String.fromCharCode(code)))
