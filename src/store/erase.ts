// Deleting rows leaves their bytes in places: index pages that only got a tombstone, free pages of the file, the write-ahead
// log. This removes them from all; doing it twice changes nothing. When SQLite rearranges a page, old copies of cells may stay
// in its unallocated middle: only writing the whole file anew takes those away, which is done for what is forgotten.
import { statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fromSqlite, RecollectError } from '../errors.ts'
import { type Database, transaction } from './database.ts'
import { deadPages, type WordTable } from './word-structure.ts'

/** How much is changed per commit, and how long the log may get before it goes into the file. Small steps need little room. */
export interface Steps {
  mergePages: number
  vacuumPages: number
  checkpointPages: number
  events: number
  sessions: number
  /** There is room for a copy of all that is there. */
  isAmple: boolean
}

const LARGE: Steps = {
  mergePages: 1 << 16,
  vacuumPages: 1 << 16,
  checkpointPages: 1 << 16,
  events: Number.POSITIVE_INFINITY,
  sessions: Number.POSITIVE_INFINITY,
  isAmple: true,
}
const SMALL: Steps = {
  mergePages: 128,
  vacuumPages: 1024,
  checkpointPages: 128,
  events: 128,
  sessions: 2,
  isAmple: false,
}
const AMPLE_BYTES = 256 << 20

export function stepsFor(database: Database): Steps {
  const path = database.location() as string
  const { bavail, bsize } = statfsSync(dirname(path))
  return bavail * bsize < AMPLE_BYTES + statSync(path).size ? SMALL : LARGE
}

/** `file`: nothing of it may be left anywhere in the file. False when that is still to be done: a reader was in the way, or there is no room. */
export function eraseDeleted(database: Database, table: WordTable, from: 'rows' | 'file' = 'rows'): boolean {
  if (stepsFor(database).isAmple) eraseAtOnce(database, table)
  else {
    dropDeletedWords(database, table)
    giveBackPages(database)
  }
  if (from === 'file' && !writeAnew(database)) return false
  return cutLog(database)
}

/** False where there is no room for it. */
function writeAnew(database: Database): boolean {
  // A copy of everything does not belong in memory.
  database.exec('PRAGMA temp_store = FILE')
  try {
    database.exec('VACUUM')
    return true
  } catch (error) {
    const known = fromSqlite(error, 'cannot write the database anew', database.location() ?? '')
    if (known instanceof RecollectError && known.code === 'DISK_FULL') return false
    throw known
  } finally {
    database.exec('PRAGMA temp_store = MEMORY')
  }
}

/** In one commit: pages that become free then never pass through the log. */
function eraseAtOnce(database: Database, table: WordTable): void {
  try {
    holdingMore(database, () =>
      transaction(database, () => {
        // Takes effect with the commit.
        database.exec('PRAGMA auto_vacuum = FULL')
        dropDeletedWords(database, table)
      }),
    )
  } finally {
    database.exec('PRAGMA auto_vacuum = INCREMENTAL')
  }
}

/** Pages that do not fit into memory are written and read again and again: what goes lies in no order. */
export function holdingMore(database: Database, work: () => void): void {
  const { cache_size } = database.prepare('PRAGMA cache_size').get() as { cache_size: number }
  database.exec('PRAGMA cache_size = -65536')
  try {
    work()
  } finally {
    database.exec(`PRAGMA cache_size = ${cache_size}`)
  }
}

/** What the cache's database will occupy once what is deleted is erased, about. */
export function bytesOnceErased(cache: Database): number {
  const { pages, free, size } = cache
    .prepare(
      `SELECT page_count AS pages, freelist_count AS free, page_size AS size
       FROM pragma_page_count, pragma_freelist_count, pragma_page_size`,
    )
    .get() as { pages: number; free: number; size: number }
  return (pages - free - deadPages(cache, 'words')) * size
}

/** Gives back what lies idle, without the care that erasing takes. Not on a full disk: eviction needs the room. */
export function compact(cache: Database): void {
  if (!stepsFor(cache).isAmple) return
  setMerging(cache, 'words', { ...BY_ITSELF, usermerge: 2 })
  merge(cache, 'words', LARGE.mergePages)
  setMerging(cache, 'words', BY_ITSELF)
  giveBackPages(cache)
  cutLog(cache)
}

/** A deletion from a contentless index is only a mark beside the words: the index has to be written anew. */
export function dropDeletedWords(database: Database, table: WordTable): void {
  const { checkpointPages, mergePages } = stepsFor(database)
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  // The pages already merged are freed as it goes on: outside a transaction it needs little room.
  merge(database, table, -mergePages)
  setMerging(database, table, BY_ITSELF)
}

/** When FTS5 begins to merge by itself: from so many segments of a level on, or so many per cent deleted (https://sqlite.org/fts5.html#the_automerge_configuration_option). */
interface MergeSettings {
  automerge?: number
  deletemerge?: number
  usermerge?: number
}

export const BY_ITSELF = { automerge: 8, deletemerge: 10, usermerge: 16 } as const satisfies MergeSettings

export function setMerging(database: Database, table: WordTable, settings: MergeSettings): void {
  const set = database.prepare(`INSERT INTO ${table} (${table}, rank) VALUES (?, ?)`)
  transaction(database, () => {
    for (const [name, value] of Object.entries(settings)) set.run(name, value)
  })
}

/** Step by step, each a commit unless a transaction is open. A negative number of pages merges all segments into one. */
function merge(database: Database, table: WordTable, pages: number): void {
  const step = database.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`)
  const changes = database.prepare('SELECT total_changes() AS count')
  const count = (): number => (changes.get() as { count: number }).count
  // A merge with nothing left to do changes less than two rows (https://sqlite.org/fts5.html#the_merge_command).
  for (let before = count(), isDone = false; !isDone; ) {
    step.run(pages)
    const after = count()
    isDone = after - before < 2
    before = after
  }
}

/** A share of the file below which free pages stay: what comes next fills them. */
const IDLE_SHARE = 1 / 64

/** After much was written: merges within the index, and migrations, leave pages free. */
export function giveBackIdlePages(database: Database): void {
  const { free, all } = database
    .prepare(
      'SELECT freelist_count AS free, page_count AS "all" FROM pragma_freelist_count, pragma_page_count',
    )
    .get() as { free: number; all: number }
  if (free > all * IDLE_SHARE && stepsFor(database).isAmple) giveBackPages(database)
}

function giveBackPages(database: Database): void {
  const free = database.prepare('PRAGMA freelist_count')
  const count = (): number => (free.get() as { freelist_count: number }).freelist_count
  const { auto_vacuum } = database.prepare('PRAGMA auto_vacuum').get() as { auto_vacuum: number }
  // A file from before this setting keeps its free pages: they are reused, not given back.
  if (count() === 0 || auto_vacuum === 0) return
  const { isAmple, vacuumPages } = stepsFor(database)
  // With FULL a commit gives back all there are, in half the time: step by step, each page at the end of the file that is
  // free is looked up in the list of those that are. Opening the file sets it back as well, should we be killed.
  if (isAmple) database.exec('PRAGMA auto_vacuum = FULL; PRAGMA auto_vacuum = INCREMENTAL')
  for (let before = Number.POSITIVE_INFINITY, left = count(); left > 0 && left < before; left = count()) {
    database.exec(`PRAGMA incremental_vacuum(${vacuumPages})`)
    before = left
  }
}

/** How long a reader may hold up the cutting of the log: another run does it as well. */
const READER_MS = 1000

/** Moves the write-ahead log into the file and empties it. False when a reader was in the way. */
function cutLog(database: Database): boolean {
  const { timeout } = database.prepare('PRAGMA busy_timeout').get() as { timeout: number }
  database.exec(`PRAGMA busy_timeout = ${Math.min(timeout, READER_MS)}`)
  try {
    return (database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number }).busy === 0
  } finally {
    database.exec(`PRAGMA busy_timeout = ${timeout}`)
  }
}
