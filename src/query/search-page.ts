// A search as a page shows it: all sessions that hold it, counted by facet, in any order, a page at a time. Only what is on
// the page is read in full. Where no event of the index holds all words, the answer is what `answer` makes of it.
import type { Reader } from '../store/reader/index.ts'
import { parseQuery } from '../store/words.ts'
import { type AnswerOptions, answer, type SearchDocument, searchDocument } from './answer.ts'
import type { Briefs, Line } from './briefs.ts'
import { type BriefQuestion, byStart, type LinePage, pageOf } from './narrow.ts'
import { findGroups, narrowedOptions } from './search.ts'
import { perTask, type TaskGroup } from './tasks.ts'

export const SEARCH_SORTS = ['best', 'recent', 'cost', 'errors'] as const
export type SearchSort = (typeof SEARCH_SORTS)[number]

export interface SearchPage extends SearchDocument, Pick<LinePage, 'total' | 'offset' | 'facets'> {
  /** Events that match, in all of these sessions. */
  match_total: number
}

export interface SearchPageQuestion extends Pick<BriefQuestion, 'facets' | 'offset' | 'limit'> {
  sort: SearchSort
}

export async function searchPage(
  handle: Reader,
  briefs: Briefs,
  query: string,
  { options, question }: { options: AnswerOptions; question: SearchPageQuestion },
): Promise<SearchPage> {
  const found = options.how === 'words' ? inIndex(handle, query, options) : undefined
  if (!found) return await elsewhere(handle, briefs, query, options)
  const groups = new Map(found.groups.map((group) => [group.uid, group]))
  const { sort, facets, offset = 0, limit = 40 } = question
  const all = pageOf(ordered([...groups.keys()], briefs, sort), {
    withSubagents: true,
    limit: groups.size,
    ...(facets && { facets }),
    ...(sort === 'best' ? {} : { sort }),
  })
  const groupOf = (line: Line): TaskGroup => groups.get(line.session_uid) as TaskGroup
  const shown = all.lines.slice(offset, offset + limit).map(groupOf)
  const uids = shown.flatMap((group) => [group.uid, ...group.alsoIn])
  const asked = { ...options, scan: false, uids, limit: uids.length }
  const document = searchDocument(await answer(handle, found.query, asked))
  return {
    ...document,
    sessions: inOrder(document.sessions, shown),
    session_count: all.total,
    is_count_exact: found.isAll,
    total: all.total,
    offset,
    facets: all.facets,
    match_total: all.lines.reduce((sum, line) => sum + groupOf(line).matches.length, 0),
  }
}

interface Found {
  /** As it was looked for. */
  query: string
  groups: TaskGroup[]
  isAll: boolean
}

/** As typed; else with the last word as a beginning, since it may be unfinished. Sub-agents' sessions count with the one that started them. */
function inIndex(handle: Reader, typed: string, given: AnswerOptions): Found | undefined {
  const { how: _h, scan: _s, signal: _i, progress: _p, ...options } = given
  const narrowed = narrowedOptions(handle, options)
  for (const query of /[\p{L}\p{N}_]$/u.test(typed) ? [typed, `${typed}*`] : [typed]) {
    const parsed = parseQuery(query)
    if (parsed === undefined) return undefined
    const { groups, isAll } = findGroups(handle, parsed.match, narrowed, Number.MAX_SAFE_INTEGER)
    if (groups.length > 0) return { query, groups: perTask(handle, groups, options), isAll }
  }
  return undefined
}

/** Best first as they come; else as lists are. */
function ordered(uids: readonly string[], briefs: Briefs, sort: SearchSort): Line[] {
  const lines = uids.flatMap((uid) => briefs.find(uid) ?? [])
  return sort === 'best' ? lines : lines.sort(byStart)
}

function inOrder<S extends { task_uid: string }>(sessions: readonly S[], groups: readonly TaskGroup[]): S[] {
  const place = new Map(groups.map((group, at) => [group.task, at]))
  return sessions.toSorted((a, b) => (place.get(a.task_uid) ?? 0) - (place.get(b.task_uid) ?? 0))
}

async function elsewhere(
  handle: Reader,
  briefs: Briefs,
  query: string,
  options: AnswerOptions,
): Promise<SearchPage> {
  const found = searchDocument(await answer(handle, query, options))
  const lines = found.sessions.flatMap((one) => briefs.find(one.session_uid) ?? [])
  const { facets } = pageOf(lines, { withSubagents: true, limit: 0 })
  return {
    ...found,
    total: found.session_count,
    offset: 0,
    facets,
    match_total: found.sessions.reduce((sum, one) => sum + one.match_count, 0),
  }
}
