// Finds text inside one session: words through the index, and what stands literally in the summaries.
import type { Reader } from '../store/reader/index.ts'
import { parseQuery } from '../store/words.ts'

export interface Found {
  session_uid: string
  query: string
  seqs: number[]
}

/** In order of appearance. The last word may be unfinished. */
export function findInSession(handle: Reader, uid: string, query: string): Found {
  const text = query.trim()
  if (text === '') return { session_uid: uid, query, seqs: [] }
  const match = parseQuery(/[\w\p{L}]$/u.test(text) ? `${text}*` : text)?.match
  return { session_uid: uid, query, seqs: handle.events.holding(uid, text, match) }
}
