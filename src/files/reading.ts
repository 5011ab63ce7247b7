// Opens files that others wrote. What stands at a path may be anything: a pipe that nobody writes to, a device without an
// end, a link to somebody's letters. So: regular files only, never through a link at the end of the path, and never more
// of one than the caller has room for. Nothing else in adapters/, sources/ and sweep/ opens a file (a test looks).
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs'
import { fromSystem, notAFile, RecollectError } from '../errors.ts'

/** Opens a regular file for reading: never follows a link at the end of the path, never hangs on a pipe. */
export function openForReading(path: string): number {
  return open(path, constants.O_NOFOLLOW)
}

function open(path: string, flags: number): number {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags)
  } catch (error) {
    throw fromSystem(error, 'cannot open file', path, 'read')
  }
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw notAFile(path)
}

/** The same; undefined when there is no such file. Anything else that prevents reading is an error. */
export function openIfThere(path: string): number | undefined {
  try {
    return openForReading(path)
  } catch (error) {
    if (error instanceof RecollectError && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

export interface Beginning {
  bytes: Buffer
  /** Of the whole file. */
  size: number
}

/** At most `limit` bytes of a regular file. */
export function readBeginning(path: string, limit: number): Beginning {
  return beginningOf(openForReading(path), path, limit)
}

function beginningOf(fd: number, path: string, limit: number): Beginning {
  try {
    const { size } = fstatSync(fd)
    const bytes = Buffer.alloc(Math.min(size, limit))
    let filled = 0
    while (filled < bytes.length) {
      const count = readSync(fd, bytes, filled, bytes.length - filled, filled)
      if (count === 0) break
      filled += count
    }
    return { bytes: bytes.subarray(0, filled), size }
  } catch (error) {
    throw fromSystem(error, 'cannot read file', path, 'read')
  } finally {
    closeSync(fd)
  }
}

/** All of a regular file, if it is no longer than `limit`: what is longer is refused, not cut. */
export function readWhole(path: string, limit: number): Buffer {
  return wholeOf(openForReading(path), path, limit)
}

/** Of a program's settings: they are written by hand. */
export const MAX_SETTINGS_BYTES = 16 << 20

/**
 * The same through a link, for what the user placed and named: settings are often kept elsewhere and linked to. Never for
 * what was found by looking into directories.
 */
export function readLinked(path: string, limit: number): Buffer {
  return wholeOf(open(path, 0), path, limit)
}

function wholeOf(fd: number, path: string, limit: number): Buffer {
  const { bytes, size } = beginningOf(fd, path, limit)
  if (size <= limit) return bytes
  throw new RecollectError('TOO_LARGE', `a file of ${size} bytes where ${limit} are the most`, {
    where: path,
    hint: 'nothing that belongs there is that large: look at it, then move it away',
  })
}

/** The size of what stands at a path itself, not behind a link; 0 where there is nothing. */
export const sizeOf = (path: string): number => lstatSync(path, { throwIfNoEntry: false })?.size ?? 0
