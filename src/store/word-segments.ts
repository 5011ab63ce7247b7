// Which part of a full-text index is written anew. FTS5 keeps an index in segments, each with the words of rows that came
// in at about the same time, and merges all segments of a level at once. What is deleted leaves the file only with a merge.
// Here the segments that have to be written anew are put on levels of their own, so that all others stay as they are.
import { type Database, transaction } from './database.ts'
import { type Level, readStructure, type Segment, type WordTable, writeStructure } from './word-structure.ts'

/** FTS5 knows 64, and a merge may need one more. */
const MAX_LEVELS = 60
/** Below this number of pages segments are worth joining: each has a list of words of its own. */
const SMALL_PAGES = 512

/** What is to be written anew: segments with deleted rows in them, or small ones that lie side by side. */
type Wanted = 'deleted' | 'small'

/** `ready`: a merge of levels with deletions does it. `unknown`: only a merge of everything does. */
export type Layout = 'done' | 'merging' | 'ready' | 'unknown'

/** How many rows there are of each origin. */
type Rows = readonly { origin: number; count: number }[]

/** Looked for when it is asked for, and once: a merge changes nothing about it. */
export function rowsByOrigin(database: Database, table: WordTable): () => Rows {
  let rows: Rows | undefined
  return () => {
    rows ??= database
      .prepare(`SELECT origin, count(*) AS count FROM ${table}_docsize GROUP BY origin`)
      .all() as unknown as Rows
    return rows
  }
}

/** Pages that will be free once what is deleted is written away, about: of a segment as large a part as of its rows. */
export function deadPages(database: Database, table: WordTable): number {
  const structure = transaction(database, () => readStructure(database, table))
  const segments = structure?.levels.flatMap((level) => level.segments) ?? []
  return Math.round(
    segments
      .filter((segment) => segment.tombstonePages > 0 && segment.entries > 0)
      .reduce(
        (sum, segment) =>
          sum + segment.tombstonePages + pagesOf(segment) * Math.min(1, segment.tombstones / segment.entries),
        0,
      ),
  )
}

/** Puts what has to be written anew next on a level of its own, the oldest first. Says what is to be done about it. */
export function layOut(database: Database, table: WordTable, wanted: Wanted, rows: () => Rows): Layout {
  return transaction(database, () => {
    const structure = readStructure(database, table)
    if (!structure) return 'unknown'
    if (structure.levels.some((level) => level.merging > 0)) return 'merging'
    const segments = structure.levels.toReversed().flatMap((level) => level.segments)
    const groups = groupsOf(segments, wanted)
    const next = groups.findIndex((group) => group.isWanted)
    const levels = levelsOf(groups, next)
    if (next === -1 && (wanted === 'small' || levels.length === structure.levels.length)) return 'done'
    if (levels.length > MAX_LEVELS) return 'unknown'
    for (const [at, group] of groups.entries()) countEntries(group.segments, rows, at === next)
    writeStructure(database, table, { ...structure, levels })
    return next === -1 ? 'done' : 'ready'
  })
}

/** Segments that stay or are written anew together. */
interface Group {
  segments: Segment[]
  isWanted: boolean
}

const pagesOf = ({ firstPage, lastPage }: Segment): number => lastPage - firstPage + 1
const isSmall = (segment: Segment): boolean => pagesOf(segment) < SMALL_PAGES

/** From the oldest to the newest. Small neighbours that are wanted become one. */
function groupsOf(segments: readonly Segment[], wanted: Wanted): Group[] {
  const groups: Group[] = []
  for (const segment of segments) {
    const isWanted = wanted === 'small' ? isSmall(segment) : segment.tombstonePages > 0
    const last = groups.at(-1)
    const isOneMore = isWanted && last?.isWanted && isSmall(segment) && last.segments.every(isSmall)
    if (isOneMore) last.segments.push(segment)
    else groups.push({ segments: [segment], isWanted })
  }
  // One alone would only be copied.
  if (wanted === 'small') for (const group of groups) group.isWanted &&= group.segments.length > 1
  return groups
}

/** Those that stay get a level by their size, about as FTS5 does it: it merges what is of a size when there is much of it. */
function levelsOf(groups: readonly Group[], alone: number): Level[] {
  const levels: Level[] = []
  for (let at = groups.length - 1; at >= 0; at--) {
    const { segments } = groups[at] as Group
    const isOpen = at !== alone && at !== alone - 1 && levels.length > 0
    const least = Math.max(sizeOf(segments), levels.length - (isOpen ? 1 : 0))
    while (levels.length <= least) levels.push({ merging: 0, segments: [] })
    levels[least]?.segments.unshift(...segments)
  }
  return levels
}

const sizeOf = (segments: readonly Segment[]): number =>
  Math.floor(Math.log2(segments.reduce((sum, segment) => sum + pagesOf(segment), 0)) / 3)

/** Of so many rows FTS5 has to think one deleted to merge a level because of its deletions: it counts in whole per cents. */
const PER_CENT = 98

/** What FTS5 decides by: only what is next seems to hold deleted rows. What is made of it then holds the right number again. */
function countEntries(segments: readonly Segment[], rows: () => Rows, isNext: boolean): void {
  for (const segment of segments) {
    const here = liveRows(segment, rows)
    segment.tombstones = isNext ? 1 + Math.ceil(here / PER_CENT) : 0
    segment.entries = here + segment.tombstones
  }
}

/** FTS5 counts them; where that cannot be right, they are counted. */
function liveRows({ entries, tombstones, firstOrigin, lastOrigin }: Segment, rows: () => Rows): number {
  if (entries > 0 && tombstones <= entries) return entries - tombstones
  return rows()
    .filter(({ origin }) => origin >= firstOrigin && origin <= lastOrigin)
    .reduce((sum, { count }) => sum + count, 0)
}
