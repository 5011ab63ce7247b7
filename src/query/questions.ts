// Questions: words that need not stand in one event. Common words are left out, plurals and verb forms count alike. Sessions
// come by how much of the question they hold, by how rare it is, and how much of that stands together.

import type { Reader } from '../store/reader/index.ts'
import { type ParsedQuery, type QueryTerm, queryTerm, without } from '../store/words.ts'
import { formsOf, isCommon, plainWord } from './common-words.ts'
import { LineFinder } from './line.ts'
import { type FoundGroups, findMatches, inEvents, type Narrowed } from './search.ts'
import { type Group, type Match, named } from './search-groups.ts'

/** One word of a question, in all its forms. */
export interface Word {
  typed: string
  /** For MATCH. */
  match: string
  /** For showing where it is. */
  term: QueryTerm
  /** As it was typed, in no other form. */
  exact: QueryTerm
}

export interface Question {
  words: Word[]
  /** Common words, which are not looked for. */
  ignored: string[]
  /** All that must be there, as it was typed. */
  wanted: QueryTerm[]
  unwanted: string | undefined
  ruledOut: QueryTerm[]
}

export function questionOf({ wanted, terms, unwanted, ruledOut }: ParsedQuery): Question {
  const plain = wanted.map(
    ({ isQuoted, isPrefix, text }) => !isQuoted && !isPrefix && /^[\p{L}'’]+[?!.,;:]*$/u.test(text),
  )
  const isIgnored = wanted.map(({ text }, at) => plain[at] === true && isCommon(text))
  // Of nothing but common words all are meant.
  const hasOthers = isIgnored.includes(false)
  const words = wanted.map((term, at) =>
    plain[at] ? inForms(term) : { typed: term.text, term, exact: term, match: terms[at] as string },
  )
  return {
    words: words.filter((_, at) => !hasOthers || !isIgnored[at]),
    ignored: hasOthers ? wanted.filter((_, at) => isIgnored[at]).map((term) => plainWord(term.text)) : [],
    wanted,
    unwanted,
    ruledOut,
  }
}

function inForms({ text }: QueryTerm): Word {
  const typed = plainWord(text)
  const forms = formsOf(typed)
  const root = forms.reduce((short, form) => (form.length < short.length ? form : short))
  return {
    typed,
    match: `(${forms.map((form) => queryTerm(form, false)).join(' OR ')})`,
    term: { text: root, isPrefix: forms.length > 1 },
    exact: { text: typed, isPrefix: false },
  }
}

/** All words of a question in one event, for MATCH. */
export const allWords = ({ words, unwanted }: Question): string =>
  without(words.map((word) => word.match).join(' AND '), unwanted)

export const finderOf = ({ words }: Question, lineLength?: number): LineFinder =>
  new LineFinder(
    words.map((word) => word.term),
    lineLength,
  )

export interface PartialGroup extends Group {
  /** Words of the question that are nowhere in the session. */
  missing: string[]
  /** One event holds all words. */
  isTogether: boolean
}

/** Sessions are asked about words that stand in too many events to be listed. */
const LOOKED_AT = 60
/** A session that holds less than this of what a question says, by how rare the words are, is no answer. */
const ENOUGH = 0.5

/** Sessions that hold all words, or most of them: best first. */
export function groupsByWords(
  handle: Reader,
  question: Question,
  options: Narrowed,
  limit: number,
): FoundGroups<PartialGroup> {
  const gathered = new Gathered(handle, question, options)
  const found = gathered.sessions()
  const best = found.slice(0, limit).map((one) => ({ ...one, matches: gathered.matchesIn(one.session) }))
  return { groups: named(handle, best), count: found.length, isAll: found.length < limit }
}

interface Weighed extends Omit<PartialGroup, 'uid' | 'matches'> {
  session: number | string
  newestAt: number
  coverage: number
  /** So many words stand in one event. */
  together: number
}

interface Held {
  words: Set<Word>
  matches: Map<string, { match: Match; words: Set<Word>; score: number }>
}

class Gathered {
  readonly #question: Question
  readonly #held = new Map<number | string, Held>()
  /** How much each word says. */
  readonly #weights: ReadonlyMap<Word, number>
  readonly #all: number
  /** Words that stand in more events than were listed. */
  readonly #cut = new Set<Word>()

  constructor(handle: Reader, question: Question, options: Narrowed) {
    this.#question = question
    const events = handle.search.eventCount()
    const counts = new Map(question.words.map((word) => [word, handle.search.frequency(word.match)]))
    this.#weights = new Map([...counts].map(([word, count]) => [word, Math.log(1 + events / (1 + count))]))
    this.#all = [...this.#weights.values()].reduce((sum, weight) => sum + weight, 0)
    for (const [word, count] of counts) {
      const found = count === 0 ? [] : findMatches(handle, without(word.match, question.unwanted), options)
      if (found.length < count) this.#cut.add(word)
      this.#add([word], found)
    }
    // Of words that are everywhere, events that hold them all may not be among the newest of each.
    this.#add(question.words, findMatches(handle, allWords(question), options))
    if (this.#cut.size > 0) this.#complete(handle, options)
  }

  #add(words: readonly Word[], found: readonly Match[]): void {
    for (const match of found) {
      const held = this.#held.get(match.session) ?? { words: new Set(), matches: new Map() }
      this.#held.set(match.session, held)
      const key = match.event
        ? `e${match.event.id}`
        : match.written
          ? `w${match.written.at} ${match.written.text}`
          : ''
      const known = held.matches.get(key) ?? { match, words: new Set(), score: 0 }
      if (words.length > 1) known.score = Math.max(known.score, match.score)
      else if (!known.words.has(words[0] as Word)) known.score += match.score
      for (const word of words) {
        known.words.add(word)
        held.words.add(word)
      }
      held.matches.set(key, known)
    }
  }

  /** Of a word that is everywhere only the newest events are listed: the best sessions are asked for it themselves. */
  #complete(handle: Reader, options: Narrowed): void {
    const best = this.#weighed().slice(0, LOOKED_AT)
    const uids = named(
      handle,
      best.map((one) => ({ ...one, matches: [] })),
    ).map((group) => group.uid)
    for (const word of this.#cut) {
      if (best.every(({ session }) => this.#held.get(session)?.words.has(word))) continue
      this.#add([word], inEvents(handle, without(word.match, this.#question.unwanted), { ...options, uids }))
    }
  }

  /** What holds only a part of the question has to hold a part of it together, or it is chance. */
  sessions(): Weighed[] {
    const half = Math.max(2, Math.ceil(this.#question.words.length / 2))
    return this.#weighed().filter(
      ({ coverage, missing, together }) => missing.length === 0 || (coverage >= ENOUGH && together >= half),
    )
  }

  /** Best first, after those that hold what the ones before them do not. */
  matchesIn(session: number | string): Match[] {
    const ranked = [...(this.#held.get(session)?.matches.values() ?? [])].sort((a, b) => b.score - a.score)
    return spread(ranked).map(({ match, score }) => ({ ...match, score }))
  }

  /** How much of the question some of its words are. */
  #share(words: Iterable<Word>): number {
    let sum = 0
    for (const word of words) sum += this.#weights.get(word) ?? 0
    return sum / this.#all
  }

  #weighed(): Weighed[] {
    const { words } = this.#question
    const groups = [...this.#held].map(([session, { words: held, matches }]): Weighed => {
      const missing = words.filter((word) => !held.has(word))
      const coverage = this.#share(held)
      let [strongest, together, newestAt] = [0, 0, 0]
      for (const one of matches.values()) {
        strongest = Math.max(strongest, one.score * this.#share(one.words))
        together = Math.max(together, one.words.size)
        newestAt = Math.max(newestAt, one.match.ts ?? 0)
      }
      return {
        session,
        coverage,
        together,
        missing: missing.map((word) => word.typed),
        isTogether: together === words.length,
        score: strongest * coverage,
        newestAt,
      }
    })
    return groups.sort((a, b) => b.score - a.score || b.newestAt - a.newestAt)
  }
}

/** Shown first: matches that hold what those before them do not. */
const SHOWN_FIRST = 3

function spread<T extends { words: ReadonlySet<Word> }>(ranked: readonly T[]): T[] {
  const chosen: T[] = []
  const seen = new Set<Word>()
  for (const one of ranked) {
    if (chosen.length >= SHOWN_FIRST) break
    if (![...one.words].some((word) => !seen.has(word))) continue
    chosen.push(one)
    for (const word of one.words) seen.add(word)
  }
  return [...chosen, ...ranked.filter((one) => !chosen.includes(one))]
}
