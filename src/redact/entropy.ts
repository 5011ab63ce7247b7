// Does a piece of text look drawn at random, or is it a word, a name, a path, a placeholder? Owns those tests and the
// lists of stand-ins; knows nothing of where the text came from.

/** Shannon entropy in bits per character. */
export function entropy(text: string): number {
  const counts = new Map<number, number>()
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    counts.set(code, (counts.get(code) ?? 0) + 1)
  }
  let bits = 0
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length)
  return bits
}

const LOWER = 1
const UPPER = 2
const DIGIT = 3
const KIND = new Uint8Array(65_536)
KIND.fill(LOWER, 97, 123)
KIND.fill(UPPER, 65, 91)
KIND.fill(DIGIT, 48, 58)

/**
 * True for characters that no person would choose: digits and letters in changing order. Names change their kind of
 * character at word borders only, random text every second character; that tells them apart better and faster than
 * entropy, which a long name easily reaches.
 */
export function isShuffled(codes: ArrayLike<number>, start: number, end: number): boolean {
  let last = 0
  let changes = 0
  let digits = 0
  let letters = 0
  for (let i = start; i < end; i++) {
    const kind = KIND[codes[i] as number] as number
    if (kind === DIGIT) digits++
    else if (kind !== 0) letters++
    // Upper then lower is how a word begins, so it says nothing.
    if (last !== 0 && kind !== 0 && kind !== last && !(last === UPPER && kind === LOWER)) changes++
    last = kind
  }
  const solid = digits + letters
  const others = end - start - solid
  if (solid < 12 || letters < 3 || others * 4 > end - start) return false
  // A number at the end is how names are told apart: `getValue2`.
  const tail =
    KIND[codes[end - 1] as number] === DIGIT ? 1 + Number(KIND[codes[end - 2] as number] === DIGIT) : 0
  if (digits - tail < 1 || digits < 2)
    return solid >= 24 && changes * 4 >= solid && others * 10 <= end - start
  return changes * 6 >= solid
}

/** Shuffled, and of enough different characters. */
export function looksRandom(text: string): boolean {
  const codes = Array.from(text, (c) => c.charCodeAt(0))
  return isShuffled(codes, 0, codes.length) && entropy(text) >= Math.min(2.9, 0.7 * Math.log2(text.length))
}

const HASH = /^(?:\d+|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9A-F]{32}|[0-9A-F]{40}|[0-9A-F]{64})$/
const UUID = /^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$/

/** Digests, UUIDs and numbers: random, but in code mostly identities and seldom secrets. */
export function looksLikeIdentity(text: string): boolean {
  return HASH.test(text) || UUID.test(text)
}

const STAND_IN =
  /x{4,}|\*{3,}|\.{3}|(?:example|sample|placeholder|your[-_ ]?|redacted|changeme|change[-_]me|replace[-_ ]?me|insert[-_ ]|dummy|fake[-_]|mock[-_]|foobar|lorem|todo|undefined|0123456789|abcdefgh)/i

/** Filled in by hand to stand for a secret: `xxxx`, `your-key`, one character repeated. */
export function isStandIn(text: string): boolean {
  return STAND_IN.test(text) || new Set(text).size < Math.min(6, text.length / 2)
}

const CODE =
  /^[$%@#&]?[{([<]|\$\{|\{\{|<%|%[A-Z_]+%|^[$@%][A-Za-z_]|^(?:process|import|os|env|config|settings|self|this|props|options|args|req|request|ctx|context|data|body|params|user|state|secrets|vault|var|local|module)(?:\.|\[|\?\.)|=>|\(\)?|\\[dwsbDWSB]|::|^\W+$/
// Each word is read in one way only: a second way for one would double the work with every repetition.
const COMMON =
  /^(?:pass(?:word|wd|phrase)?|secret|token|key|admin|root|user(?:name)?|test(?:ing|er)?|guest|demo|default|example|dummy|foo|bar|baz|hello|hidden|none|null|nil|true|false|string|number|boolean|any|unknown|void|optional|required|bearer|basic|postgres|mysql|redis|mongo|rabbitmq|localhost|development|production|staging|my|the|new|old|valid|invalid|wrong|correct|some|str|text|bytes|sha256|md5|utf|base64|hex|oauth|jwt|[-_.!@#/|\d])+$/i
const NAME_LIKE = /^[A-Za-z]+(?:[-_./:@ ][A-Za-z]+)*\d{0,2}$/

/** A short value beside `password` or the like: is it a literal secret rather than code, a type or a stand-in? */
export function looksLikePassword(value: string, quoted: boolean): boolean {
  if (value.length < 6 || value.length > 200 || /\s/.test(value)) return false
  if (CODE.test(value) || (value.length < 64 && COMMON.test(value)) || isStandIn(value)) return false
  const hasDigit = /\d/.test(value)
  const hasLetter = /[A-Za-z]/.test(value)
  const hasMark = /[^A-Za-z0-9_.\-/:]/.test(value)
  if (!hasLetter || !(hasDigit || (quoted && hasMark))) return false
  if (NAME_LIKE.test(value)) return false
  // A path (`pwd` is also the working directory), a URL, a call.
  if (/^(?:\.{0,2}\/|~[\\/]|[A-Za-z]:[\\/]|[a-z]{1,20}:\/\/|\w{1,60}\.\w{1,60}\()/.test(value)) return false
  if (looksLikeFile(value)) return false
  return quoted || !/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*|\[\w*\])+$/.test(value)
}

const PLAIN_PASSWORD =
  /^(?:pass(?:word|wd)?|pw|pwd|secret|test(?:ing)?|user|root|admin|guest|postgres|mysql|redis|changeme|example|dummy|token|key|p|x+|\*+|\.+)\d{0,4}$/i

/** Where only a password can stand, as in a URL: is it one, rather than a variable or a stand-in? */
export function isTypedPassword(value: string): boolean {
  if (/[${}<>%]/.test(value.slice(0, 2)) || /^(?:\[|\.{3})/.test(value)) return false
  return !PLAIN_PASSWORD.test(value) && !isStandIn(value)
}

const FILE =
  /\.(?:rlib|rmeta|so|dylib|dll|[ao]|exe|wasm|[cm]?[jt]sx?|map|css|html?|vue|json[lc5]?|ya?ml|toml|xml|md|mdx|txt|log|csv|lock|pyc?|go|rs|rb|java|kt|php|sh|sql|[ch]pp|cc|hh|swift|png|jpe?g|svg|gif|webp|ico|pdf|tar|t?gz|zip|whl|jar|tmp|db|sqlite|snap|pem|crt)$/

/** The name of a file: what is random in it tells files apart. */
export function looksLikeFile(value: string): boolean {
  return FILE.test(value)
}
