// Replaces a whole file: temporary file beside it, flush, rename, flush the directory. A reader sees the old bytes or
// the new ones, never a mixture; a crash leaves one of the two (and perhaps a temporary file, which the next replace
// of the same file removes).
import {
  closeSync,
  constants,
  fchmodSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fromSystem, RecollectError } from '../errors.ts'
import { syncDirectory } from './directory.ts'

export interface ReplaceOptions {
  mode?: number
  /** Gives the file its mode whatever the process's umask takes away (default false). */
  exactMode?: boolean
  /** False skips the flushes: atomic for readers and process kills, not durable over a power cut. */
  durable?: boolean
  /** False leaves what a killed writer left behind: looking for it reads the whole directory. */
  tidy?: boolean
}

/** The whole, or its parts one after another. */
export type FileContent = string | Uint8Array | Iterable<string>

/** Atomically puts `data` at `path`. The directory must exist; the caller holds whatever lock the file needs. */
export function replaceFile(path: string, data: FileContent, options: ReplaceOptions = {}): void {
  const durable = options.durable ?? true
  const temporary = join(dirname(path), `.${basename(path)}.${randomHex()}.tmp`)
  try {
    if (options.tidy ?? true) removeLeftovers(path)
    writeNew(temporary, data, options)
    renameSync(temporary, path)
  } catch (error) {
    removeQuietly(temporary)
    throw fromSystem(error, 'cannot replace file; the old one is unchanged', path)
  }
  // From here on the new bytes stand at the path; without this flush a power cut may still bring the old ones back.
  if (durable) syncDirectory(dirname(path))
}

/** Need not be secret: the file is created only if its name is free. */
function randomHex(): string {
  return Math.floor(Math.random() * 2 ** 48)
    .toString(16)
    .padStart(12, '0')
}

function writeNew(path: string, data: FileContent, options: ReplaceOptions): void {
  const { mode = 0o600, exactMode, durable = true } = options
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const fd = openSync(path, flags, mode)
  try {
    if (exactMode) fchmodSync(fd, mode)
    writeAll(fd, data)
    if (durable) flush(fd, path)
  } finally {
    closeSync(fd)
  }
}

/** Writes everything. Not one write each: a short count near a full disk is no error, the next call then reports it. */
export function writeAll(fd: number, data: FileContent): void {
  const parts = typeof data === 'string' || data instanceof Uint8Array ? [data] : data
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    for (let doneCount = 0; doneCount < bytes.length; ) doneCount += writeSync(fd, bytes, doneCount)
  }
}

function flush(fd: number, where: string): void {
  try {
    fdatasyncSync(fd)
  } catch (cause) {
    throw new RecollectError('FLUSH_FAILED', 'the disk did not take the new file; the old one is unchanged', {
      where,
      cause,
      hint: 'check the disk before trying again',
    })
  }
}

/** Temporary files of a writer that was killed in the middle. */
function removeLeftovers(path: string): void {
  const prefix = `.${basename(path)}.`
  for (const name of readdirSync(dirname(path))) {
    // Exactly our pattern: `.a.` also begins the temporary file of a neighbour called `a.b`.
    if (name.startsWith(prefix) && /^[0-9a-f]{12}\.tmp$/.test(name.slice(prefix.length))) {
      removeQuietly(join(dirname(path), name))
    }
  }
}

/** Where it matters to nobody whether it was there. */
export function removeQuietly(path: string): void {
  try {
    unlinkSync(path)
  } catch {
    return
  }
}
