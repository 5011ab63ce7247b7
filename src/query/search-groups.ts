// Matches grouped by their session, best first. A session is known by its number in the cache here: its uid is looked up
// only for the few that are shown, since a common word is in hundreds.
import type { Decision } from '../model.ts'
import { prepared } from '../store/database.ts'
import type { ReadHandle } from '../store/store.ts'
import type { Candidate } from './candidates.ts'
import type { Conditions } from './filters.ts'

export interface Match {
  /** In the cache, or the uid of one that is not there. */
  session: number | string
  score: number
  ts: number | null
  /** Neither for a digest. */
  event?: Candidate
  decision?: Decision
}

export type MatchByUid = Match & { session: string }

export interface Group {
  uid: string
  score: number
  matches: Match[]
}

interface Unnamed extends Omit<Group, 'uid'> {
  session: number | string
  newestAt: number
}

/**
 * The best groups, of sessions that fulfil the condition. Digests come last: one counts only where nothing else of its
 * session was found.
 */
export function bestGroups(
  handle: ReadHandle,
  found: readonly Match[],
  limit: number,
  condition?: Conditions,
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
    best.push(...(condition ? fulfilling(handle, next, condition) : next))
    at = end === -1 ? groups.length : end
  }
  return best.slice(0, limit)
}

const byScore = (a: Unnamed, b: Unnamed): number => b.score - a.score || b.newestAt - a.newestAt

function fulfilling(handle: ReadHandle, groups: readonly Group[], { where, values }: Conditions): Group[] {
  const rows = prepared(
    handle.memory,
    `SELECT s.session_uid AS uid FROM json_each(?) j CROSS JOIN sessions s ON s.session_uid = j.value WHERE ${where}`,
  ).all(JSON.stringify(groups.map((group) => group.uid)), ...values) as unknown as { uid: string }[]
  const uids = new Set(rows.map((row) => row.uid))
  return groups.filter((group) => uids.has(group.uid))
}

function grouped(found: readonly Match[]): Unnamed[] {
  const groups = new Map<number | string, Unnamed>()
  for (const match of found) {
    const { session } = match
    const group = groups.get(session) ?? { session, score: 0, newestAt: 0, matches: [] }
    if (!match.event && !match.decision && group.matches.length > 0) continue
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

function named(handle: ReadHandle, groups: readonly Unnamed[]): (Unnamed & Group)[] {
  const ids = groups.map((group) => group.session).filter((session) => typeof session === 'number')
  const rows = prepared(
    handle.cache,
    'SELECT c.id, c.session_uid AS uid FROM json_each(?) j CROSS JOIN cached c ON c.id = j.value',
  ).all(JSON.stringify(ids)) as unknown as { id: number; uid: string }[]
  const uids = new Map<number | string, string>(rows.map((row) => [row.id, row.uid]))
  return groups.map((group) => ({ ...group, uid: uids.get(group.session) ?? String(group.session) }))
}

/** Matches that were found by uid, with the number of their session where it is in the cache. */
export function numbered(handle: ReadHandle, found: readonly MatchByUid[]): Match[] {
  if (found.length === 0) return []
  const rows = prepared(
    handle.cache,
    'SELECT c.id, c.session_uid AS uid FROM json_each(?) j CROSS JOIN cached c ON c.session_uid = j.value',
  ).all(JSON.stringify(found.map((match) => match.session))) as unknown as { id: number; uid: string }[]
  const ids = new Map(rows.map((row) => [row.uid, row.id]))
  return found.map((match) => ({ ...match, session: ids.get(match.session) ?? match.session }))
}
