// The answer to what a person typed: the same for the command line, the page, agents and programs. Where the index holds all
// words in one event, that is the answer, as ever. Where it does not, the bodies are read, words may stand in several events
// of a session, mistyped ones are replaced, and the answer says which of it was done. Nothing found is told with what to ask
// instead, and only what would find something is offered.
import type { Session } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Run, Scanned } from '../store/scan.ts'
import { type ParsedQuery, parseQuery, type QueryTerm } from '../store/words.ts'
import { type SearchHit, type SessionHits, shownGroups } from './hits.ts'
import { type Finder, LineFinder } from './line.ts'
import { type NextQuery, nextQueries, replaced } from './next-queries.ts'
import {
  allWords,
  finderOf,
  groupsByWords,
  type PartialGroup,
  type Question,
  questionOf,
  type Word,
} from './questions.ts'
import {
  type FoundGroups,
  findGroups,
  inEvents,
  type Narrowed,
  narrowedOptions,
  partsOf,
  type SearchOptions,
  scored,
  shown,
} from './search.ts'
import { bestGroups, type Group, type Match } from './search-groups.ts'
import { isName, isWeak, signsIn } from './signs.ts'
import { type Spelling, spellingsOf } from './spelling.ts'
import { perTask, type TaskGroup } from './tasks.ts'
import { type Unread, unreadOf } from './unread.ts'
import { type Wanted, wantedPattern, wantedText, wantedWords } from './wanted.ts'

export interface AnswerOptions extends SearchOptions {
  /** `words` unless told; `literal` and `regex` are looked for in every body. */
  how?: 'words' | 'literal' | 'regex'
  /** Whether bodies are read where the index is silent (they are). */
  scan?: boolean
  /** Ends the reading of bodies; what was found until then is the answer. */
  signal?: AbortSignal
  /** What a regular expression runs in, so that it can be ended; then the signal has come as well. */
  run?: Run
  /** Of the reading of bodies: bytes so far, of so many. */
  progress?: (read: number, of: number) => void
}

/** What an answer has in common with the question. */
export type Holding = (typeof HOLDINGS)[number] | 'nothing'
/** The most first. */
const HOLDINGS = ['all_in_event', 'all_in_session', 'most'] as const

/** Sessions of one task are told once, by the best of them. */
export interface AnsweredSession extends SessionHits {
  /** The session that all of its task began with. */
  task_uid: string
  /** Other sessions of the task that hold it as well: sub-agents', mostly. */
  also_in: string[]
  /** What it has in common with the question. */
  holds: Holding
  /** Words that are nowhere in the session. */
  missing: string[]
}

export interface Answer {
  query: string
  holds: Holding
  /** Null where nothing was found. */
  found_by: 'index' | 'bodies' | null
  sessions: AnsweredSession[]
  /** Sessions that hold it, in all; at least so many unless exact. */
  session_count: number
  is_count_exact: boolean
  /** Words of the question that say nothing, and were not looked for. */
  ignored: string[]
  /** Words that nothing holds, and what was looked for in their place. */
  instead: { typed: string; meant: string }[]
  next: NextQuery[]
  /** Null where no body had to be read. */
  scanned: (Scanned & { is_all: boolean }) | null
}

export async function answer(handle: Reader, query: string, given: AnswerOptions = {}): Promise<Answer> {
  const { how = 'words', scan = true, signal, progress, run, ...options } = given
  const asking = new Asking(handle, query, narrowedOptions(handle, options), { scan, signal, progress })
  if (how === 'literal') return asking.inBodies(wantedText(query, options.lineLength))
  if (how === 'regex') return asking.inBodies(wantedPattern(query, options.lineLength, run))
  return await asking.forWords()
}

/** Sentences are answered by the index as far as it goes: to read all bodies for each would take longer than asking again. */
const isTerse = ({ words, ignored }: Question): boolean => words.length <= 2 && ignored.length === 0

interface Reading {
  scan: boolean
  signal: AbortSignal | undefined
  progress: AnswerOptions['progress']
}

class Asking {
  readonly #handle: Reader
  readonly #query: string
  readonly #options: Narrowed
  readonly #reading: Reading
  readonly #limit: number
  #scanned: Answer['scanned'] = null

  constructor(handle: Reader, query: string, options: Narrowed, reading: Reading) {
    this.#handle = handle
    this.#query = query
    this.#options = options
    this.#reading = reading
    this.#limit = options.limit ?? 10
  }

  async forWords(): Promise<Answer> {
    const parsed = parseQuery(this.#query)
    if (this.#limit <= 0) return this.#answer({})
    if (parsed === undefined) {
      const signs = signsIn(this.#query)
      return signs === undefined
        ? this.#answer({})
        : this.inBodies(wantedText(signs, this.#options.lineLength))
    }
    return (await this.#asTyped(parsed)) ?? this.#atOnce(parsed) ?? (await this.#elsewhere(parsed))
  }

  /** What is typed with signs that matter is looked for with them. */
  async #asTyped({ wanted, ruledOut }: ParsedQuery): Promise<Answer | undefined> {
    if (!wanted.some((term) => isWeak(term.text))) return undefined
    const terms = wanted.map((term) => (isWeak(term.text) ? { ...term, isLiteral: true } : term))
    return await this.#wordsInBodies(terms, ruledOut)
  }

  async #wordsInBodies(
    terms: readonly QueryTerm[],
    ruledOut: readonly QueryTerm[],
  ): Promise<Answer | undefined> {
    if (!this.#reading.scan) return undefined
    const found = await this.inBodies(wantedWords(terms, ruledOut, this.#options.lineLength))
    return found.sessions.length > 0 ? found : undefined
  }

  /** All words in one event. Of a sentence some event holds them by chance: what holds most of it may say more. */
  #atOnce(parsed: ParsedQuery): Answer | undefined {
    const found = this.#inEvents(parsed)
    if (found === undefined || found.sessions.length >= this.#limit) return found
    const question = questionOf(parsed)
    return question.ignored.length > 0 && question.words.length > 1 ? this.#loosely(question) : found
  }

  #inEvents({ match, wanted }: ParsedQuery): Answer | undefined {
    return this.#fromIndex(match, new LineFinder(wanted, this.#options.lineLength))
  }

  #fromIndex(match: string, finder: Finder, told: Partial<Answer> = {}): Answer | undefined {
    const found = this.#taskGroups((limit) => findGroups(this.#handle, match, this.#options, limit))
    if (found.groups.length === 0) return undefined
    return this.#answer({
      holds: 'all_in_event',
      found_by: 'index',
      sessions: this.#shown(found.groups, finder),
      session_count: found.count,
      is_count_exact: found.isAll,
      ...told,
    })
  }

  /** No event of the index holds all words. */
  async #elsewhere(parsed: ParsedQuery): Promise<Answer> {
    const question = questionOf(parsed)
    const unknown = question.words.filter((word) => this.#handle.search.frequency(word.match) === 0)
    const abbreviated = this.#abbreviated(
      unknown.length === 1 && question.words.length === 1 ? this.#query : '',
    )
    if (abbreviated) return abbreviated
    if (isTerse(question)) {
      const found = await this.#wordsInBodies(
        question.words.map((word) => word.exact),
        question.ruledOut,
      )
      if (found) return found
    }
    const spellings = spellingsOf(this.#handle, question)
    return (
      this.#corrected(spellings.filter((one) => one.isClear)) ??
      this.#loosely(question, spellings) ??
      (await this.#inMidst(question, unknown)) ??
      this.#answer({ ignored: question.ignored, next: this.#next(question, spellings) })
    )
  }

  /** Where the index is silent: bodies with the words that no index holds, or with all that was typed side by side. */
  async #inMidst(question: Question, unknown: readonly Word[]): Promise<Answer | undefined> {
    const { words, wanted, ruledOut, ignored } = question
    const rest = words.filter((word) => !unknown.includes(word))
    const wereRead = isTerse(question) && (unknown.length === 0 || rest.length === 0)
    if (wereRead || this.#reading.signal?.aborted) return undefined
    const typed = { text: wanted.map((term) => term.text).join(' '), isPrefix: false }
    const terms = unknown.length === 0 ? [typed] : unknown.map((word) => word.exact)
    const found = await this.#wordsInBodies(terms, ruledOut)
    if (found === undefined || unknown.length === 0) return found
    const sessions = found.sessions
      .map((one) => this.#withMissing(one, rest))
      .sort((a, b) => a.missing.length - b.missing.length)
    return { ...found, sessions, holds: sessions[0]?.holds ?? 'most', ignored }
  }

  #withMissing(one: AnsweredSession, words: readonly Word[]): AnsweredSession {
    const options = { ...this.#options, uids: [one.session.session_uid] }
    const missing = words
      .filter((word) => inEvents(this.#handle, word.match, options).length === 0)
      .map((word) => word.typed)
    const holds = missing.length > 0 ? 'most' : words.length > 0 ? 'all_in_session' : 'all_in_event'
    return { ...one, missing, holds }
  }

  /** Commits are written in full here and shortened there. */
  #abbreviated(typed: string): Answer | undefined {
    const sha = /^(?=.*\d)[0-9a-f]{7,40}$/i.exec(typed.trim())?.[0].slice(0, 7)
    if (sha === undefined) return undefined
    const parsed = parseQuery(`${sha}*`) as ParsedQuery
    const found = this.#inEvents(parsed)
    return found && { ...found, instead: [{ typed: typed.trim(), meant: `${sha}*` }] }
  }

  #corrected(spellings: readonly Spelling[]): Answer | undefined {
    if (spellings.length === 0) return undefined
    const instead = spellings.map(({ typed, near }) => ({ typed, meant: near[0] as string }))
    const query = instead.reduce(replaced, this.#query)
    const parsed = parseQuery(query)
    if (parsed === undefined) return undefined
    const found = this.#inEvents(parsed) ?? this.#loosely(questionOf(parsed))
    // Another word, and then not even all of them: that would be a guess about a guess.
    return found && found.holds !== 'most'
      ? { ...found, instead, next: [{ query, why: 'spelling' }] }
      : undefined
  }

  /** In other forms and without common words: in one event, in several of a session, or most of it. */
  #loosely(question: Question, spellings: readonly Spelling[] = []): Answer | undefined {
    const finder = finderOf(question, this.#options.lineLength)
    if (question.words.length < 2)
      return this.#fromIndex(allWords(question), finder, { ignored: question.ignored })
    const found = this.#taskGroups((limit) => groupsByWords(this.#handle, question, this.#options, limit))
    const sessions = this.#shown(found.groups.slice(0, this.#limit), finder)
    const [best] = sessions
    if (best === undefined) return undefined
    return this.#answer({
      holds: HOLDINGS.find((holds) => sessions.some((one) => one.holds === holds)) ?? 'most',
      found_by: 'index',
      sessions,
      session_count: Math.max(found.count, sessions.length),
      is_count_exact: found.isAll,
      ignored: question.ignored,
      next: [...this.#otherSpellings(spellings), ...this.#unread(question, best)],
    })
  }

  #otherSpellings(spellings: readonly Spelling[]): NextQuery[] {
    return spellings.flatMap(({ typed, near }) => {
      const queries = near.map((meant) => replaced(this.#query, { typed, meant }))
      const query = queries.find((one) => this.#holdsTogether(one)) ?? queries[0]
      return query === undefined ? [] : { query, why: 'spelling' as const }
    })
  }

  #holdsTogether(query: string): boolean {
    const parsed = parseQuery(query)
    const match = parsed && allWords(questionOf(parsed))
    return match !== undefined && findGroups(this.#handle, match, this.#options, 1).groups.length > 0
  }

  /** A name that no index holds may stand in the midst of a log, and says more than all else that was asked. */
  #unread({ words }: Question, { missing }: AnsweredSession): NextQuery[] {
    const names = words.filter(
      ({ typed, match }) =>
        missing.includes(typed) && isName(typed) && this.#handle.search.frequency(match) === 0,
    )
    return this.#scanned !== null
      ? []
      : names.slice(0, 1).map(({ typed }) => ({ query: typed, why: 'bodies' }))
  }

  async inBodies(wanted: Wanted): Promise<Answer> {
    const scanned = { bytes: 0, sessions: 0, damaged: 0 }
    const { signal, progress } = this.#reading
    const candidates = []
    const sessions = new Set<number>()
    const found = this.#handle.scan({ ...partsOf(this.#options), ...wanted, signal, progress, scanned })
    for await (const candidate of found) {
      candidates.push(candidate)
      sessions.add(candidate.session)
      if (sessions.size > this.#limit) break
    }
    const isAll = sessions.size <= this.#limit && !signal?.aborted
    this.#scanned = { ...scanned, is_all: isAll }
    const matches: Match[] = scored(this.#handle, candidates)
    const groups = perTask(this.#handle, bestGroups(this.#handle, matches, this.#limit), this.#options)
    if (groups.length === 0) return this.#answer({})
    return this.#answer({
      holds: 'all_in_event',
      found_by: 'bodies',
      sessions: this.#shown(groups, wanted.finder),
      session_count: sessions.size,
      is_count_exact: isAll,
    })
  }

  /** Sessions of one task take one place: more are looked for where that leaves room. */
  #taskGroups<G extends Group>(find: (limit: number) => FoundGroups<G>): FoundGroups<TaskGroup<G>> {
    const first = find(this.#limit)
    const tasks = perTask(this.#handle, first.groups, this.#options)
    if (tasks.length === first.groups.length || first.groups.length < this.#limit)
      return { ...first, groups: tasks }
    const more = find(this.#limit * 5)
    return { ...more, groups: perTask(this.#handle, more.groups, this.#options).slice(0, this.#limit) }
  }

  #shown(groups: readonly TaskGroup<Group & Partial<PartialGroup>>[], finder: Finder): AnsweredSession[] {
    const byUid = new Map(groups.map((group) => [group.uid, group]))
    return shownGroups(this.#handle, groups, finder, shown(this.#options, this.#limit)).map((one) => {
      const group = byUid.get(one.session.session_uid) as TaskGroup<Group & Partial<PartialGroup>>
      const { task, alsoIn, missing, isTogether = true } = group
      const holds = isTogether ? 'all_in_event' : missing?.length === 0 ? 'all_in_session' : 'most'
      return { ...one, task_uid: task, also_in: alsoIn, holds, missing: missing ?? [] }
    })
  }

  #next(question: Question, spellings: readonly Spelling[]): NextQuery[] {
    return nextQueries(this.#handle, this.#query, question, spellings, {
      options: this.#options,
      wereBodiesRead: this.#scanned !== null,
      finds: (query) => {
        const parsed = parseQuery(query)
        return (
          parsed !== undefined && (this.#inEvents(parsed) ?? this.#loosely(questionOf(parsed))) !== undefined
        )
      },
    })
  }

  #answer(told: Partial<Answer>): Answer {
    return {
      query: this.#query,
      holds: 'nothing',
      found_by: null,
      sessions: [],
      session_count: 0,
      is_count_exact: true,
      ignored: [],
      instead: [],
      next: [],
      scanned: this.#scanned,
      ...told,
    }
  }
}

/** As programs read it: hits in one list, best first, and the sessions they are in. */
export interface SearchDocument extends Omit<Answer, 'sessions'> {
  hits: SearchHit[]
  sessions: (Session & Omit<AnsweredSession, 'session' | 'hits'>)[]
  /** How many lines were to come from bodies that cannot be read. */
  unread_bodies: number
  unread: Unread | null
}

export function searchDocument({ sessions, query, ...rest }: Answer): SearchDocument {
  const hits = sessions.flatMap((one) => one.hits)
  const unreadCount = hits.filter((hit) => hit.is_unread).length
  return {
    query,
    hits,
    sessions: sessions.map(({ session, hits: _, ...more }) => ({ ...session, ...more })),
    ...rest,
    unread_bodies: unreadCount,
    unread: unreadOf(unreadCount),
  }
}
