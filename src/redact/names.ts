// What a name says about the value beside it. Owns the words that make a name secret-like and those that only look so
// (`cache_key`, `token_count`). Answers are remembered: keys repeat by the thousand in a transcript.

/** How much a name vouches for its value being secret. */
export type NameKind = 'none' | 'weak' | 'strong' | 'password'

const PASSWORD = /(?:^|[^a-z])(?:passw(?:or)?d|passwd|passphrase|passcode|pwd|pass|pw|psk)\d*$|password\d*$/
const STRONG =
  /secret(?!ar|ion)|token(?![a-z])|passw|(?:^|[^a-z])pwd|passphrase|(?:api|app|application|access|private|auth|signing|encryption|account|master|service|admin|license|subscription|deploy|client|consumer|shared|storage|write|read|server|live|prod|security|hmac|webhook|integration|project|session|x)[-_. ]?key(?!s?[-_. ]?(?:id|name|path|file|type))|apikey|secretkey|authkey|credential|bearer|authorization|(?:^|[^a-z])(?:creds?|jwt|pat|sas|otp|dsn|cookie)$/
const WEAK = /(?:^|[^a-z])(?:key|auth|salt|webhook|license)$|key$/
const NOT_SECRET =
  /(?:^|[^a-z])(?:public|pub|cache|primary|foreign|sort|partition|idempotency|row|object|dedupe?|hot|group|shard|s3|translation|route|query|unique|composite|publishable|index|map|dict|json|lookup|natural|surrogate|hash|range|item|node|state|storage_?path|query|prop|data|style|theme|react|registry|sign(?:ing)?_?in|arrow|shift|meta|enter|event|key)[-_. ]?keys?$|keys$|(?:^|[^a-z])(?:page|continuation|cancel(?:lation)?|sync|next|stop|eos|bos|pad|mask|special|end|start|first|last|lexer|prev|current|peek|operator|punctuat\w{0,12}|syntax|input|output|max|prompt|completion|reasoning|total|design|cached?|abort|unk|color|css)[-_. ]?tokens?$|token[-_. ]?(?:type|count|usage|limit|budget|id|name|ids|url|uri|path|file|length|address|endpoint|expir\w{0,12}|ttl|kind|hash|index|set|class)|(?:secret|password|credential)s?[-_. ]?(?:name|id|arn|path|file|url|type|ref|manager|key_ref|hash|store|scanner|count|version|field|label|reset|policy)|key[-_. ]?(?:id|ids|name|path|file|type|down|up|press|code|word|board|frame|pair|space|hash|fingerprint|ring|algorithm|usage|size|length|vault|share)|(?:monkey|turkey|donkey|hockey|jockey|whiskey)s?$|keyword|tokeniz/

// Three letters of every word that makes a name secret-like: one look at them spares the expressions almost always.
const GRAMS = new Uint8Array(1 << 15)
for (const gram of 'pas pwd sec tok key cre bea aut jwt pat sas otp psk dsn coo sal web lic'.split(' ')) {
  GRAMS[gramIndex(gram.charCodeAt(0), gram.charCodeAt(1), gram.charCodeAt(2))] = 1
}
// `pw` is a whole word.
for (let c = 0; c < 32; c++) GRAMS[gramIndex(112, 119, c)] = 1

function gramIndex(a: number, b: number, c: number): number {
  return ((a & 31) << 10) | ((b & 31) << 5) | (c & 31)
}

/** Whether three letters of a secret-like word begin here; says yes too often, never too seldom. */
export const isNameGram = (a: number, b: number, c: number): boolean => GRAMS[gramIndex(a, b, c)] === 1

const NAME =
  /pass|pwd|pw|psk|secret|token|key|cred|bearer|auth|salt|webhook|license|(?:jwt|pat|sas|otp|dsn|cookie)(?![a-z])/i

/** Whether a text holds a word that can make a name secret-like; cheaper than judging the name. */
export const mayHoldName = (text: string): boolean => NAME.test(text)

const known = new Map<string, NameKind>()

function classify(name: string): NameKind {
  const plain = name.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()
  if (NOT_SECRET.test(plain)) return 'none'
  if (PASSWORD.test(plain)) return 'password'
  if (STRONG.test(plain)) return 'strong'
  return WEAK.test(plain) ? 'weak' : 'none'
}

/** Judges an identifier, an object key or the last words before an assignment. */
export function nameKind(name: string): NameKind {
  // The elements of a list have one name in common.
  if (name === lastName) return lastKind
  lastName = name
  lastKind = remembered(name)
  return lastKind
}

let lastName = ''
let lastKind: NameKind = 'none'

function remembered(name: string): NameKind {
  if (name.length < 2 || name.length > 80) return 'none'
  let kind = known.get(name)
  if (kind === undefined && !mayHoldName(name)) return 'none'
  if (kind === undefined) {
    kind = classify(name)
    // Bounded: hostile input may hold any number of names.
    if (known.size >= 10_000) known.clear()
    known.set(own(name), kind)
  }
  return kind
}

/** The same text in memory of its own: a piece of a text, kept, would keep all of that. */
export const own = (text: string): string => ` ${text}`.slice(1)
