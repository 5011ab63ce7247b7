// Full-text search over events: words, "phrases", prefix*, -not.
import { EVENT_KINDS, type EventKind } from '../model.ts'
import type { ReadHandle } from '../store/store.ts'
import { buildQuery } from '../store/words.ts'

export interface SearchHit {
  session_uid: string
  seq: number
  ts: string | null
  kind: EventKind
  tool: string | null
  summary: string
  score: number
}

export interface SearchOptions {
  flavor?: string
  limit?: number
}

/** What was said weighs more than what tools printed. */
const WEIGHTS = '8.0, 4.0, 1.0'

/** Best hits first; none for a query without a word in it. */
export function search(handle: ReadHandle, query: string, options: SearchOptions = {}): SearchHit[] {
  const match = buildQuery(query)
  if (match === undefined) return []
  const flavor = options.flavor === undefined ? '' : 'AND substr(c.session_uid, 1, length(?2)) = ?2'
  const rows = handle.cache
    .prepare(
      `SELECT c.session_uid, e.seq, e.ts, e.kind, e.tool, e.summary, bm25(words, ${WEIGHTS}) AS rank
       FROM words JOIN events e ON e.id = words.rowid JOIN cached c ON c.id = e.session
       WHERE words MATCH ?1 ${flavor} ORDER BY rank, e.ts DESC LIMIT ${options.limit ?? 20}`,
    )
    .all(...(options.flavor === undefined ? [match] : [match, `${options.flavor}:`]))
  return (rows as unknown as Record<string, unknown>[]).map((row) => ({
    session_uid: row['session_uid'] as string,
    seq: row['seq'] as number,
    ts: row['ts'] === null ? null : new Date(row['ts'] as number).toISOString(),
    kind: EVENT_KINDS[row['kind'] as number] as EventKind,
    tool: row['tool'] as string | null,
    summary: row['summary'] as string,
    score: -(row['rank'] as number),
  }))
}
