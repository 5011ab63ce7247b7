// Full-text search over everything remembered: words, "phrases", prefix*, -not. Best first, grouped by session, each hit
// with the line that matches. Sessions whose events are gone are found through their digests, and say so.
//
//   search(handle, query, options)          hits, best first: what a list or a program wants
//   searchSessions(handle, query, options)  the same, grouped by session: what a person reads
//
// A query without a word that has to be there finds nothing; no query is an error.
import { searchedIn } from '../event/words.ts'
import { DAY, type Decision, EVENT_KINDS, type EventKind, type Session } from '../model.ts'
import { Bodies } from '../store/bodies.ts'
import { prepared } from '../store/database.ts'
import { conversationOrder } from '../store/order.ts'
import { FLAG, NO_TURN } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'
import { parseQuery } from '../store/words.ts'
import { areAll, type Candidate, findCandidates } from './candidates.ts'
import {
  isFiltering,
  lookedUp,
  type NarrowedFilter,
  narrowed,
  type SessionFilter,
  sessionConditions,
} from './filters.ts'
import { LineFinder, type MatchingLine } from './line.ts'
import { goneOf, type Receipt } from './receipts.ts'
import { findDecisions } from './search-decisions.ts'
import { findDigests, placeInDigest } from './search-digests.ts'
import { bestGroups, type Group, type Match, type MatchByUid, numbered } from './search-groups.ts'
import { sessionsOf } from './sessions.ts'
import { type Unread, unreadOf } from './unread.ts'

export interface SearchHit {
  session_uid: string
  /** Null when the event is gone and the digest does not name it. */
  seq: number | null
  ts: string | null
  kind: EventKind
  tool: string | null
  /** The beginning of the event; of one that is gone, the matching line. */
  summary: string
  /** The line with the words in it, at most 160 characters or so. */
  line: string
  /** Where in `line` they are: [from, to) each. */
  marks: [number, number][]
  /** Greater is better; only good for comparing hits of one search. */
  score: number
  /** The event itself is gone: the session's digest matched. */
  is_evicted: boolean
  /** The line was to come from its body, which cannot be read: the summary stands in for it. */
  is_unread: boolean
}

/** What a search found in one session. */
export interface SessionHits {
  session: Session
  /** When and why its events (or the first part of them) went; null while all are here. */
  evicted: { at: string; reason: Receipt['reason'] } | null
  /** How many events matched: at least so many, for words that are everywhere. */
  match_count: number
  score: number
  hits: SearchHit[]
}

/** As programs read it: hits in one list, best first, and the sessions they are in. */
export interface SearchDocument {
  query: string
  hits: SearchHit[]
  sessions: (Session & Omit<SessionHits, 'session' | 'hits'>)[]
  /** How many lines were to come from bodies that cannot be read. */
  unread_bodies: number
  unread: Unread | null
}

export function searchDocument(query: string, found: readonly SessionHits[]): SearchDocument {
  const hits = found.flatMap((one) => one.hits)
  const unreadCount = hits.filter((hit) => hit.is_unread).length
  return {
    query,
    hits,
    sessions: found.map(({ session, hits: _, ...rest }) => ({ ...session, ...rest })),
    unread_bodies: unreadCount,
    unread: unreadOf(unreadCount),
  }
}

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
export function search(handle: ReadHandle, query: string, options: SearchOptions = {}): SearchHit[] {
  const limit = options.limit ?? 20
  const perSession = options.perSession ?? (options.session === undefined ? 3 : limit)
  return searchSessions(handle, query, { ...options, limit, perSession }, limit)
    .flatMap((found) => found.hits)
    .slice(0, limit)
}

export function searchSessions(
  handle: ReadHandle,
  query: string,
  given: SearchOptions = {},
  maxHits = Number.MAX_SAFE_INTEGER,
): SessionHits[] {
  const parsed = parseQuery(query)
  const limit = given.limit ?? 10
  if (parsed === undefined || limit <= 0) return []
  const options = narrowed(handle, given)
  const finder = new LineFinder(parsed.wanted, options.lineLength)
  const groups = findGroups(handle, parsed.match, options, limit)
  const perSession = options.perSession ?? (options.session === undefined ? 3 : limit)
  const sessions = new Map(
    sessionsOf(
      handle,
      groups.map((group) => group.uid),
    ).map((session) => [session.session_uid, session]),
  )
  const losses = lossesOf(handle, [...sessions.keys()])
  const reader = new HitReader(handle, finder, options.kinds)
  const results: SessionHits[] = []
  let count = 0
  for (const group of groups) {
    const session = sessions.get(group.uid)
    if (!session || count >= maxHits) continue
    const hits = group.matches
      .slice(0, Math.min(perSession, maxHits - count))
      .map((match) => reader.read(group.uid, match))
      .filter((hit) => hit !== undefined)
    if (hits.length === 0) continue
    count += hits.length
    const evicted = losses.get(group.uid) ?? null
    results.push({ session, evicted, match_count: group.matches.length, score: round(group.score), hits })
  }
  return results
}

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

type Narrowed = SearchOptions & NarrowedFilter

function findGroups(handle: ReadHandle, match: string, options: Narrowed, limit: number): Group[] {
  if (!options.isTouchedOften) return bestGroups(handle, findMatches(handle, match, options), limit)
  // A file that many touched: of the best sessions enough did, most likely.
  const { touched: _, isTouchedOften: __, ...others } = options
  const found = findMatches(handle, match, others)
  const best = bestGroups(handle, found, limit, sessionConditions({ ...options, withSubagents: true }))
  if (best.length >= limit || areAll(found.length, isFiltering(others))) return best
  return bestGroups(handle, findMatches(handle, match, lookedUp(handle, options)), limit)
}

const findMatches = (handle: ReadHandle, match: string, options: Narrowed): Match[] => [
  ...inEvents(handle, match, options),
  ...numbered(handle, inDecisions(handle, match, options)),
  ...numbered(handle, inDigests(handle, match, options)),
]

function inEvents(handle: ReadHandle, match: string, options: Narrowed): Match[] {
  const { kinds, tool, sinceAt, untilAt, ...rest } = options
  const sessions = sessionPart({ ...rest, ...time(sinceAt, untilAt) })
  const events = {
    ...(kinds ? { kinds } : {}),
    ...(tool === undefined ? {} : { tool }),
    ...time(sinceAt, untilAt),
  }
  const candidates = withoutCopies(handle, findCandidates(handle, match, events, sessions))
  const newest = candidates.reduce((most, one) => Math.max(most, one.ts ?? 0), 0)
  const scored = candidates
    .map((event) => ({ event, score: scoreOf(event, newest) }))
    .sort((a, b) => b.score - a.score || (b.event.ts ?? 0) - (a.event.ts ?? 0) || b.event.id - a.event.id)
  raiseLastAnswers(handle, scored)
  return scored.map(({ event, score }) => ({ session: event.session, score, ts: event.ts, event }))
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
function withoutCopies(handle: ReadHandle, candidates: readonly Candidate[]): Candidate[] {
  const isCopy = (one: Candidate): boolean => (one.flags & (FLAG.inherited | FLAG.copied)) !== 0
  if (!candidates.some(isCopy)) return [...candidates]
  // Asked for only here: for all candidates of every search they would cost a tenth of its time.
  const rows = prepared(
    handle.cache,
    'SELECT e.id, hex(e.key) AS key FROM json_each(?) j CROSS JOIN events e ON e.id = j.value',
  ).all(JSON.stringify(candidates.map((one) => one.id))) as unknown as { id: number; key: string }[]
  const keys = new Map(rows.map(({ id, key }) => [id, key]))
  const seen = new Set<string | undefined>()
  return candidates
    .toSorted((a, b) => Number(isCopy(a)) - Number(isCopy(b)) || a.id - b.id)
    .filter(({ id }) => !seen.has(keys.get(id)) && seen.add(keys.get(id)))
}

function raiseLastAnswers(handle: ReadHandle, scored: { event: Candidate; score: number }[]): void {
  const kind = (name: EventKind): number => EVENT_KINDS.indexOf(name)
  const isTalk = `NOT flags & ${NO_TURN}
    AND kind NOT IN (${kind('thinking')}, ${kind('lifecycle')}, ${kind('completion')})`
  const next = prepared(
    handle.cache,
    `SELECT kind FROM events WHERE session = ? AND seq > ? AND ${isTalk} ORDER BY seq LIMIT 1`,
  )
  const nextOf = prepared(
    handle.cache,
    `SELECT kind FROM json_each(?2) j CROSS JOIN events e ON e.session = ?1 AND e.seq = j.value
     WHERE ${isTalk} ORDER BY j.key LIMIT 1`,
  )
  const nextKind = ({ session, seq }: Candidate): number | undefined => {
    const order = conversationOrder(handle.cache, session)
    const later = order.seqs(order.placeOf(seq) + 1, Number.MAX_SAFE_INTEGER)
    const row = order.isByNumber ? next.get(session, seq) : nextOf.get(session, JSON.stringify(later))
    return (row as { kind: number } | undefined)?.kind
  }
  const ends = new Set([kind('user_msg'), kind('human_intervention')])
  for (const one of scored.slice(0, WEIGHED_ANSWERS)) {
    if (one.event.kind !== kind('assistant_msg')) continue
    const after = nextKind(one.event)
    if (after === undefined || ends.has(after)) one.score *= LAST_ANSWER
  }
}

/** bm25 is next to nothing where few texts are compared: a decision that matches is worth about a prompt that does. */
const DECISION_SCORE = 10

function inDecisions(handle: ReadHandle, match: string, options: Narrowed): MatchByUid[] {
  const { kinds, limit: _limit, perSession: _perSession, ...filter } = options
  return findDecisions(handle, match, filter, kinds).map(({ decision, rank }) => ({
    session: decision.session_uid,
    score: WEIGHTS.decision * (DECISION_SCORE - rank),
    ts: Date.parse(decision.ts),
    decision,
  }))
}

function inDigests(handle: ReadHandle, match: string, options: Narrowed): MatchByUid[] {
  return findDigests(handle, match, sessionPart(options), options.tool).map(({ uid, rank }) => ({
    session: uid,
    score: -rank * DIGEST_WEIGHT,
    ts: null,
  }))
}

const round = (score: number): number => Number(score.toPrecision(6))

/** Reads what is shown of the few hits that are shown. */
class HitReader {
  readonly #handle: ReadHandle
  readonly #bodies: Bodies
  readonly #finder: LineFinder
  readonly #kinds: readonly EventKind[] | undefined
  readonly #event

  constructor(handle: ReadHandle, finder: LineFinder, kinds: readonly EventKind[] | undefined) {
    this.#handle = handle
    this.#bodies = new Bodies(handle)
    this.#finder = finder
    this.#kinds = kinds
    this.#event = prepared(handle.cache, 'SELECT tool, summary, payload FROM events WHERE id = ?')
  }

  /** Undefined when it went between finding and reading, or a digest holds nothing of the kinds asked for. */
  read(uid: string, match: Match): SearchHit | undefined {
    if (match.decision) return this.#fromDecision(uid, match, match.decision)
    return match.event ? this.#fromEvent(uid, match, match.event) : this.#fromDigest(uid, match)
  }

  #fromEvent(uid: string, match: Match, event: Candidate): SearchHit | undefined {
    const row = this.#event.get(event.id) as
      | { tool: string | null; summary: string; payload: Uint8Array }
      | undefined
    if (!row) return undefined
    const found = this.#lineOf(row)
    const line = found === 'unread' || found === undefined ? { text: row.summary, marks: [] } : found
    return {
      session_uid: uid,
      seq: event.seq,
      ts: event.ts === null ? null : new Date(event.ts).toISOString(),
      kind: EVENT_KINDS[event.kind] as EventKind,
      tool: row.tool,
      summary: row.summary,
      line: line.text,
      marks: line.marks,
      score: round(match.score),
      is_evicted: false,
      is_unread: found === 'unread',
    }
  }

  #fromDecision(uid: string, match: Match, decision: Decision): SearchHit {
    const line = this.#finder.find(decision.text) ?? { text: decision.text, marks: [] }
    return {
      session_uid: uid,
      seq: decision.seq,
      ts: decision.ts,
      kind: 'decision',
      tool: null,
      summary: line.text,
      line: line.text,
      marks: line.marks,
      score: round(match.score),
      is_evicted: false,
      is_unread: false,
    }
  }

  #lineOf(row: { summary: string; payload: Uint8Array }): MatchingLine | 'unread' | undefined {
    // Most often the beginning says it all, and the body need not be unpacked.
    if (this.#finder.isWholeIn(row.summary)) return this.#finder.find(row.summary)
    const body = this.#bodies.body(`blob://${Buffer.from(row.payload).toString('hex')}`)
    return body === undefined ? 'unread' : this.#finder.find(searchedIn(body))
  }

  #fromDigest(uid: string, match: Match): SearchHit | undefined {
    const place = placeInDigest(this.#handle, uid, this.#finder, this.#kinds)
    if (!place) return undefined
    return {
      session_uid: uid,
      seq: place.seq,
      ts: null,
      kind: place.kind,
      tool: null,
      summary: place.line.text,
      line: place.line.text,
      marks: place.line.marks,
      score: round(match.score),
      is_evicted: true,
      is_unread: false,
    }
  }
}

/** When and why events of each session went last, where they are still gone. */
function lossesOf(handle: ReadHandle, uids: readonly string[]): Map<string, SessionHits['evicted']> {
  const gone = [...goneOf(handle, uids)]
  return new Map(gone.map(([uid, { evicted_at: at, reason }]) => [uid, { at, reason }]))
}
