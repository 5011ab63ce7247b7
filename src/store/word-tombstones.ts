// Deletes many rows of a full-text index at once. FTS5 marks a deleted row with its id in a table of hashes that belongs to
// the segment its words are in, and for every single row writes a page of that table; here a segment's table is built
// once. What stands in it, and in the list of rows, is what FTS5's own DELETE would leave there.
import type { Database } from './database.ts'
import { readStructure, type Segment, undefended, type WordTable, writeStructure } from './word-structure.ts'

/** Where FTS5 keeps the tables of a segment among its pages. */
const tombstoneRow = (segment: Segment, page: number): bigint =>
  ((BigInt(segment.id) + (1n << 16n)) << 37n) + BigInt(page)

/** A table's page: size of a key, two bytes not of interest here, number of keys; then slots, zero where empty. */
const HEADER_BYTES = 8
const KEY_BYTES = 4
const MAX_KEY = 2 ** 32 - 1
const SLOTS = 1008
/** FTS5 begins a larger table when half of the slots of a page are taken. */
const KEYS_PER_PAGE = SLOTS / 4

/** By the write they came with: ids of rows. */
type Going = Map<number, number[]>

/** Ids that follow each other, from the first to the last. */
export interface Run {
  first: number
  last: number
}

/** No id may be in two runs. Within the caller's transaction. */
export function deleteWords(database: Database, table: WordTable, runs: readonly Run[]): void {
  const structure = readStructure(database, table)
  const going = structure && goingOf(database, table, runs)
  if (!structure || !going) {
    const words = database.prepare(`DELETE FROM ${table} WHERE rowid BETWEEN ? AND ?`)
    for (const { first, last } of runs) words.run(first, last)
    return
  }
  const counted = new Set<number>()
  undefended(database, () => {
    // The oldest first: a merge that was begun has its rows in two segments, and they count in the older one.
    for (const segment of structure.levels.toReversed().flatMap((level) => level.segments.toReversed())) {
      const inside = [...going].filter(
        ([origin]) => origin >= segment.firstOrigin && origin <= segment.lastOrigin,
      )
      if (inside.length === 0) continue
      for (const [origin, keys] of inside) if (!counted.has(origin)) segment.tombstones += keys.length
      for (const [origin] of inside) counted.add(origin)
      const keys = inside.flatMap(([, keys]) => keys)
      addTombstones(database, table, segment, keys)
    }
    const sizes = database.prepare(`DELETE FROM ${table}_docsize WHERE id BETWEEN ? AND ?`)
    for (const { first, last } of runs) sizes.run(first, last)
  })
  writeStructure(database, table, structure)
}

/** Undefined when an id is too large for a table of this kind. */
function goingOf(database: Database, table: WordTable, runs: readonly Run[]): Going | undefined {
  if (runs.some((run) => run.last > MAX_KEY)) return undefined
  // As texts: a row for each of so many would cost several times as much.
  const select = database.prepare(
    `SELECT json_group_array(id) AS ids, json_group_array(origin) AS origins FROM ${table}_docsize
     WHERE id BETWEEN ? AND ?`,
  )
  const going: Going = new Map()
  for (const { first, last } of runs) {
    const row = select.get(first, last) as { ids: string; origins: string }
    const origins = JSON.parse(row.origins) as number[]
    for (const [at, id] of (JSON.parse(row.ids) as number[]).entries()) {
      const origin = origins[at] as number
      const others = going.get(origin)
      if (others) others.push(id)
      else going.set(origin, [id])
    }
  }
  return going
}

function addTombstones(
  database: Database,
  table: WordTable,
  segment: Segment,
  keys: readonly number[],
): void {
  const all = [...tombstonesOf(database, table, segment), ...keys]
  const put = database.prepare(`INSERT OR REPLACE INTO ${table}_data (id, block) VALUES (?, ?)`)
  // Odd, as FTS5 does it: ids that come in steps must not all fall on one page. Never fewer than there are.
  const least = Math.max(segment.tombstonePages, Math.ceil(all.length / KEYS_PER_PAGE))
  let pages: Buffer[] | undefined
  for (let count = least | 1; !pages; count = 2 * count + 1) pages = pagesOf(all, count)
  for (const [page, bytes] of pages.entries()) put.run(tombstoneRow(segment, page), bytes)
  segment.tombstonePages = pages.length
}

function tombstonesOf(database: Database, table: WordTable, segment: Segment): number[] {
  const get = database.prepare(`SELECT block FROM ${table}_data WHERE id = ?`)
  const found: number[] = []
  for (let page = 0; page < segment.tombstonePages; page++) {
    const bytes = Buffer.from((get.get(tombstoneRow(segment, page)) as { block: Uint8Array }).block)
    for (let at = HEADER_BYTES; at < bytes.length; at += KEY_BYTES) {
      const key = bytes.readUInt32BE(at)
      if (key !== 0) found.push(key)
    }
  }
  return found
}

/** Undefined when a page gets too full. */
function pagesOf(keys: readonly number[], count: number): Buffer[] | undefined {
  const pages = Array.from({ length: count }, () => Buffer.alloc(HEADER_BYTES + SLOTS * KEY_BYTES))
  const filled = new Uint32Array(count)
  for (const key of keys) {
    const number = key % count
    const page = pages[number] as Buffer
    if ((filled[number] as number) >= SLOTS / 2) return undefined
    filled[number] = (filled[number] as number) + 1
    let slot = Math.floor(key / count) % SLOTS
    while (page.readUInt32BE(HEADER_BYTES + slot * KEY_BYTES) !== 0) slot = (slot + 1) % SLOTS
    page.writeUInt32BE(key, HEADER_BYTES + slot * KEY_BYTES)
  }
  for (const [number, page] of pages.entries()) {
    page[0] = KEY_BYTES
    page.writeUInt32BE(filled[number] as number, KEY_BYTES)
  }
  return pages
}
