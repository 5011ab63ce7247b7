// Secrets known by where they stand, not by how they look: after a secret-like name, in a URL, a header, a key block.
// Each function is called at one character of the text and gives the range of the secret, or nothing.
import type { Budget } from './budget.ts'
import { isScope, isVerdict, isVerdictWord, nameBefore } from './context.ts'
import { isStandIn, isTypedPassword, looksLikePassword, looksRandom } from './entropy.ts'
import { type Finding, MARKER } from './finding.ts'
import { nameKind, own } from './names.ts'
import { puttyLines } from './rules-blocks.ts'
import { atUserFlag, mayBePgpass, pgpass } from './rules-commands.ts'

/** The structural rules, with what they find; docs and tests read this list. */
export const STRUCTURE_RULES: Record<string, string> = {
  'private-key': 'PEM private key or PGP private block, also cut short or with escaped line ends',
  'putty-key': 'private lines of a PuTTY key',
  'url-password': 'password in the userinfo of a URL',
  'authorization-header': 'credentials of an Authorization or similar header',
  cookie: 'values of a Cookie or Set-Cookie header',
  'docker-auth': 'base64 user:password of a Docker configuration',
  password: 'literal beside a password-like name, flag or element',
  'assigned-secret': 'random-looking text assigned to a secret-like name',
  'nearby-secret': 'random-looking text on the same line after a secret-like word',
  'curl-user': 'password of `curl -u user:password`',
  'command-password':
    'password after `mysql -p`, `sshpass -p`, `redis-cli -a`, `docker login -p` or `ssh-keygen -N`',
  'dsn-password': 'password in a data source name of Go or MySQL (`user:password@tcp(…)`)',
  'sentry-dsn': 'keys in a Sentry DSN',
  pgpass: 'password in a line of `.pgpass`',
  'azure-sas': 'signature of a shared access URL',
  'signed-url': 'signature of a signed URL of Google, Amazon or CloudFront',
}

/** What reading the value of a name costs that may be a secret's. */
const USED = 300

const QUOTE = /["'`]/

// The last three letters of the names that matter at an operator: one look spares the regular expressions almost always.
const LAST_THREE = new Uint8Array(1 << 15)
for (const end of 'ord swd pwd ass ase ret ken key ion kie sig uth nes ial als psk ult ure'.split(' ')) {
  LAST_THREE[((end.charCodeAt(0) & 31) << 10) | ((end.charCodeAt(1) & 31) << 5) | (end.charCodeAt(2) & 31)] =
    1
}

const isLetter = (code: number): boolean => (code > 96 && code < 123) || (code > 64 && code < 91)

/** Could the name before the operator at `at` be secret-like? */
function mayBeSecretName(codes: Uint16Array, at: number): boolean {
  let last = at - 1
  // Over quotes, brackets, spaces and a trailing number: `"password" :`, `token2=`.
  while (last > 1 && at - last < 6 && !isLetter(codes[last] as number)) last--
  if (last < 2) return false
  const end = (((codes[last - 2] as number) & 31) << 10) | (((codes[last - 1] as number) & 31) << 5)
  return LAST_THREE[end | ((codes[last] as number) & 31)] === 1
}

/** Whether the operator at `at` can be one of those below: asked for every sign of a text, so quick to say no. */
export function mayBeOperator(codes: Uint16Array, at: number): boolean {
  if (codes[at + 1] === 47) return true
  // Of a doubled sign the first one counts.
  if (codes[at - 1] === codes[at]) return false
  return mayBeSecretName(codes, at) || (codes[at] === 58 && mayBePgpass(codes, at))
}

/** At `=`, `:` or `>`: a value assigned to a secret-like name, a header, a URL's password or a line of a password file. */
export function atOperator(text: string, at: number, budget: Budget): Finding | undefined {
  if (text.charCodeAt(at + 1) === 47 && text.charCodeAt(at + 2) === 47) return inUrl(text, at + 3, budget)
  const isColon = text.charCodeAt(at) === 58
  const line = isColon && /[\d*]/.test(text[at + 1] ?? '') ? pgpass(text, at) : undefined
  if (line) return line
  const name = nameBefore(text, at)
  if (name === '' || isScope(text, at)) return undefined
  const use = useOf(name)
  if (use !== 'none') budget.left -= USED
  switch (use) {
    case 'putty':
      if (isColon) return puttyLines(text, at, budget)
      break
    case 'cookie':
      if (isColon) return cookie(text, at + 1, budget)
      break
    case 'authorization':
      return authorization(text, at + 1, budget)
    case 'signature':
      return signature(text, at + 1, name)
    case 'auth':
      return dockerAuth(text, at + 1)
    case 'default':
      return isColon ? undefined : terraformDefault(text, at, budget)
    case 'verdict':
      if (isVerdict(text, at)) return undefined
      break
    case 'none':
      return undefined
  }
  return assigned(text, at + 1, name, budget)
}

type Use =
  | 'putty'
  | 'cookie'
  | 'authorization'
  | 'signature'
  | 'auth'
  | 'default'
  | 'verdict'
  | 'secret'
  | 'none'

const knownUses = new Map<string, Use>()

/** What stands after a name and an operator. Remembered, like what names mean: they repeat by the thousand. */
function useOf(name: string): Use {
  let use = knownUses.get(name)
  if (use === undefined) {
    use = judgeUse(name)
    if (knownUses.size >= 10_000) knownUses.clear()
    knownUses.set(own(name), use)
  }
  return use
}

function judgeUse(name: string): Use {
  const word = name.slice(name.lastIndexOf(' ') + 1)
  if (isVerdictWord(word)) return 'verdict'
  const last = word.toLowerCase()
  if (last === 'private-lines') return 'putty'
  if (last === 'cookie' || last === 'set-cookie') return 'cookie'
  if (last.endsWith('authorization')) return 'authorization'
  if (last === 'sig' || /^(?:x-(?:goog|amz)-)?signature$/.test(last)) return 'signature'
  if (last === 'default') return 'default'
  if (last === 'auth') return 'auth'
  const kind = nameKind(name)
  return kind === 'none' || kind === 'weak' ? 'none' : 'secret'
}

/** After `--password`, `PASSWORD` and the like followed by a space. */
export function atFlag(text: string, start: number, end: number, budget: Budget): Finding | undefined {
  const name = text.slice(start, end)
  if (name === '--user') return atUserFlag(text, start, end)
  const isFlag = name.startsWith('--')
  const kind = nameKind(name)
  if (kind !== 'password' && !(isFlag && kind === 'strong')) return undefined
  const netrc =
    !isFlag && /\b(?:machine|login|user)\b[^\n]{1,80}$/i.test(text.slice(Math.max(0, start - 90), start))
  return isFlag || netrc ? literalAt(text, end, 'password', false, budget) : undefined
}

function assigned(text: string, at: number, name: string, budget: Budget): Finding | undefined {
  const kind = nameKind(name)
  if (kind === 'none' || kind === 'weak') return undefined
  // The value of an XML element may stand on a line of its own.
  const lead = text[at - 1] === '>' ? /^(?:\s|\\+[nrt]){0,40}/ : /^[=:>]{0,2}[ \t]{0,8}/
  const skip = lead.exec(text.slice(at, at + 80))?.[0].length ?? 0
  return literalAt(
    text,
    at + skip,
    kind === 'password' ? 'password' : 'assigned-secret',
    kind !== 'password',
    budget,
  )
}

const BARE_END = /[\s"'`,;&|<>(){}[\]\\]|$/

/** The value at `at`, in quotes or bare, if it is a literal secret. */
function literalAt(
  text: string,
  at: number,
  rule: string,
  strict: boolean,
  budget: Budget,
): Finding | undefined {
  let start = at
  while (start - at < 8 && (text.charCodeAt(start) === 32 || text.charCodeAt(start) === 92)) start++
  const quote = text[start] ?? ''
  const quoted = QUOTE.test(quote)
  if (quoted) start++
  const rest = text.slice(start, start + 220)
  if (rest.startsWith(MARKER)) return undefined
  let length = quoted ? rest.indexOf(quote) : rest.search(BARE_END)
  if (length <= 0) return undefined
  while (length > 0 && rest[length - 1] === '\\') length--
  const value = rest.slice(0, length)
  budget.left -= 400 + 20 * length
  if (strict && (value.length < 8 || !looksRandom(value.padEnd(12, value)))) return undefined
  return looksLikePassword(value, quoted) ? { start, end: start + length, rule } : undefined
}

/** A whole string that is the value of `name`: as in `{ "password": "…" }`. */
export function wholeValue(text: string, name: string): Finding | undefined {
  if (text.length > 200) return undefined
  const kind = nameKind(name)
  if ((kind !== 'password' && kind !== 'strong') || !looksLikePassword(text, true)) return undefined
  if (kind === 'strong' && !looksRandom(text.padEnd(12, text))) return undefined
  return { start: 0, end: text.length, rule: kind === 'password' ? 'password' : 'assigned-secret' }
}

const SENTRY = /^([0-9a-f]{32}(?::[0-9a-f]{32})?)@[\w.-]{3,100}\/\d/
const USERINFO = /^([^\s:@/"'`<>\\(){}[\]?#]{0,100}):([^\s@"'`<>\\]{3,300})@(?=[\w[])/

function inUrl(text: string, at: number, budget: Budget): Finding | undefined {
  const rest = text.slice(at, at + 420)
  if (!rest.includes('@')) return undefined
  budget.left -= USED
  const keys = SENTRY.exec(rest)?.[1]
  if (keys) return { start: at, end: at + keys.length, rule: 'sentry-dsn' }
  const match = USERINFO.exec(rest)
  const user = match?.[1] ?? ''
  const password = match?.[2] ?? ''
  if (!match || password.startsWith(MARKER) || password.includes('/')) return undefined
  if (password === user || !isTypedPassword(password)) return undefined
  const start = at + user.length + 1
  return { start, end: start + password.length, rule: 'url-password' }
}

const SCHEME =
  /^[=:]{0,2}[\s"'`\\({[]{0,6}(?:(basic|bearer|token|apikey|api-key|key|digest|negotiate|aws4-hmac-sha256|splunk|genie[-]?key|sso-key|oauth|discogs token=|bot)[ :]\s{0,8}["'`]?)?/i
const CREDENTIALS = /^[A-Za-z0-9._~+/=:|%-]{8,2000}/

function authorization(text: string, at: number, budget: Budget): Finding | undefined {
  const rest = text.slice(at, at + 2100)
  const lead = SCHEME.exec(rest)
  const value = CREDENTIALS.exec(rest.slice(lead?.[0].length ?? 0))?.[0] ?? ''
  budget.left -= 800 + 10 * value.length
  const hasScheme = lead?.[1] !== undefined
  if (value === '' || isStandIn(value) || !/\d|[a-z][A-Z]|=$/.test(value)) return undefined
  if (!hasScheme && !looksRandom(value)) return undefined
  if (/^[A-Za-z]+(?:[._-][A-Za-z]+)*\d{0,2}$/.test(value) && !/^[A-Za-z0-9+/]{12,}={1,2}$/.test(value)) {
    if (!(hasScheme && looksRandom(value))) return undefined
  }
  const start = at + (lead?.[0].length ?? 0)
  return { start, end: start + value.length, rule: 'authorization-header' }
}

const COOKIE_NAME = /(?:^|[^\w-]|\\[nrt])(?:set-)?cookie["'`\\ ]{0,4}$/i
const COOKIES = /^[ \t]{0,4}["'`\\]{0,2}[ \t]{0,2}([\w.%-]{1,80}=[^\r\n"'`\\]{8,4000})/

function cookie(text: string, at: number, budget: Budget): Finding | undefined {
  if (!COOKIE_NAME.test(text.slice(Math.max(0, at - 24), at - 1))) return undefined
  const match = COOKIES.exec(text.slice(at, at + 4100))
  budget.left -= 20 * (match?.[0].length ?? 0)
  const pairs = match?.[1]
  if (!match || pairs === undefined || pairs.includes(MARKER)) return undefined
  const hasSecret = pairs.split(';').some((pair) => {
    const value = pair.slice(pair.indexOf('=') + 1).trim()
    return value.length >= 8 && !isStandIn(value) && /\d/.test(value) && looksRandom(value.padEnd(12, value))
  })
  const start = at + match[0].length - pairs.length
  return hasSecret ? { start, end: start + pairs.trimEnd().length, rule: 'cookie' } : undefined
}

const SIGNATURE = /^(?:[A-Za-z0-9+/_~-]|%[0-9A-Fa-f]{2}){40,1100}={0,2}/

/** `sig` is Azure's; `Signature` alone means anything unless it is a parameter of a URL. */
function signature(text: string, at: number, name: string): Finding | undefined {
  const isSas = /sig$/i.test(name)
  if (/(?:^|[^-])signature$/i.test(name) && !/[?&]/.test(text[at - 1 - 'signature'.length - 1] ?? ''))
    return undefined
  const value = SIGNATURE.exec(text.slice(at, at + (isSas ? 320 : 1200)))?.[0]
  if (!value || !looksRandom(value)) return undefined
  return { start: at, end: at + value.length, rule: isSas ? 'azure-sas' : 'signed-url' }
}

const VARIABLE = /^variable\s{1,8}\\{0,4}"([\w-]{2,60})\\{0,4}"/

/** `default = "…"` in the block of a Terraform variable with a secret-like name. */
function terraformDefault(text: string, at: number, budget: Budget): Finding | undefined {
  const before = text.slice(Math.max(0, at - 400), at)
  const block = before.slice(before.lastIndexOf('variable'))
  const name = VARIABLE.exec(block)?.[1]
  return name === undefined || /\n\}/.test(block) ? undefined : assigned(text, at + 1, name, budget)
}

function dockerAuth(text: string, at: number): Finding | undefined {
  const match = /^([\s"'`\\]{0,6})([A-Za-z0-9+/]{8,400}={0,2})/.exec(text.slice(at, at + 420))
  if (!match?.[2]) return undefined
  // Decoded only to see whether it is `user:password`; nothing is kept of it.
  const plain = Buffer.from(match[2], 'base64').toString('latin1')
  if (!/^[\x20-\x7e]{1,100}:[\x20-\x7e]{2,200}$/.test(plain)) return undefined
  const start = at + (match[1]?.length ?? 0)
  return { start, end: start + match[2].length, rule: 'docker-auth' }
}
