// Search among what people wrote beside sessions: decisions, titles, tags and notes. They are few, and the only thing said
// of a session that is not in its transcript: an index made on the spot finds them by the same words as everything else,
// and nothing of them stays behind when they are forgotten.
import type { Decision, EventKind } from '../../model.ts'
import { emptyDatabase } from '../database.ts'
import type { Databases } from '../databases.ts'
import { allDecisions } from '../decisions.ts'
import { allWritten, type Written } from '../labels.ts'
import { indexText } from '../words.ts'
import { type NarrowedFilter, sessionConditions } from './filters.ts'

const INDEX = 'CREATE VIRTUAL TABLE words USING fts5(prompt, tokenize="unicode61 remove_diacritics 2")'

/** A decision, or one of the other things that are written beside a session. */
export interface WrittenMatch extends Omit<Written, 'label'> {
  label: Written['label'] | null
  decision: Decision | null
  /** As of bm25. */
  rank: number
}

type Item = Omit<WrittenMatch, 'rank'>

/** `sinceAt` and `untilAt` are about when it was written. No tool wrote it, and only a decision is an event. */
export function findWritten(
  { memory }: Databases,
  match: string,
  filter: NarrowedFilter,
  kinds: readonly EventKind[] | undefined,
): WrittenMatch[] {
  if (filter.tool !== undefined) return []
  const { sinceAt = 0, untilAt = Number.MAX_SAFE_INTEGER, ...rest } = filter
  const { where, values } = sessionConditions({ withSubagents: true, ...rest })
  const decisions = kinds && !kinds.includes('decision') ? [] : allDecisions(memory, where, values)
  const labels = kinds ? [] : allWritten(memory, where, values)
  const items: Item[] = [
    ...decisions.map((decision) => ({
      session_uid: decision.session_uid,
      at: Date.parse(decision.ts),
      text: [decision.text, ...decision.tags].join('\n'),
      label: null,
      decision,
    })),
    ...labels.map((one) => ({ ...one, decision: null })),
  ]
  return ranked(
    items.filter(({ at }) => at >= sinceAt && at <= untilAt),
    match,
  )
}

function ranked(items: readonly Item[], match: string): WrittenMatch[] {
  if (items.length === 0) return []
  const index = emptyDatabase([INDEX])
  try {
    const insert = index.prepare('INSERT INTO words (rowid, prompt) VALUES (?, ?)')
    for (const [at, { text }] of items.entries()) insert.run(at + 1, indexText(text))
    const found = index
      .prepare('SELECT rowid AS at, bm25(words) AS rank FROM words WHERE words MATCH ?')
      .all(match)
    return (found as unknown as { at: number; rank: number }[]).map(({ at, rank }) => ({
      ...(items[at - 1] as Item),
      rank,
    }))
  } finally {
    index.close()
  }
}
