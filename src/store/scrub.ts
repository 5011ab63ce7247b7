// SQLite overwrites what it deletes, but when it rearranges a page, old copies of cells stay in the page's unallocated
// middle: words of a session that is long gone (found by searching the file after eviction). VACUUM would write
// everything anew, with room for two more copies of the file; this overwrites the unallocated bytes in place instead.
// By the file format (https://sqlite.org/fileformat2.html#b_tree_pages) nothing ever reads them, so a kill or a torn
// write in the middle does no harm.
import { constants, fdatasyncSync, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { fromSystem } from '../errors.ts'
import type { Database } from './database.ts'

/** Closing any descriptor of a file drops the POSIX locks of the whole process on it, SQLite's too: so none is closed. */
const descriptors = new Map<string, number>()

const READ_PAGES = 128
/** Interior and leaf pages of indexes and tables, with the size of their header. */
const HEADER_BYTES: Record<number, number> = { 2: 12, 5: 12, 10: 8, 13: 8 }
/** The page at this offset holds SQLite's locks and no data. */
const PENDING_BYTE = 0x40000000
/** Below this number of pages the first byte of an overflow page, the top of a page number, is no page type. */
const MAX_PAGES = 1 << 25

/** The log must be empty. Writers are kept out meanwhile; readers may go on. */
export function scrubPages(database: Database): void {
  const path = database.location() as string
  const { page_size } = database.prepare('PRAGMA page_size').get() as { page_size: number }
  database.exec('BEGIN IMMEDIATE')
  try {
    scrubFile(path, page_size)
  } catch (error) {
    throw fromSystem(error, 'cannot overwrite free space', path)
  } finally {
    database.exec('ROLLBACK')
    // Our own copies of the pages still hold what was overwritten, and would be written back with the next change.
    database.exec('PRAGMA shrink_memory')
  }
}

function scrubFile(path: string, pageSize: number): void {
  const fd = descriptorOf(path)
  const { size } = fstatSync(fd)
  if (size / pageSize >= MAX_PAGES) return
  const pages = Buffer.alloc(READ_PAGES * pageSize)
  const zeros = Buffer.alloc(pageSize)
  // The first page is the schema's: nothing of a session, and a header of its own.
  for (let at = pageSize; at < size; at += pages.length) {
    const count = readSync(fd, pages, 0, Math.min(pages.length, size - at), at)
    for (let offset = 0; offset + pageSize <= count; offset += pageSize) {
      const number = (at + offset) / pageSize + 1
      if (isBookkeeping(number, pageSize)) continue
      const gap = gapOf(pages.subarray(offset, offset + pageSize))
      if (gap && !isZero(pages, offset + gap.from, offset + gap.to))
        writeSync(fd, zeros, 0, gap.to - gap.from, at + offset + gap.from)
    }
  }
  fdatasyncSync(fd)
}

function descriptorOf(path: string): number {
  const { ino, dev } = statSync(path)
  const name = `${dev}:${ino}`
  const known = descriptors.get(name)
  if (known !== undefined) return known
  const fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)
  descriptors.set(name, fd)
  return fd
}

/** Pointer maps (every so many pages from the second on) and the page of the locks look like nothing else. */
function isBookkeeping(number: number, pageSize: number): boolean {
  const locks = PENDING_BYTE / pageSize + 1
  const period = Math.floor(pageSize / 5) + 1
  const map = Math.floor((number - 2) / period) * period + 2
  return number === locks || number === (map === locks ? map + 1 : map)
}

/** The bytes between a page's cell pointers and its first cell; undefined for what is no such page. */
function gapOf(page: Buffer): { from: number; to: number } | undefined {
  const header = HEADER_BYTES[page[0] as number]
  if (header === undefined) return undefined
  const from = header + 2 * page.readUInt16BE(3)
  const to = page.readUInt16BE(5) || 65536
  return from < to && to <= page.length ? { from, to } : undefined
}

function isZero(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (bytes[at] !== 0) return false
  return true
}
