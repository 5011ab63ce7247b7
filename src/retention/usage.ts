// What a directory truly occupies, and the ballast: a file that is only there to be removed when the disk is full, so
// that eviction has room for its own first writes.
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  readdirSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { errnoOf } from '../errors.ts'

/** SQLite's index of a log. It goes with the last one who has the database open, so nothing is gained by making room for it. */
const isPassing = (path: string): boolean => path.endsWith('.db-shm')

/** Bytes allocated below a path, directories included: what a deletion gives back. */
export function allocatedBytes(path: string): number {
  let bytes = 0
  if (isPassing(path)) return bytes
  try {
    const stats = lstatSync(path)
    bytes = stats.blocks * 512
    if (stats.isDirectory()) for (const name of readdirSync(path)) bytes += allocatedBytes(join(path, name))
  } catch (error) {
    // A WAL file may go while we look.
    if (errnoOf(error) !== 'ENOENT') throw error
  }
  return bytes
}

/** A database with its write-ahead log. */
export const databaseBytes = (path: string): number =>
  ['', '-wal'].reduce((sum, tail) => sum + allocatedBytes(path + tail), 0)

/** Twice what two write-ahead logs with their indexes and one step of a deletion took on a full tmpfs, whatever the size. */
const BALLAST_BYTES = 1 << 20
/** A disk with less than this is as good as full. */
const SCARCE_BYTES = 4 << 20
/** What lies in the cache beside segments and database: the ballast, and the directories of the segments. */
export const MAX_OVERHEAD_BYTES = BALLAST_BYTES + (2 << 20)
const ballastPath = (cacheDirectory: string): string => join(cacheDirectory, 'ballast')

function freeBytes(directory: string): number {
  const { bavail, bsize } = statfsSync(directory)
  return bavail * bsize
}

/** Removes the ballast if the disk is (nearly) full; true when it did. Call before the store is opened. */
export function dropBallastIfFull(cacheDirectory: string): boolean {
  if (!existsSync(ballastPath(cacheDirectory)) || freeBytes(cacheDirectory) >= SCARCE_BYTES) return false
  rmSync(ballastPath(cacheDirectory), { force: true })
  return true
}

/** Puts the ballast in place where there is ample room for it; never so large that it weighs against a small cap. */
export function keepBallast(cacheDirectory: string, rawSoftCapBytes: number): void {
  const path = ballastPath(cacheDirectory)
  const wanted = Math.min(BALLAST_BYTES, Math.floor(rawSoftCapBytes / 64))
  const size = statSync(path, { throwIfNoEntry: false })?.size
  if (size !== undefined && size > wanted) truncateSync(path, wanted)
  if ((size !== undefined && size >= wanted) || freeBytes(cacheDirectory) < 8 * SCARCE_BYTES) return
  // Random, because some file systems store zeros in no room at all.
  writeFileSync(path, randomBytes(wanted), { mode: 0o600 })
}
