// The line of a text where a query's words are, cut to a length one can read. The index holds no text, so the words are
// looked for again, by the same rules: case and accents do not count, a phrase is words with nothing but marks between.
import type { Run } from '../store/scan.ts'
import { type QueryTerm, withoutEscapes } from '../store/words.ts'

export interface MatchingLine {
  text: string
  /** Where in `text` the words are: [from, to) each, in order, not overlapping. */
  marks: [number, number][]
}

const LINE_LENGTH = 160
/** Enough to find a line in; a longer text is a dump. */
const MAX_TEXT = 1 << 23
const MAX_LINE = 2000

/** Finds what was asked for in a text. */
export interface Finder {
  /** How many of the things asked for are there. */
  count(text: string): number
  /** Whether all of it is there. */
  isWholeIn(text: string): boolean
  /** The line to show; undefined when nothing of it is there. */
  find(text: string): MatchingLine | undefined
}

/** The line with most of the words in it; the first of equals. */
export class LineFinder implements Finder {
  readonly #terms: Term[]
  readonly #length: number

  constructor(wanted: readonly QueryTerm[], length = LINE_LENGTH) {
    this.#length = length
    this.#terms = wanted.map((one) => new Term(one))
  }

  /** How many of the words are in a text. */
  count(text: string): number {
    const folded = fold(text.slice(0, MAX_TEXT))
    return this.#terms.filter((term) => folded.search(term.in(folded).loose) !== -1).length
  }

  isWholeIn(text: string): boolean {
    return this.count(text) === this.#terms.length
  }

  find(text: string): MatchingLine | undefined {
    let best: string | undefined
    let most = 0
    for (const line of withoutEscapes(text.slice(0, MAX_TEXT)).split(/\r?\n|\r/)) {
      const score = this.#score(fold(line))
      if (score <= most) continue
      best = line
      most = score
      if (score === this.#terms.length * 2) break
    }
    return best === undefined ? undefined : cutLine(best, this.#marksIn(best), this.#length)
  }

  /** Whole words count twice. */
  #score(folded: string): number {
    let score = 0
    for (const term of this.#terms) {
      const { strict, loose } = term.in(folded)
      score += folded.search(strict) !== -1 ? 2 : folded.search(loose) !== -1 ? 1 : 0
    }
    return score
  }

  #marksIn(line: string): [number, number][] {
    const { folded, places } = foldWithPlaces(line.slice(0, MAX_LINE * 4))
    const found: [number, number][] = []
    for (const term of this.#terms) {
      const { strict, loose } = term.in(folded)
      const whole = [...folded.matchAll(strict)]
      for (const match of whole.length > 0 ? whole : folded.matchAll(loose)) {
        if (match[0] === '') continue
        const to = match.index + match[0].length - 1
        found.push([places[match.index] as number, (places[to] as number) + 1])
      }
    }
    found.sort((a, b) => a[0] - b[0] || b[1] - a[1])
    return found.filter(([from], at) => at === 0 || from >= (found[at - 1] as [number, number])[1])
  }
}

/** A line as it is shown, around the first of its marks. */
function cutLine(line: string, all: readonly [number, number][], length: number): MatchingLine {
  const first = all[0]?.[0] ?? 0
  const from = Math.max(0, Math.min(first - Math.floor(length / 4), line.length - length))
  // Shown on one line: a tab or an escape would move what comes after it.
  const piece = line
    .slice(from, from + length)
    .toWellFormed()
    .replace(isAscii(line) ? /[\x00-\x20\x7f]/g : /[\p{Cc}\p{Cf}\s]/gu, ' ')
  const body = from === 0 ? piece.trimStart() : piece
  const text = `${from === 0 ? '' : '…'}${body.trimEnd()}${from + length < line.length ? '…' : ''}`
  const shift = (from === 0 ? 0 : 1) - from - (piece.length - body.length)
  const marks = all
    .map(([a, b]): [number, number] => [a + shift, Math.min(b + shift, text.length)])
    .filter(([a, b]) => a >= 0 && a < b)
  return { text, marks }
}

/** A text in which nothing of what was looked for stands by itself, as it is shown. */
export const plainLine = (text: string): MatchingLine => cutLine(text, [], LINE_LENGTH)

/** The first line where a regular expression (with the flags g and m) matches. */
export class PatternFinder implements Finder {
  readonly #pattern: RegExp
  readonly #length: number
  readonly #run: Run

  constructor(pattern: RegExp, length = LINE_LENGTH, run: Run = (work) => work()) {
    this.#pattern = pattern
    this.#length = length
    this.#run = run
  }

  count(text: string): number {
    return this.isWholeIn(text) ? 1 : 0
  }

  isWholeIn(text: string): boolean {
    return text.search(this.#pattern) !== -1
  }

  find(text: string): MatchingLine | undefined {
    return this.#run(() => this.#find(text))
  }

  #find(text: string): MatchingLine | undefined {
    const at = text.search(this.#pattern)
    if (at === -1) return undefined
    const start = Math.max(text.lastIndexOf('\n', at - 1), text.lastIndexOf('\r', at - 1)) + 1
    const end = text.slice(at).search(/[\r\n]/)
    const line = text.slice(at === 0 ? 0 : start, end === -1 ? text.length : at + end)
    const marks = [...line.matchAll(this.#pattern)]
      .filter((match) => match[0] !== '')
      .map((match): [number, number] => [match.index, match.index + match[0].length])
    return cutLine(line, marks, this.#length)
  }
}

interface Patterns {
  strict: RegExp
  /** Parts of camelCase words, and scripts without spaces. */
  loose: RegExp
}

/** What a word or a phrase looks like. To build the class of all letters takes a millisecond: only for texts that hold such. */
class Term {
  readonly #words: readonly string[]
  readonly #isPrefix: boolean
  /** As it was typed, marks and all. */
  readonly #literal: string | undefined
  /** By the letters there are. */
  readonly #patterns = new Map<string, Patterns>()

  constructor({ text, isPrefix, isLiteral }: QueryTerm) {
    const folded = fold(text)
    this.#literal = isLiteral ? folded : undefined
    this.#words = folded.match(isPlain(folded) ? /[a-z0-9]+/g : /[\p{L}\p{N}]+/gu) ?? []
    this.#isPrefix = isPrefix
  }

  /** For a text that was folded. */
  in(folded: string): Patterns {
    const letters = isPlain(folded) ? 'a-z0-9' : '\\p{L}\\p{N}'
    const patterns = this.#patterns.get(letters) ?? this.#make(letters)
    this.#patterns.set(letters, patterns)
    return patterns
  }

  #make(letters: string): Patterns {
    if (this.#literal !== undefined) return literalPatterns(this.#literal, letters)
    const body = this.#words.join(`[^${letters}]+`)
    return {
      strict: new RegExp(`(?<![${letters}])${body}${this.#isPrefix ? '' : `(?![${letters}])`}`, 'gu'),
      loose: new RegExp(this.#words.join(`[^${letters}]*`), 'gu'),
    }
  }
}

/** Whole where it begins or ends with a letter: `C++` is not in `libc++`. */
function literalPatterns(text: string, letters: string): Patterns {
  const before = new RegExp(`^[${letters}]`, 'u').test(text) ? `(?<![${letters}])` : ''
  const after = new RegExp(`[${letters}]$`, 'u').test(text) ? `(?![${letters}])` : ''
  const pattern = new RegExp(`${before}${escaped(text)}${after}`, 'gu')
  return { strict: pattern, loose: pattern }
}

/** A text as the source of a regular expression. */
export const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')

/** Without letters or digits beyond ASCII. Dashes, quotes, dots, arrows and boxes are none. */
const isPlain = (text: string): boolean => !/[^\x00-\x7f\u2010-\u205e\u2190-\u23ff\u2500-\u2775]/.test(text)
const isAscii = (text: string): boolean => !/[^\x00-\x7f]/.test(text)

/** Without case and accents, as the index compares. */
function fold(text: string): string {
  if (isPlain(text)) return text.toLowerCase()
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
}

/** The same, with the place in the text of each character. */
function foldWithPlaces(text: string): { folded: string; places: number[] } {
  if (isPlain(text)) return { folded: text.toLowerCase(), places: Array.from(text, (_, at) => at) }
  let folded = ''
  const places: number[] = []
  let at = 0
  for (const character of text) {
    const plain = fold(character)
    folded += plain
    for (let unit = 0; unit < plain.length; unit++)
      places.push(Math.min(at + unit, at + character.length - 1))
    at += character.length
  }
  return { folded, places }
}
