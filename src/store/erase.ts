// Deleting rows leaves their bytes in four places: index pages that only got a tombstone, free pages of the file, the
// write-ahead log, and the unallocated middle of pages. This removes them from all; doing it twice changes nothing.
import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database } from './database.ts'
import { scrubPages } from './scrub.ts'

/** How much is changed per commit. Small steps need little room in the log, large ones take half the time. */
export interface Steps {
  mergePages: number
  checkpointPages: number
  events: number
  sessions: number
  isAmple: boolean
}

const LARGE: Steps = {
  mergePages: 4096,
  checkpointPages: 4000,
  events: 50_000,
  sessions: Number.POSITIVE_INFINITY,
  isAmple: true,
}
const SMALL: Steps = { mergePages: 128, checkpointPages: 128, events: 128, sessions: 2, isAmple: false }
const AMPLE_BYTES = 256 << 20

export function stepsFor(database: Database): Steps {
  const { bavail, bsize } = statfsSync(dirname(database.location() as string))
  return bavail * bsize < AMPLE_BYTES ? SMALL : LARGE
}

const VACUUM_PAGES = 1024

/** The full-text index of either database. */
type WordTable = 'words' | 'digest_words'

/** False when a reader kept the log from being cut: to be done again. */
export function eraseDeleted(database: Database, table: WordTable): boolean {
  mergeIndex(database, table)
  giveBackPages(database)
  if (!cutLog(database)) return false
  scrubPages(database)
  return true
}

/** Gives back what lies idle, without the care that erasing takes. Not on a full disk: eviction needs the room. */
export function compact(cache: Database): void {
  if (!stepsFor(cache).isAmple) return
  mergeIndex(cache, 'words')
  giveBackPages(cache)
  cutLog(cache)
}

/**
 * A deletion from a contentless index is only a tombstone beside the words. Merging all segments into one drops them;
 * the pages already merged are freed as it goes on, so it needs little room.
 */
function mergeIndex(database: Database, table: WordTable): void {
  const { mergePages, checkpointPages } = stepsFor(database)
  database.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`)
  const merge = database.prepare(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', -${mergePages})`)
  const changes = database.prepare('SELECT total_changes() AS count')
  const count = (): number => (changes.get() as { count: number }).count
  // A merge with nothing left to do changes less than two rows (https://sqlite.org/fts5.html#the_merge_command).
  for (let before = count(), isDone = false; !isDone; ) {
    merge.run()
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
  for (;;) {
    const { freelist_count } = free.get() as { freelist_count: number }
    if (freelist_count === 0) break
    database.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`)
    const left = (free.get() as { freelist_count: number }).freelist_count
    // A file from before this setting keeps its free pages: they are reused, not given back.
    if (left >= freelist_count) break
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
