// Finds text inside one session: words through the index, and what stands literally in the summaries.
import { orderOf } from '../store/order.ts'
import type { ReadHandle } from '../store/store.ts'
import { parseQuery } from '../store/words.ts'

export interface Found {
  session_uid: string
  query: string
  seqs: number[]
}

const MAX_FOUND = 5000

/** In order of appearance. The last word may be unfinished. */
export function findInSession(handle: ReadHandle, uid: string, query: string): Found {
  const text = query.trim()
  if (text === '') return { session_uid: uid, query, seqs: [] }
  const match = parseQuery(/[\w\p{L}]$/u.test(text) ? `${text}*` : text)?.match
  const literal = handle.cache
    .prepare(
      `SELECT e.seq FROM cached c JOIN events e ON e.session = c.id
       WHERE c.session_uid = ?1 AND instr(lower(e.summary), lower(?2)) > 0 LIMIT ${MAX_FOUND}`,
    )
    .all(uid, text) as unknown as { seq: number }[]
  const indexed =
    match === undefined
      ? []
      : (handle.cache
          .prepare(
            `SELECT e.seq FROM words JOIN events e ON e.id = words.rowid JOIN cached c ON c.id = e.session
             WHERE words MATCH ?2 AND c.session_uid = ?1 LIMIT ${MAX_FOUND}`,
          )
          .all(uid, match) as unknown as { seq: number }[])
  const seqs = new Set([...literal, ...indexed].map((row) => row.seq))
  const { placeOf } = orderOf(handle.cache, uid)
  return { session_uid: uid, query, seqs: [...seqs].sort((a, b) => placeOf(a) - placeOf(b)) }
}
