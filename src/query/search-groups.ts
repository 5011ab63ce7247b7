// Matches grouped by their session, best first. A session is known by its number in the cache here: its uid is looked up
// only for the few that are shown, since a common word is in hundreds.
import type { Candidate } from '../store/reader/candidates.ts'
import type { NarrowedFilter } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import type { WrittenMatch } from '../store/reader/search-written.ts'

export interface Match {
  /** In the cache, or the uid of one that is not there. */
  session: number | string
  score: number
  ts: number | null
  /** Neither for a digest. */
  event?: Candidate
  written?: WrittenMatch
}

export type MatchByUid = Match & { session: string }

export interface Group {
  uid: string
  score: number
  matches: Match[]
}

export interface Unnamed extends Omit<Group, 'uid'> {
  session: number | string
  newestAt: number
}

/**
 * The best groups, of sessions that the filter lets through. Digests come last: one counts only where nothing else of its
 * session was found.
 */
export function bestGroups(
  handle: Reader,
  found: readonly Match[],
  limit: number,
  filter?: NarrowedFilter,
): Group[] {
  const groups = grouped(found).sort(byScore)
  const best: Group[] = []
  for (let at = 0; at < groups.length && best.length < limit; ) {
    const last = groups[Math.min(at + limit, groups.length) - 1] as Unnamed
    const isWorse = (group: Unnamed): boolean => byScore(group, last) > 0
    const end = groups.findIndex((group, place) => place >= at + limit && isWorse(group))
    const next = named(handle, groups.slice(at, end === -1 ? groups.length : end))
    // Equals are told apart by name, so that the same question has the same answer in every memory.
    next.sort((a, b) => byScore(a, b) || (a.uid < b.uid ? -1 : 1))
    best.push(...(filter ? fulfilling(handle, next, filter) : next))
    at = end === -1 ? groups.length : end
  }
  return best.slice(0, limit)
}

const byScore = (a: Unnamed, b: Unnamed): number => b.score - a.score || b.newestAt - a.newestAt

function fulfilling(handle: Reader, groups: readonly Group[], filter: NarrowedFilter): Group[] {
  const uids = handle.sessions.fulfilling(
    groups.map((group) => group.uid),
    filter,
  )
  return groups.filter((group) => uids.has(group.uid))
}

function grouped(found: readonly Match[]): Unnamed[] {
  const groups = new Map<number | string, Unnamed>()
  for (const match of found) {
    const { session } = match
    const group = groups.get(session) ?? { session, score: 0, newestAt: 0, matches: [] }
    if (!match.event && !match.written && group.matches.length > 0) continue
    groups.set(session, group)
    group.matches.push(match)
    group.newestAt = Math.max(group.newestAt, match.ts ?? 0)
  }
  for (const group of groups.values()) {
    group.matches.sort((a, b) => b.score - a.score)
    // More hits say a little more; the best one says most.
    group.score = (group.matches[0] as Match).score * (1 + 0.1 * Math.log2(group.matches.length))
  }
  return [...groups.values()]
}

/** With the uids of their sessions. */
export function named<U extends Unnamed>(handle: Reader, groups: readonly U[]): (U & Group)[] {
  const ids = groups.map((group) => group.session).filter((session) => typeof session === 'number')
  const uids: ReadonlyMap<number | string, string> = handle.search.uidsOf(ids)
  return groups.map((group) => ({ ...group, uid: uids.get(group.session) ?? String(group.session) }))
}

/** Matches that were found by uid, with the number of their session where it is in the cache. */
export function numbered(handle: Reader, found: readonly MatchByUid[]): Match[] {
  if (found.length === 0) return []
  const ids = handle.search.idsOf(found.map((match) => match.session))
  return found.map((match) => ({ ...match, session: ids.get(match.session) ?? match.session }))
}
