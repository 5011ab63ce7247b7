// What to ask where nothing was found: only what would find something.

import { isFiltering } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import { parseQuery, queryTerm } from '../store/words.ts'
import { allWords, type Question } from './questions.ts'
import { findGroups, type Narrowed, partsOf } from './search.ts'
import type { Spelling } from './spelling.ts'

export interface NextQuery {
  query: string
  /** A word in another spelling, fewer words, a beginning, without the filters, or in every body. */
  why: 'spelling' | 'fewer' | 'beginning' | 'unfiltered' | 'bodies'
}

/** The first time it stands there as a word. */
export function replaced(query: string, { typed, meant }: { typed: string; meant: string }): string {
  const at = query.indexOf(typed)
  return at === -1 ? query : query.slice(0, at) + meant + query.slice(at + typed.length)
}

const nearest = (query: string, { typed, near }: Spelling): string =>
  replaced(query, { typed, meant: near[0] ?? typed })

interface Asked {
  options: Narrowed
  wereBodiesRead: boolean
  /** Whether the index would answer it. */
  finds: (query: string) => boolean
}

const MOST = 4
const LEAST_BEGINNING = 3

export function nextQueries(
  handle: Reader,
  query: string,
  question: Question,
  spellings: readonly Spelling[],
  { options, wereBodiesRead, finds }: Asked,
): NextQuery[] {
  const found: NextQuery[] = []
  const { events, sessions } = partsOf(options)
  if (isFiltering(sessions) || Object.keys(events).length > 0) {
    const { groups } = findGroups(handle, parseQuery(query)?.match ?? allWords(question), { limit: 1 }, 1)
    if (groups.length > 0) found.push({ query, why: 'unfiltered' })
  }
  for (const one of spellings) {
    // Alone, and with the other slips put right.
    const rest = spellings.filter((other) => other !== one).reduce(nearest, query)
    const others = [query, rest].flatMap((from) =>
      one.near.map((meant) => replaced(from, { typed: one.typed, meant })),
    )
    for (const other of new Set(others))
      if (finds(other) && !found.some((known) => known.query === other))
        found.push({ query: other, why: 'spelling' })
  }
  const known = question.words
    .map((word) => ({ word, count: handle.search.frequency(word.match) }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => a.count - b.count)
  if (known[0] && question.words.length > 1) found.push({ query: known[0].word.typed, why: 'fewer' })
  if (found.length === 0) found.push(...beginnings(handle, question))
  if (!wereBodiesRead && question.words.length > 0) found.push({ query, why: 'bodies' })
  return found.slice(0, MOST)
}

/** The longest beginning of a word that is one of a word of the index. */
function beginnings(handle: Reader, { words }: Question): NextQuery[] {
  for (const { typed } of words) {
    if (!/^[\p{L}\p{N}_]+$/u.test(typed)) continue
    for (let length = typed.length - 1; length >= LEAST_BEGINNING; length--) {
      const match = queryTerm(typed.slice(0, length), true)
      if (match !== undefined && handle.search.frequency(match) > 0)
        return [{ query: `${typed.slice(0, length)}*`, why: 'beginning' }]
    }
  }
  return []
}
