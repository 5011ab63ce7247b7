// How much of a full-text index belongs to rows that were deleted, from the record in which FTS5 says of what segments it is
// made: as the comments at the top of its fts5_index.c describe it, for tables with `contentless_delete`. Only read: what
// FTS5 keeps for itself, FTS5 alone writes.
import { type Database, row } from './database.ts'

/** The full-text index of either database. */
export type WordTable = 'words' | 'digest_words'

interface Segment {
  id: number
  firstPage: number
  lastPage: number
  /** Every row has the number of the write it came with: those of this segment, first and last. */
  firstOrigin: number
  lastOrigin: number
  /** Pages that name deleted rows whose words still stand in the segment. */
  tombstonePages: number
  tombstones: number
  entries: number
}

const FIELDS = [
  'id',
  'firstPage',
  'lastPage',
  'firstOrigin',
  'lastOrigin',
  'tombstonePages',
  'tombstones',
  'entries',
] as const satisfies readonly (keyof Segment)[]

const STRUCTURE_ROW = 10
const FORMAT = Buffer.from([0xff, 0, 0, 1])
const COOKIE_BYTES = 4

/** Pages that will be free once what is deleted is written away, about: of a segment as large a part as of its rows. */
export function deadPages(database: Database, table: WordTable): number {
  const dead = segmentsOf(database, table)
    .filter((segment) => segment.tombstonePages > 0 && segment.entries > 0)
    .map(({ firstPage, lastPage, tombstonePages, tombstones, entries }) => {
      const pages = lastPage - firstPage + 1
      return tombstonePages + pages * Math.min(1, tombstones / entries)
    })
  return Math.round(dead.reduce((sum, pages) => sum + pages, 0))
}

/** None for a record of another shape. */
function segmentsOf(database: Database, table: WordTable): Segment[] {
  const found = row<{ block: Uint8Array }>(
    database,
    `SELECT block FROM ${table}_data WHERE id = ?`,
    STRUCTURE_ROW,
  )
  const bytes = Buffer.from(found?.block ?? [])
  if (!bytes.subarray(COOKIE_BYTES, COOKIE_BYTES + FORMAT.length).equals(FORMAT)) return []
  const numbers = readNumbers(bytes, COOKIE_BYTES + FORMAT.length)
  const next = (): number => numbers.next().value ?? Number.NaN
  const [levelCount, segmentCount] = [next(), next(), next()]
  const segments: Segment[] = []
  for (let level = 0; level < (levelCount as number); level++) {
    const [, count] = [next(), next()]
    for (let at = 0; at < (count as number); at++)
      segments.push(Object.fromEntries(FIELDS.map((field) => [field, next()])) as unknown as Segment)
  }
  const isWhole = segments.length === segmentCount && numbers.next().done === true
  const isSound = segments.every((segment) => FIELDS.every((field) => Number.isSafeInteger(segment[field])))
  return isWhole && isSound ? segments : []
}

/** Seven bits a byte, the highest first (https://sqlite.org/fileformat2.html#varint). What is longer than a safe integer ends the list. */
function* readNumbers(bytes: Buffer, from: number): Generator<number, undefined> {
  let number = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] as number
    number = number * 128 + (byte & 127)
    if (number > Number.MAX_SAFE_INTEGER) return undefined
    if (byte >= 128) continue
    yield number
    number = 0
  }
  return undefined
}
