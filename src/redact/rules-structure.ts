// Secrets known by where they stand, not by how they look: after a secret-like name, in a URL, a header, a key block.
// Each function is called at one character of the text and gives the range of the secret, or nothing.
import { nameBefore } from './context.ts'
import { isStandIn, looksLikePassword, looksRandom } from './entropy.ts'
import { nameKind } from './names.ts'

export interface Finding {
  start: number
  end: number
  rule: string
}

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
  'azure-sas': 'signature of a shared access URL',
}

const QUOTE = /["'`]/

// The last three letters of the names that matter at an operator: one look spares the regular expressions almost always.
const LAST_THREE = new Uint8Array(1 << 15)
for (const end of 'ord swd pwd ass ase ret ken key ion kie sig uth nes ial als'.split(' ')) {
  LAST_THREE[((end.charCodeAt(0) & 31) << 10) | ((end.charCodeAt(1) & 31) << 5) | (end.charCodeAt(2) & 31)] =
    1
}

const isLetter = (code: number): boolean => (code > 96 && code < 123) || (code > 64 && code < 91)

/** Could the name before the operator at `at` be secret-like? */
export function mayBeSecretName(codes: Uint16Array, at: number): boolean {
  let last = at - 1
  // Over quotes, brackets, spaces and a trailing number: `"password" :`, `token2=`.
  while (last > 1 && at - last < 6 && !isLetter(codes[last] as number)) last--
  if (last < 2) return false
  const end = (((codes[last - 2] as number) & 31) << 10) | (((codes[last - 1] as number) & 31) << 5)
  return LAST_THREE[end | ((codes[last] as number) & 31)] === 1
}

/** At `=`, `:` or `>`: a value assigned to a secret-like name, a header, or a URL's password. */
export function atOperator(text: string, at: number): Finding | undefined {
  if (text.charCodeAt(at + 1) === 47 && text.charCodeAt(at + 2) === 47) return urlPassword(text, at + 3)
  const name = nameBefore(text, at)
  if (name === '') return undefined
  const isColon = text.charCodeAt(at) === 58
  switch (useOf(name)) {
    case 'putty':
      if (isColon) return puttyLines(text, at)
      break
    case 'cookie':
      if (isColon) return cookie(text, at + 1)
      break
    case 'authorization':
      return authorization(text, at + 1)
    case 'signature':
      return sasSignature(text, at + 1)
    case 'auth':
      return dockerAuth(text, at + 1)
    case 'none':
      return undefined
  }
  return assigned(text, at + 1, name)
}

type Use = 'putty' | 'cookie' | 'authorization' | 'signature' | 'auth' | 'secret' | 'none'

const knownUses = new Map<string, Use>()

/** What stands after a name and an operator. Remembered, like what names mean: they repeat by the thousand. */
function useOf(name: string): Use {
  let use = knownUses.get(name)
  if (use === undefined) {
    use = judgeUse(name)
    if (knownUses.size >= 10_000) knownUses.clear()
    knownUses.set(name, use)
  }
  return use
}

function judgeUse(name: string): Use {
  const last = /[\w$@-]*$/.exec(name)?.[0].toLowerCase() ?? ''
  if (last === 'private-lines') return 'putty'
  if (last === 'cookie' || last === 'set-cookie') return 'cookie'
  if (last.endsWith('authorization')) return 'authorization'
  if (last === 'sig') return 'signature'
  if (last === 'auth') return 'auth'
  const kind = nameKind(name)
  return kind === 'none' || kind === 'weak' ? 'none' : 'secret'
}

/** After `-u` or `--user`: the password, if it is curl's. */
export function atUserFlag(text: string, start: number, end: number): Finding | undefined {
  if (!/\bcurl\b(?:\\\r?\n|[^\n;|&]){0,400}$/.test(text.slice(Math.max(0, start - 410), start)))
    return undefined
  const match = /^[ =]{1,4}["'`\\]{0,2}([^\s:"'`]{0,80})["'`]?:["'`]?([^\s"'`\\]{3,200})/.exec(
    text.slice(end, end + 300),
  )
  const password = match?.[2] ?? ''
  if (!match || /^[$<{%[]|^\.{3}/.test(password) || PLAIN_PASSWORD.test(password) || isStandIn(password))
    return undefined
  const from = end + match[0].length - password.length
  return { start: from, end: from + password.length, rule: 'curl-user' }
}

/** After `--password`, `PASSWORD` and the like followed by a space. */
export function atFlag(text: string, start: number, end: number): Finding | undefined {
  const name = text.slice(start, end)
  if (name === '--user') return atUserFlag(text, start, end)
  const isFlag = name.startsWith('--')
  const kind = nameKind(name)
  if (kind !== 'password' && !(isFlag && kind === 'strong')) return undefined
  const netrc =
    !isFlag && /\b(?:machine|login|user)\b[^\n]{1,80}$/i.test(text.slice(Math.max(0, start - 90), start))
  return isFlag || netrc ? literalAt(text, end, 'password', false) : undefined
}

function assigned(text: string, at: number, name: string): Finding | undefined {
  const kind = nameKind(name)
  if (kind === 'none' || kind === 'weak') return undefined
  // The value of an XML element may stand on a line of its own.
  const lead = text[at - 1] === '>' ? /^(?:\s|\\+[nrt]){0,40}/ : /^[=:>]{0,2}[ \t]{0,8}/
  const skip = lead.exec(text.slice(at, at + 80))?.[0].length ?? 0
  return literalAt(text, at + skip, kind === 'password' ? 'password' : 'assigned-secret', kind !== 'password')
}

const BARE_END = /[\s"'`,;&|<>(){}[\]\\]|$/
const MARKER = '[REDACTED:'

/** The value at `at`, in quotes or bare, if it is a literal secret. */
function literalAt(text: string, at: number, rule: string, strict: boolean): Finding | undefined {
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

const USERINFO = /^([^\s:@/"'`<>\\(){}[\]?#]{0,100}):([^\s@"'`<>\\]{3,300})@(?=[\w[])/
const PLAIN_PASSWORD =
  /^(?:pass(?:word|wd)?|pw|pwd|secret|test(?:ing)?|user|root|admin|guest|postgres|mysql|redis|changeme|example|dummy|token|key|p|x+|\*+|\.+)\d{0,4}$/i

function urlPassword(text: string, at: number): Finding | undefined {
  const match = USERINFO.exec(text.slice(at, at + 420))
  const user = match?.[1] ?? ''
  const password = match?.[2] ?? ''
  if (!match || password.startsWith(MARKER) || password.includes('/')) return undefined
  if (/[${}<>%]/.test(password.slice(0, 2)) || PLAIN_PASSWORD.test(password) || password === user)
    return undefined
  if (isStandIn(password)) return undefined
  const start = at + user.length + 1
  return { start, end: start + password.length, rule: 'url-password' }
}

const SCHEME =
  /^[=:]{0,2}[\s"'`\\({[]{0,6}(?:(basic|bearer|token|apikey|api-key|key|digest|negotiate|aws4-hmac-sha256|splunk|genie[-]?key|sso-key|oauth|discogs token=|bot)[ :]\s*["'`]?)?/i
const CREDENTIALS = /^[A-Za-z0-9._~+/=:|%-]{8,2000}/

function authorization(text: string, at: number): Finding | undefined {
  const rest = text.slice(at, at + 2100)
  const lead = SCHEME.exec(rest)
  const value = CREDENTIALS.exec(rest.slice(lead?.[0].length ?? 0))?.[0] ?? ''
  const hasScheme = lead?.[1] !== undefined
  if (value === '' || isStandIn(value) || !/\d|[a-z][A-Z]|=$/.test(value)) return undefined
  if (!hasScheme && !looksRandom(value)) return undefined
  if (/^[A-Za-z]+(?:[._-][A-Za-z]+)*\d{0,2}$/.test(value) && !/^[A-Za-z0-9+/]{12,}={1,2}$/.test(value)) {
    if (!(hasScheme && looksRandom(value))) return undefined
  }
  const start = at + (lead?.[0].length ?? 0)
  return { start, end: start + value.length, rule: 'authorization-header' }
}

// Only a name that begins its line or string: inside a cookie the word would have every rest of the line read again.
const COOKIE_NAME = /(?:^|[\n\r"'`]|\\[nrt])[<> \t]{0,4}(?:set-)?cookie["'`\\ ]{0,4}$/i
const COOKIES = /^[ \t]{0,4}["'`\\]{0,2}[ \t]{0,2}([\w.%-]{1,80}=[^\r\n"'`\\]{8,4000})/

function cookie(text: string, at: number): Finding | undefined {
  if (!COOKIE_NAME.test(text.slice(Math.max(0, at - 24), at - 1))) return undefined
  const match = COOKIES.exec(text.slice(at, at + 4100))
  const pairs = match?.[1]
  if (!match || pairs === undefined || pairs.includes(MARKER)) return undefined
  const hasSecret = pairs.split(';').some((pair) => {
    const value = pair.slice(pair.indexOf('=') + 1).trim()
    return value.length >= 8 && !isStandIn(value) && /\d/.test(value) && looksRandom(value.padEnd(12, value))
  })
  const start = at + match[0].length - pairs.length
  return hasSecret ? { start, end: start + pairs.trimEnd().length, rule: 'cookie' } : undefined
}

function sasSignature(text: string, at: number): Finding | undefined {
  const value = /^(?:[A-Za-z0-9+/_-]|%[0-9A-Fa-f]{2}){40,100}={0,2}/.exec(text.slice(at, at + 320))?.[0]
  return value && looksRandom(value) ? { start: at, end: at + value.length, rule: 'azure-sas' } : undefined
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

const PEM_BEGIN =
  /^-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----|^-----BEGIN OpenVPN Static key V1-----/
const PEM_END = /-----END[ A-Za-z0-9_-]{0,60}-----/
const PEM_BODY = /^(?:[A-Za-z0-9+/=\s\\-]|[A-Z][A-Za-z-]+: ?[^\n\\]{0,200})*/
const MAX_PEM = 40_000

/** At `-----BEGIN`: the block up to its end line, or as far as its body reaches when it was cut. */
export function privateKey(text: string, at: number): Finding | undefined {
  const begin = PEM_BEGIN.exec(text.slice(at, at + 100))
  if (!begin) return undefined
  const from = at + begin[0].length
  const rest = text.slice(from, from + MAX_PEM)
  const close = PEM_END.exec(rest)
  const length = close ? close.index : (PEM_BODY.exec(rest)?.[0].length ?? 0)
  const body = rest.slice(0, length)
  if (body.includes(MARKER) || body.replace(/\\[nr]|[^A-Za-z0-9+/=]/g, '').length < 24) return undefined
  return { start: from, end: from + length, rule: 'private-key' }
}

function puttyLines(text: string, at: number): Finding | undefined {
  const match = /^: ?\d{1,4}((?:\\[rn]|\s)+)([A-Za-z0-9+/=\s\\]{40,20000})/.exec(text.slice(at, at + 20_100))
  if (!match?.[2]) return undefined
  const start = at + match[0].length - match[2].length
  const stop = match[2].search(/(?:\\[rn]|\s)+Private(?=$|-)/)
  return { start, end: stop < 0 ? start + match[2].length : start + stop, rule: 'putty-key' }
}
