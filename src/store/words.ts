// Text for the full-text index, and queries against it. The tokenizer splits at everything that is no letter or digit,
// so `parse_line` and `--no-verify` are phrases of their parts, on both sides alike. What it cannot do is done here:
// the parts of camelCase words are added, and CJK text, which has no spaces, is indexed character by character.

const CJK =
  /[\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]|[\ud840-\ud888][\udc00-\udfff]/g
const CAMEL_JOINT = /(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g
const MAX_WORD = 100

const ESCAPES = /\x1b\[[0-9;?]*[ -/]*[@-~]/g

/** Without colours: they would become a part of the word behind them. */
export const withoutEscapes = (text: string): string =>
  text.includes('\x1b[') ? text.replace(ESCAPES, ' ') : text

/** The text as it is handed to the index. */
export function indexText(given: string): string {
  const text = withoutEscapes(given)
  const { camel, hasCjk } = look(text)
  const spaced = hasCjk ? text.replace(CJK, ' $& ') : text
  if (camel === undefined) return spaced
  let parts = ''
  for (const word of camel) parts += partsOf(word)
  return spaced + parts
}

// The same identifiers come again and again in one project.
const knownParts = new Map<string, string>()
const MAX_KNOWN = 50_000

function partsOf(word: string): string {
  const known = knownParts.get(word)
  if (known !== undefined) return known
  if (knownParts.size >= MAX_KNOWN) knownParts.clear()
  const parts = `\n${word.replace(CAMEL_JOINT, ' ')}`
  knownParts.set(word, parts)
  return parts
}

/** Distinct words with a small letter before a capital one, and whether there is CJK. One loop over codes: regular expressions took four times as long. */
function look(text: string): { camel: Set<string> | undefined; hasCjk: boolean } {
  let camel: Set<string> | undefined
  let hasCjk = false
  let wordAt = -1
  let hasJoint = false
  let wasSmall = false
  for (let at = 0; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 32
    const isSmall = (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
    const isCapital = code >= 65 && code <= 90
    if (isSmall || isCapital) {
      if (wordAt === -1) wordAt = at
      else if (isCapital && wasSmall) hasJoint = true
    } else {
      if (hasJoint && at - wordAt <= MAX_WORD) {
        camel ??= new Set()
        camel.add(text.slice(wordAt, at))
      }
      wordAt = -1
      hasJoint = false
      if (code >= 0x2e80) hasCjk = true
    }
    wasSmall = isSmall
  }
  return { camel, hasCjk }
}

/** One word or phrase of a query as an FTS5 string; undefined when it holds no letter or digit. */
export function queryTerm(term: string, isPrefix: boolean): string | undefined {
  const spaced = term.replace(CJK, ' $& ').replace(/["\0]/g, ' ').toWellFormed().trim()
  if (!/[\p{L}\p{N}]/u.test(spaced)) return undefined
  return `"${spaced}"${isPrefix ? '*' : ''}`
}

/** One thing a query asks for. */
export interface QueryTerm {
  text: string
  isPrefix: boolean
}

export interface ParsedQuery {
  /** For MATCH. */
  match: string
  /** What has to be there: for showing where it is. */
  wanted: QueryTerm[]
}

/** Words, "phrases", prefix* and -not; undefined when nothing is left to look for. */
export function parseQuery(query: string): ParsedQuery | undefined {
  const wanted: QueryTerm[] = []
  const positive: string[] = []
  const unwanted: string[] = []
  for (const match of query.matchAll(/(-?)"([^"]*)"(\*?)|(\S+)/g)) {
    const isQuoted = match[2] !== undefined
    const word = match[4] ?? ''
    // `-word` excludes; `--flag` is something people search for.
    const isNot = isQuoted ? match[1] === '-' : /^-[^-]/.test(word)
    const text = isQuoted ? (match[2] as string) : word.replace(/^-(?=[^-])/, '').replace(/\*$/, '')
    const isPrefix = isQuoted ? match[3] === '*' : word.endsWith('*')
    const term = queryTerm(text, isPrefix)
    if (term === undefined) continue
    if (isNot) unwanted.push(term)
    else {
      positive.push(term)
      wanted.push({ text, isPrefix })
    }
  }
  if (positive.length === 0) return undefined
  const all = positive.join(' AND ')
  return { match: unwanted.length === 0 ? all : `(${all}) NOT (${unwanted.join(' OR ')})`, wanted }
}
