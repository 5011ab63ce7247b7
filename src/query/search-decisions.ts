// Search among decisions. They are few, and the only thing said of a session that is not in its transcript: an index made
// on the spot finds them by the same words as everything else, and nothing of them stays behind when they are forgotten.
import type { Decision, EventKind } from '../model.ts'
import { emptyDatabase } from '../store/database.ts'
import { allDecisions } from '../store/decisions.ts'
import type { ReadHandle } from '../store/store.ts'
import { indexText } from '../store/words.ts'
import { type NarrowedFilter, sessionConditions } from './filters.ts'

const INDEX = 'CREATE VIRTUAL TABLE words USING fts5(prompt, tokenize="unicode61 remove_diacritics 2")'

export interface DecisionMatch {
  decision: Decision
  /** As of bm25. */
  rank: number
}

/** `sinceAt` and `untilAt` are about the decision; it was made with no tool. */
export function findDecisions(
  { memory }: Pick<ReadHandle, 'memory'>,
  match: string,
  filter: NarrowedFilter,
  kinds: readonly EventKind[] | undefined,
): DecisionMatch[] {
  if ((kinds && !kinds.includes('decision')) || filter.tool !== undefined) return []
  const { sinceAt, untilAt, ...rest } = filter
  const { where, values } = sessionConditions({ withSubagents: true, ...rest })
  const decisions = allDecisions(memory, where, values).filter(
    ({ ts }) => Date.parse(ts) >= (sinceAt ?? 0) && Date.parse(ts) <= (untilAt ?? Number.MAX_SAFE_INTEGER),
  )
  if (decisions.length === 0) return []
  const index = emptyDatabase([INDEX])
  try {
    const insert = index.prepare('INSERT INTO words (rowid, prompt) VALUES (?, ?)')
    for (const [at, { text, tags }] of decisions.entries())
      insert.run(at + 1, indexText([text, ...tags].join('\n')))
    const found = index
      .prepare('SELECT rowid AS at, bm25(words) AS rank FROM words WHERE words MATCH ?')
      .all(match)
    return (found as unknown as { at: number; rank: number }[]).map(({ at, rank }) => ({
      decision: decisions[at - 1] as Decision,
      rank,
    }))
  } finally {
    index.close()
  }
}
