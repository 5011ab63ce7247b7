// Full-text search over everything remembered: words, "phrases", prefix*, -not. Best first, grouped by session, each hit
// with the line that matches. Sessions whose events are gone are found through their digests, and say so.
//
//   search(handle, query, options)          hits, best first: what a list or a program wants
//   searchSessions(handle, query, options)  the same, grouped by session: what a person reads
//
// All words have to stand in one event, as the index has it; `answer.ts` goes on where that finds nothing. A query without a word that has to be there finds nothing; no query is an error.
import { DAY, EVENT_KINDS, type EventKind } from '../model.ts'
import { areAll, type Candidate, type EventConditions } from '../store/reader/candidates.ts'
import { isFiltering, type NarrowedFilter, narrowed, type SessionFilter } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import { FLAG } from '../store/rows.ts'
import { parseQuery } from '../store/words.ts'
import { type SearchHit, type SessionHits, type ShownOptions, shownGroups } from './hits.ts'
import { LineFinder } from './line.ts'
import { meant } from './meant.ts'
import { bestGroups, type Group, type Match, type MatchByUid, numbered } from './search-groups.ts'

export type { SearchHit, SessionHits } from './hits.ts'

/** `sinceAt` and `untilAt` are about the events here, and `tool` is the tool of the event. */
export interface SearchOptions extends SessionFilter {
  kinds?: readonly EventKind[]
  /** Hits of `search` (20), sessions of `searchSessions` (10). */
  limit?: number
  /** Hits of one session (3; with `session` as many as the limit). */
  perSession?: number
  /** Of the matching line, in characters (160). */
  lineLength?: number
}

/** Hits, best sessions first and together. */
export function search(handle: Reader, query: string, options: SearchOptions = {}): SearchHit[] {
  const limit = options.limit ?? 20
  const perSession = options.perSession ?? (options.session === undefined ? 3 : limit)
  return searchSessions(handle, query, { ...options, limit, perSession }, limit)
    .flatMap((found) => found.hits)
    .slice(0, limit)
}

export function searchSessions(
  handle: Reader,
  query: string,
  given: SearchOptions = {},
  maxHits = Number.MAX_SAFE_INTEGER,
): SessionHits[] {
  const parsed = parseQuery(query)
  const limit = given.limit ?? 10
  if (parsed === undefined || limit <= 0) return []
  const options = narrowedOptions(handle, given)
  const finder = new LineFinder(parsed.wanted, options.lineLength)
  const { groups } = findGroups(handle, parsed.match, options, limit)
  return shownGroups(handle, groups, finder, { ...shown(options, limit), maxHits })
}

/** How much of each session is shown. */
export const shown = (
  { kinds, perSession, session }: SearchOptions,
  limit: number,
): Omit<ShownOptions, 'maxHits'> => ({
  ...(kinds ? { kinds } : {}),
  perSession: perSession ?? (session === undefined ? 3 : limit),
})

/** Prompts and answers before what tools printed. */
const WEIGHTS: Record<EventKind, number> = {
  user_msg: 3,
  human_intervention: 3,
  decision: 3,
  completion: 2,
  assistant_msg: 1.6,
  error: 1.2,
  edit: 1,
  test_run: 1,
  retry: 1,
  tool_call: 1,
  thinking: 0.8,
  tool_result: 0.7,
  lifecycle: 0.5,
}
/** The answer a turn ends with says what came of it. */
const LAST_ANSWER = 1.6
const WEIGHED_ANSWERS = 80
const DIGEST_WEIGHT = 2
const HALF_LIFE_MS = 90 * DAY

/** Options with the names that are meant, looked at beforehand. */
export type Narrowed = SearchOptions & NarrowedFilter

export function narrowedOptions(handle: Reader, given: SearchOptions): Narrowed {
  const asked = meant(handle, given)
  return narrowed(asked, handle.search.touching(asked, 'few'))
}

export interface FoundGroups<G extends Group = Group> {
  groups: G[]
  /** How many sessions there are; at least so many unless `isAll`. */
  count: number
  isAll: boolean
}

export function findGroups(handle: Reader, match: string, options: Narrowed, limit: number): FoundGroups {
  const counted = (found: readonly Match[], groups: Group[], isFiltered: boolean): FoundGroups => ({
    groups,
    count: new Set(found.map((one) => one.session)).size,
    isAll: areAll(found.length, isFiltered),
  })
  if (!options.isTouchedOften) {
    const found = findMatches(handle, match, options)
    const { events, sessions } = partsOf(options)
    const isFiltered = isFiltering(sessions) || Object.keys(events).length > 0
    return counted(found, bestGroups(handle, found, limit), isFiltered)
  }
  // A file that many touched: of the best sessions enough did, most likely.
  const { touched: _, isTouchedOften: __, ...others } = options
  const found = findMatches(handle, match, others)
  const best = bestGroups(handle, found, limit, { ...options, withSubagents: true })
  const isAll = areAll(found.length, isFiltering(others))
  if (best.length >= limit || isAll)
    return { groups: best, count: best.length, isAll: isAll && best.length < limit }
  const all = findMatches(handle, match, narrowed(options, handle.search.touching(options, 'all')))
  return counted(all, bestGroups(handle, all, limit), true)
}

export const findMatches = (handle: Reader, match: string, options: Narrowed): Match[] => [
  ...inEvents(handle, match, options),
  ...numbered(handle, inWritten(handle, match, options)),
  ...numbered(handle, inDigests(handle, match, options)),
]

export function inEvents(handle: Reader, match: string, options: Narrowed): Match[] {
  const { events, sessions } = partsOf(options)
  return scored(handle, handle.search.candidates(match, events, sessions))
}

/** What of the options is about events, and what about their sessions. */
export function partsOf(options: Narrowed): { events: EventConditions; sessions: NarrowedFilter } {
  const { kinds, tool, sinceAt, untilAt, ...rest } = options
  const events = {
    ...(kinds ? { kinds } : {}),
    ...(tool === undefined ? {} : { tool }),
    ...time(sinceAt, untilAt),
  }
  return { events, sessions: sessionPart({ ...rest, ...time(sinceAt, untilAt) }) }
}

/** Events as matches, best first, each told once. */
export function scored(handle: Reader, found: readonly Candidate[]): Match[] {
  const candidates = withoutCopies(handle, found)
  const newest = candidates.reduce((most, one) => Math.max(most, one.ts ?? 0), 0)
  const matches = candidates
    .map((event) => ({ event, score: scoreOf(event, newest) }))
    .sort((a, b) => b.score - a.score || (b.event.ts ?? 0) - (a.event.ts ?? 0) || b.event.id - a.event.id)
  raiseLastAnswers(handle, matches)
  return matches.map(({ event, score }) => ({ session: event.session, score, ts: event.ts, event }))
}

const time = (sinceAt: number | undefined, untilAt: number | undefined): SessionFilter => ({
  ...(sinceAt === undefined ? {} : { sinceAt }),
  ...(untilAt === undefined ? {} : { untilAt }),
})

/** What of the options is about sessions; sub-agents are searched unless told otherwise. */
function sessionPart(options: Narrowed): NarrowedFilter {
  const { kinds: _k, limit: _l, perSession: _p, lineLength: _n, tool: _t, ...filter } = options
  return { withSubagents: true, ...filter }
}

function scoreOf(event: Candidate, newest: number): number {
  const kind = EVENT_KINDS[event.kind] as EventKind
  const age = newest - (event.ts ?? newest)
  const recency = 0.75 + 0.25 * 2 ** (-age / HALF_LIFE_MS)
  const taken = event.flags & FLAG.superseded ? 0.6 : 1
  const aside = event.flags & FLAG.sidechain ? 0.8 : 1
  return -event.rank * WEIGHTS[kind] * recency * taken * aside
}

/** What a fork inherited is found where it was said. */
function withoutCopies(handle: Reader, candidates: readonly Candidate[]): Candidate[] {
  const isCopy = (one: Candidate): boolean => (one.flags & (FLAG.inherited | FLAG.copied)) !== 0
  if (!candidates.some(isCopy)) return [...candidates]
  // Asked for only here: for all candidates of every search they would cost a tenth of its time.
  const keys = handle.search.keys(candidates.map((one) => one.id))
  const seen = new Set<string | undefined>()
  return candidates
    .toSorted((a, b) => Number(isCopy(a)) - Number(isCopy(b)) || a.id - b.id)
    .filter(({ id }) => !seen.has(keys.get(id)) && seen.add(keys.get(id)))
}

function raiseLastAnswers(handle: Reader, scored: { event: Candidate; score: number }[]): void {
  for (const one of scored.slice(0, WEIGHED_ANSWERS)) {
    if (EVENT_KINDS[one.event.kind] !== 'assistant_msg') continue
    const after = handle.search.kindAfter(one.event)
    if (after === undefined || after === 'user_msg' || after === 'human_intervention')
      one.score *= LAST_ANSWER
  }
}

/** bm25 is next to nothing where few texts are compared: what was written beside is worth about a prompt that matches. */
const WRITTEN_SCORE = 10

export function inWritten(handle: Reader, match: string, options: Narrowed): MatchByUid[] {
  const { kinds, limit: _limit, perSession: _perSession, ...filter } = options
  return handle.search.written(match, filter, kinds).map((written) => ({
    session: written.session_uid,
    score: WEIGHTS.decision * (WRITTEN_SCORE - written.rank),
    ts: written.at,
    written,
  }))
}

export function inDigests(handle: Reader, match: string, options: Narrowed): MatchByUid[] {
  return handle.search.digests(match, sessionPart(options), options.tool).map(({ uid, rank }) => ({
    session: uid,
    score: -rank * DIGEST_WEIGHT,
    ts: null,
  }))
}
