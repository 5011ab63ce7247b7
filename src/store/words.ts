// Text for the full-text index, and queries against it. The tokenizer splits at everything that is no letter or digit,
// so `parse_line` and `--no-verify` are phrases of their parts, on both sides alike. What it cannot do is done here:
// the parts of camelCase words are added, and CJK text, which has no spaces, is indexed character by character.

import { Bytes } from './bytes.ts'

const CJK =
  /[\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]|[\ud840-\ud888][\udc00-\udfff]/g
const HAS_CJK = new RegExp(CJK.source)
const MAX_WORD = 100
const NEWLINE = 10
const [SMALL, CAPITAL, FAR] = [1, 2, 3]
/** What a byte of UTF-8 is here: a small letter or digit, a capital letter, or the lead of a character that may be CJK. */
const KIND = new Uint8Array(256)
KIND.fill(SMALL, 97, 123).fill(SMALL, 48, 58).fill(CAPITAL, 65, 91).fill(FAR, 0xe2)
/** Slots for the words of one text that were taken apart: a power of two. A word that finds its slot taken comes twice. */
const SLOTS = 4096

const ESCAPES = /\x1b\[[0-9;?]*[ -/]*[@-~]/g

/** Without colours: they would become a part of the word behind them. */
export const withoutEscapes = (text: string): string =>
  text.includes('\x1b[') ? text.replace(ESCAPES, ' ') : text

// Per slot: where the word stands that took it, and in which text. One text at a time is looked at in a thread.
const takenAt = new Int32Array(SLOTS)
const takenBy = new Int32Array(SLOTS)
let textCount = 0

/** Texts as they are handed to the index: UTF-8, one after another. */
export class IndexTexts {
  readonly #bytes: Bytes
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
    this.#bytes = new Bytes(capacity)
  }

  get length(): number {
    return this.#bytes.length
  }

  /** Returns where the text begins; it ends where the next one begins. */
  add(given: string): number {
    const text = withoutEscapes(given)
    const at = this.#bytes.addText(text)
    if (this.#addParts(at) && HAS_CJK.test(text)) {
      this.#bytes.advance(at - this.#bytes.length)
      this.#bytes.addText(text.replace(CJK, ' $& '))
      this.#addParts(at)
    }
    return at
  }

  take(): Uint8Array {
    return this.#bytes.take(this.#capacity)
  }

  clear(): void {
    this.#bytes.clear(this.#capacity)
  }

  /**
   * Adds the parts of each word with a small letter before a capital one. True if there may be CJK. One loop over bytes:
   * with strings it took several times as long.
   */
  #addParts(from: number): boolean {
    const end = this.#bytes.length
    // A word of n letters gives at most 2n bytes: itself, and a separator before each letter.
    const bytes = this.#bytes.reserve(2 * (end - from) + 1)
    textCount++
    let [wordAt, hash, last, to] = [from, 0, 0, end]
    let [hasJoint, hasFar] = [false, false]
    // Ends the last word; the first part begins with a sign as well.
    bytes[end] = NEWLINE
    for (let at = from; at <= end; at++) {
      const byte = bytes[at] as number
      const kind = KIND[byte] as number
      if (kind === SMALL || kind === CAPITAL) {
        if (kind === CAPITAL && last === SMALL) hasJoint = true
        hash = (Math.imul(hash, 31) + byte) | 0
      } else {
        if (kind === FAR && isFar(byte, bytes[at + 1] as number)) hasFar = true
        if (hasJoint && at - wordAt <= MAX_WORD && isNew(bytes, wordAt, at, hash))
          to = takeApart(bytes, wordAt, at, to)
        hasJoint = false
        wordAt = at + 1
        hash = 0
      }
      last = kind
    }
    this.#bytes.advance(to - end)
    return hasFar
  }
}

/** False for a word that this text held before. */
function isNew(bytes: Uint8Array, at: number, end: number, hash: number): boolean {
  const slot = (hash ^ (hash >>> 12)) & (SLOTS - 1)
  if (takenBy[slot] === textCount) {
    let other = takenAt[slot] as number
    let same = at
    while (same < end && bytes[same] === bytes[other]) {
      same++
      other++
    }
    const kind = KIND[bytes[other] as number]
    return same < end || kind === SMALL || kind === CAPITAL
  }
  takenBy[slot] = textCount
  takenAt[slot] = at
  return true
}

let single: IndexTexts | undefined

/** One text as it is handed to the index. */
export function indexText(text: string): string {
  single ??= new IndexTexts(1 << 12)
  single.add(text)
  return Buffer.from(single.take()).toString()
}

/** Whether a character that begins so can be CJK; dashes, arrows and most emoji cannot. */
const isFar = (lead: number, second: number): boolean =>
  lead === 0xe2 ? second >= 0xba : lead !== 0xf0 || second >= 0xa0

/** `parseHTMLString` → parse HTML String, on a line of its own. Returns where it ends. */
function takeApart(bytes: Uint8Array, at: number, end: number, to: number): number {
  bytes[to++] = NEWLINE
  bytes[to++] = bytes[at] as number
  for (let i = at + 1; i < end; i++) {
    const byte = bytes[i] as number
    if (KIND[byte] === CAPITAL) {
      const next = i + 1 < end ? (bytes[i + 1] as number) : 0
      // Digits end no run of capitals: only a small letter shows that the last one begins a word.
      if (KIND[bytes[i - 1] as number] === SMALL || (KIND[next] === SMALL && next > 96)) bytes[to++] = 32
    }
    bytes[to++] = byte
  }
  return to
}

/** One word or phrase of a query as an FTS5 string; undefined when it holds no letter or digit. */
export function queryTerm(term: string, isPrefix: boolean): string | undefined {
  const spaced = term.replace(CJK, ' $& ').replace(/["\0]/g, ' ').toWellFormed().trim()
  // The class of all letters takes a millisecond to build.
  if (!/[a-z0-9]/i.test(spaced) && !/[\p{L}\p{N}]/u.test(spaced)) return undefined
  return `"${spaced}"${isPrefix ? '*' : ''}`
}

/** One thing a query asks for. */
export interface QueryTerm {
  text: string
  isPrefix: boolean
  isQuoted?: boolean
  /** Its marks count as well. */
  isLiteral?: boolean
}

export interface ParsedQuery {
  /** For MATCH. */
  match: string
  /** What has to be there: for showing where it is. */
  wanted: QueryTerm[]
  /** The same for MATCH, one by one. */
  terms: string[]
  /** What must not be there, for MATCH behind NOT; undefined where nothing is ruled out. */
  unwanted: string | undefined
  /** The same, one by one. */
  ruledOut: QueryTerm[]
}

export const without = (match: string, unwanted: string | undefined): string =>
  unwanted === undefined ? match : `(${match}) NOT (${unwanted})`

/** Words, "phrases", prefix* and -not; undefined when nothing is left to look for. */
export function parseQuery(query: string): ParsedQuery | undefined {
  const wanted: QueryTerm[] = []
  const positive: string[] = []
  const unwanted: string[] = []
  const ruledOut: QueryTerm[] = []
  for (const match of query.matchAll(/(-?)"([^"]*)"(\*?)|(\S+)/g)) {
    const isQuoted = match[2] !== undefined
    const word = match[4] ?? ''
    // `-word` excludes; `--flag` is something people search for.
    const isNot = isQuoted ? match[1] === '-' : /^-[^-]/.test(word)
    const text = isQuoted ? (match[2] as string) : word.replace(/^-(?=[^-])/, '').replace(/\*$/, '')
    const isPrefix = isQuoted ? match[3] === '*' : word.endsWith('*')
    const term = queryTerm(text, isPrefix)
    if (term === undefined) continue
    if (isNot) {
      unwanted.push(term)
      ruledOut.push({ text, isPrefix })
    } else {
      positive.push(term)
      wanted.push({ text, isPrefix, ...(isQuoted ? { isQuoted } : {}) })
    }
  }
  if (positive.length === 0) return undefined
  const not = unwanted.length === 0 ? undefined : unwanted.join(' OR ')
  return { match: without(positive.join(' AND '), not), wanted, terms: positive, unwanted: not, ruledOut }
}
