// A private copy of a database that another program may be writing to. A database in WAL mode is two files, and a copy of
// two files is not made at one moment. It is right all the same when the main file is copied first, the log after it, and
// the log was not begun anew in between (its header tells: salts and checkpoint number): whatever a checkpoint put into
// the main file meanwhile stands in the copied log as well, and what stands there counts. What is appended to the log while it is copied is cut
// off by SQLite at the last whole commit. Without a log the main file has to be the same before and after.
import { closeSync, fstatSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { RecollectError } from '../errors.ts'
import { openIfThere } from '../files/reading.ts'

const NAME = 'copy.db'
const TRIES = 8
const CHUNK_BYTES = 1 << 20
/** Of the log: magic number, format, page size, checkpoint number, salts, checksum. */
const LOG_HEADER_BYTES = 32

/** Copies the database at `path` into a directory that is nobody else's; returns the path of the copy. */
export function copyDatabase(path: string, directory: string): string {
  const copy = join(directory, NAME)
  for (let tries = 0; tries < TRIES; tries++) {
    const before = markOf(path)
    for (const suffix of ['', '-wal', '-journal']) copyIfThere(`${path}${suffix}`, `${copy}${suffix}`)
    if (markOf(path) === before) return copy
  }
  throw new RecollectError('BUSY', 'its program writes to the database faster than it can be copied', {
    where: path,
    hint: 'nothing is lost: the next sweep tries again',
  })
}

/** What must be equal before and after. */
function markOf(path: string): string {
  const log = headOf(`${path}-wal`, LOG_HEADER_BYTES)
  if (log !== undefined && log !== '') return log
  const [main, journal] = [path, `${path}-journal`].map((one) => timesOf(one))
  return `${main} ${journal}`
}

function headOf(path: string, length: number): string | undefined {
  return withFile(path, (fd) => {
    const bytes = Buffer.alloc(length)
    return bytes.toString('hex', 0, readSync(fd, bytes, 0, length, 0))
  })
}

const timesOf = (path: string): string | undefined =>
  withFile(path, (fd) => {
    const { size, mtimeNs, ino } = fstatSync(fd, { bigint: true })
    return `${ino} ${size} ${mtimeNs}`
  })

function withFile<T>(path: string, look: (fd: number) => T): T | undefined {
  const fd = openIfThere(path)
  if (fd === undefined) return undefined
  try {
    return look(fd)
  } finally {
    closeSync(fd)
  }
}

function copyIfThere(from: string, to: string): void {
  rmSync(to, { force: true })
  withFile(from, (fd) => {
    const target = openSync(to, 'wx', 0o600)
    try {
      const room = Buffer.allocUnsafe(CHUNK_BYTES)
      for (let at = 0; ; ) {
        const count = readSync(fd, room, 0, room.length, at)
        if (count === 0) return
        for (let done = 0; done < count; ) done += writeSync(target, room, done, count - done)
        at += count
      }
    } finally {
      closeSync(target)
    }
  })
}
