// What is shown of matches: for each the line that holds the words, read from its body where its beginning does not say it all.
import { searchedIn } from '../event/words.ts'
import { EVENT_KINDS, type EventKind, isoTime, type Session } from '../model.ts'
import { Bodies } from '../store/bodies.ts'
import type { Candidate } from '../store/reader/candidates.ts'
import type { Reader } from '../store/reader/index.ts'
import type { FoundEvent } from '../store/reader/search.ts'
import type { WrittenMatch } from '../store/reader/search-written.ts'
import { type Finder, type MatchingLine, plainLine } from './line.ts'
import { goneOf, type Receipt } from './receipts.ts'
import { placeInDigest } from './search-digests.ts'
import type { Group, Match } from './search-groups.ts'

export interface SearchHit {
  session_uid: string
  /** Null when the event is gone and the digest does not name it. */
  seq: number | null
  ts: string | null
  kind: EventKind
  /** What a person wrote beside the session and is no event of it; null for anything else. */
  label: WrittenMatch['label']
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

export interface ShownOptions {
  kinds?: readonly EventKind[]
  /** Hits of one session. */
  perSession: number
  /** Hits in all. */
  maxHits?: number
}

/** The groups as they are shown. One of which nothing can be shown any more is left out. */
export function shownGroups(
  handle: Reader,
  groups: readonly Group[],
  finder: Finder,
  { kinds, perSession, maxHits = Number.MAX_SAFE_INTEGER }: ShownOptions,
): SessionHits[] {
  const sessions = new Map(
    handle.sessions.of(groups.map((group) => group.uid)).map((session) => [session.session_uid, session]),
  )
  const losses = lossesOf(handle, [...sessions.keys()])
  const reader = new HitReader(handle, finder, kinds)
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

const round = (score: number): number => Number(score.toPrecision(6))

/** Reads what is shown of the few hits that are shown. */
class HitReader {
  readonly #handle: Reader
  readonly #bodies: Bodies
  readonly #finder: Finder
  readonly #kinds: readonly EventKind[] | undefined

  constructor(handle: Reader, finder: Finder, kinds: readonly EventKind[] | undefined) {
    this.#handle = handle
    this.#bodies = new Bodies(handle)
    this.#finder = finder
    this.#kinds = kinds
  }

  /** Undefined when it went between finding and reading, or a digest holds nothing of the kinds asked for. */
  read(uid: string, match: Match): SearchHit | undefined {
    if (match.written) return this.#fromWritten(uid, match, match.written)
    return match.event ? this.#fromEvent(uid, match, match.event) : this.#fromDigest(uid, match)
  }

  #fromEvent(uid: string, match: Match, event: Candidate): SearchHit | undefined {
    const row = this.#handle.search.event(event.id)
    if (!row) return undefined
    const found = this.#lineOf(row)
    const line = found === 'unread' || found === undefined ? plainLine(row.summary) : found
    return {
      session_uid: uid,
      seq: event.seq,
      ts: isoTime(event.ts),
      kind: EVENT_KINDS[event.kind] as EventKind,
      label: null,
      tool: row.tool,
      summary: row.summary,
      line: line.text,
      marks: line.marks,
      score: round(match.score),
      is_evicted: false,
      is_unread: found === 'unread',
    }
  }

  #fromWritten(uid: string, match: Match, { decision, label, at, ...written }: WrittenMatch): SearchHit {
    const text = decision?.text ?? written.text
    const line = this.#finder.find(text) ?? plainLine(text)
    return {
      session_uid: uid,
      seq: decision?.seq ?? null,
      ts: new Date(at).toISOString(),
      kind: decision ? 'decision' : 'user_msg',
      label,
      tool: null,
      summary: line.text,
      line: line.text,
      marks: line.marks,
      score: round(match.score),
      is_evicted: false,
      is_unread: false,
    }
  }

  #lineOf(row: FoundEvent): MatchingLine | 'unread' | undefined {
    // Most often the beginning says it all, and the body need not be unpacked.
    if (this.#finder.isWholeIn(row.summary)) return this.#finder.find(row.summary)
    const body = this.#bodies.body(row.payloadRef)
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
      label: null,
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
function lossesOf(handle: Reader, uids: readonly string[]): Map<string, SessionHits['evicted']> {
  const gone = [...goneOf(handle, uids)]
  return new Map(gone.map(([uid, { evicted_at: at, reason }]) => [uid, { at, reason }]))
}
