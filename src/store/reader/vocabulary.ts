// What the full-text index knows of words themselves: how often they occur, and which there are.
import { prepared, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'

/** Beyond this a word is common, and how common does not matter. */
const MOST_COUNTED = 20_000

/** How many events hold it, up to a bound; digests are asked where no event does. `match` is for MATCH. */
export function frequency({ memory, cache }: Databases, match: string): number {
  const counted = row<{ n: number }>(
    cache,
    `SELECT count(*) AS n FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ${MOST_COUNTED})`,
    match,
  )
  if (counted && counted.n > 0) return counted.n
  const told = `{prompt answer work files} : (${match})`
  return row(memory, 'SELECT 1 FROM digest_words WHERE digest_words MATCH ? LIMIT 1', told) === undefined
    ? 0
    : 1
}

/** About: numbers are given out in order, and few are taken back. */
export const eventCount = ({ cache }: Databases): number =>
  row<{ n: number | null }>(cache, 'SELECT max(id) AS n FROM events')?.n ?? 0

export interface KnownWord {
  word: string
  /** Events that hold it. */
  count: number
}

const LIST = 'CREATE VIRTUAL TABLE IF NOT EXISTS temp.known_words USING fts5vocab(main, words, row)'

/** Words of the index that begin so, of some lengths. */
export function vocabulary(
  { cache }: Databases,
  start: string,
  shortest: number,
  longest: number,
): KnownWord[] {
  prepared(cache, LIST).run()
  return rows<KnownWord>(
    cache,
    `SELECT term AS word, doc AS count FROM temp.known_words
     WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?`,
    start,
    `${start}\u{10ffff}`,
    shortest,
    longest,
  )
}
