// The record in which FTS5 says of what segments a full-text index is made: as the comments at the top of its fts5_index.c
// describe it, for tables with `contentless_delete`. The only file, with word-tombstones.ts, that knows FTS5's own tables.
import type { Database } from './database.ts'

/** The full-text index of either database. */
export type WordTable = 'words' | 'digest_words'

export interface Segment {
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

export interface Level {
  /** So many of its segments are being merged into the last one of the next level. */
  merging: number
  segments: Segment[]
}

export interface Structure {
  cookie: Buffer
  writeCount: number
  /** The newest first; within a level the oldest first. */
  levels: Level[]
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
/** Undefined for a record of another shape. */
export function readStructure(database: Database, table: WordTable): Structure | undefined {
  // FTS5 remembers the record while only we write to the file; a merge of no pages makes it forget.
  database.exec(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', 0)`)
  const row = database.prepare(`SELECT block FROM ${table}_data WHERE id = ?`).get(STRUCTURE_ROW)
  const bytes = Buffer.from((row as { block: Uint8Array }).block)
  if (!bytes.subarray(COOKIE_BYTES, COOKIE_BYTES + FORMAT.length).equals(FORMAT)) return undefined
  const numbers = readNumbers(bytes, COOKIE_BYTES + FORMAT.length)
  const next = (): number => numbers.next().value ?? Number.NaN
  const [levelCount, segmentCount, writeCount] = [next(), next(), next()]
  const levels: Level[] = []
  for (let level = 0; level < levelCount; level++) {
    const [merging, count] = [next(), next()]
    const segments: Segment[] = []
    for (let at = 0; at < count; at++)
      segments.push(Object.fromEntries(FIELDS.map((field) => [field, next()])) as unknown as Segment)
    levels.push({ merging, segments })
  }
  const found = levels.flatMap((level) => level.segments)
  const isWhole = found.length === segmentCount && numbers.next().done === true
  const isSound = found.every((segment) => FIELDS.every((field) => Number.isSafeInteger(segment[field])))
  return isWhole && isSound ? { cookie: bytes.subarray(0, COOKIE_BYTES), writeCount, levels } : undefined
}

export function writeStructure(
  database: Database,
  table: WordTable,
  { cookie, writeCount, levels }: Structure,
): void {
  const numbers = [levels.length, levels.reduce((sum, level) => sum + level.segments.length, 0), writeCount]
  for (const { merging, segments } of levels) {
    numbers.push(merging, segments.length)
    for (const segment of segments) numbers.push(...FIELDS.map((field) => segment[field]))
  }
  const bytes = Buffer.concat([cookie, FORMAT, Buffer.from(numbers.flatMap(numberBytes))])
  undefended(database, () =>
    database.prepare(`UPDATE ${table}_data SET block = ? WHERE id = ?`).run(bytes, STRUCTURE_ROW),
  )
}

/** SQLite keeps everybody from FTS5's tables who does not ask for them. */
export function undefended(database: Database, work: () => void): void {
  database.enableDefensive(false)
  try {
    work()
  } finally {
    database.enableDefensive(true)
  }
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

function numberBytes(number: number): number[] {
  const bytes = [number % 128]
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128))
    bytes.unshift(128 + (rest % 128))
  return bytes
}
