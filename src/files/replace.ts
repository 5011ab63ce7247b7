// Replaces a whole file: temporary file beside it, flush, rename, flush the directory. A reader sees the old bytes or
// the new ones, never a mixture; a crash leaves one of the two (and perhaps a temporary file, which the next replace
// of the same file removes).
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  fdatasyncSync,
  openSync,
  readdirSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fromSystem } from '../errors.ts'
import { syncDirectory } from './directory.ts'

export interface ReplaceOptions {
  mode?: number
  /** False skips the flushes: atomic for readers and process kills, not durable over a power cut. */
  durable?: boolean
}

/** Atomically puts `data` at `path`. The directory must exist; the caller holds whatever lock the file needs. */
export function replaceFile(path: string, data: string | Uint8Array, options: ReplaceOptions = {}): void {
  const durable = options.durable ?? true
  const temporary = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  let fd: number | undefined
  try {
    removeLeftovers(path)
    fd = openSync(
      temporary,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      options.mode ?? 0o600,
    )
    const bytes = typeof data === 'string' ? Buffer.from(data) : data
    // Not one write: a short count near a full disk is no error, the next call then reports it.
    for (let doneCount = 0; doneCount < bytes.length; ) doneCount += writeSync(fd, bytes, doneCount)
    if (durable) fdatasyncSync(fd)
    closeSync(fd)
    fd = undefined
    renameSync(temporary, path)
    if (durable) syncDirectory(dirname(path))
  } catch (error) {
    if (fd !== undefined) closeSync(fd)
    removeQuietly(temporary)
    throw fromSystem(error, 'cannot replace file; the old one is unchanged', path)
  }
}

/** Temporary files of a writer that was killed in the middle. */
function removeLeftovers(path: string): void {
  const prefix = `.${basename(path)}.`
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(prefix) && name.endsWith('.tmp')) removeQuietly(join(dirname(path), name))
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    return
  }
}
