// The files of one run, `<base>/runs/<runId>/`: where they lie, how the transcript gets there and is read back, and the
// lock that its one writer holds.
//
// Every reader, ours and Go's, takes `transcript.json.gz` before `transcript.json`. So a save shows at one moment only:
//   gz     the rename of the new gz; a plain file left beside it by a crash is never looked at
//   plain  the rename of the new plain file, or, if a gz stood there, the removal of that gz: until then it is still
//          the old transcript that everybody reads
import { constants as bufferConstants } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { ensureDirectory, syncDirectory } from '../files/directory.ts'
import { gunzip, gzip } from '../files/gzip.ts'
import { tryLock } from '../files/lock.ts'
import { resolveInside, safeName } from '../files/paths.ts'
import { openIfThere } from '../files/reading.ts'
import { replaceFile } from '../files/replace.ts'
import { GZIPPED, PLAIN } from './file-names.ts'
import { checkPath } from './given.ts'
import { decodeRun, encodeRun } from './run-json.ts'
import type { RunTranscriptFile } from './run-model.ts'

// The Go program's modes: a run is meant to be shared with whoever may read the repository it lies in.
export const FILE_MODE = 0o644
export const DIRECTORY_MODE = 0o755

const LOCK = '.lock'

/** From this many bytes of JSON on, the transcript is stored as gzip. */
const GZIP_FROM_BYTES = 100 * 1024

/** The directory of all runs. */
export function runsDirectory(baseDir: string): string {
  checkPath(baseDir, 'baseDir')
  return resolveInside(baseDir, 'runs')
}

export function runDirectory(baseDir: string, runId: string): string {
  checkPath(baseDir, 'baseDir')
  return resolveInside(baseDir, 'runs', safeName(runId, 'run id'))
}

/** A transcript, and which file of how many bytes it was read from. */
export interface StoredRun {
  transcript: RunTranscriptFile
  file: string
  size: number
}

/** Writes the transcript and removes the other variant. */
export function storeRun(directory: string, transcript: RunTranscriptFile, durable = true): StoredRun {
  const json = Buffer.from(encodeWhole(transcript, directory))
  const compress = json.length >= GZIP_FROM_BYTES
  const [file, other] = compress ? [GZIPPED, PLAIN] : [PLAIN, GZIPPED]
  const bytes = compress ? gzip(json) : json
  replaceFile(join(directory, file), bytes, { mode: FILE_MODE, durable })
  removeFile(join(directory, other), durable)
  return { transcript, file, size: bytes.length }
}

function encodeWhole(transcript: RunTranscriptFile, directory: string): string {
  try {
    return encodeRun(transcript)
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw new RecollectError('TOO_LARGE', 'the transcript is longer than a string can be', {
      where: directory,
      cause,
      hint: 'no file holds it whole; what was acknowledged stays in the journal, and loadRun reads it',
    })
  }
}

/** What reading the stored variants gave. A damaged one is passed over if the other can be read, as Go does. */
export interface StoredRead {
  stored?: StoredRun
  damaged?: { path: string; size: number; error: RecollectError }
}

export function readStored(directory: string, maxBytes = bufferConstants.MAX_STRING_LENGTH): StoredRead {
  const result: StoredRead = {}
  for (const file of [GZIPPED, PLAIN]) {
    const path = join(directory, file)
    const bytes = readIfThere(path, maxBytes)
    if (bytes === undefined) continue
    try {
      const json = file === GZIPPED ? gunzip(bytes, path, maxBytes) : bytes
      result.stored = { transcript: decodeRun(json.toString('utf8'), path), file, size: bytes.length }
      return result
    } catch (error) {
      if (!(error instanceof RecollectError) || error.code !== 'CORRUPT') throw error
      result.damaged ??= { path, size: bytes.length, error }
    }
  }
  return result
}

function readIfThere(path: string, maxBytes: number): Buffer | undefined {
  const fd = openIfThere(path)
  if (fd === undefined) return undefined
  try {
    const { size } = fstatSync(fd)
    if (size > maxBytes)
      throw new RecollectError('TOO_LARGE', `a transcript of ${size} bytes`, {
        where: path,
        hint: `no transcript is read that is longer than ${maxBytes} bytes: split it, or move it away`,
      })
    return readFileSync(fd)
  } catch (error) {
    throw fromSystem(error, 'cannot read transcript', path, 'read')
  } finally {
    closeSync(fd)
  }
}

/** Removes a file if it is there. */
export function removeFile(path: string, durable = true): void {
  try {
    unlinkSync(path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return
    throw fromSystem(error, 'cannot remove file', path)
  }
  if (durable) syncDirectory(join(path, '..'))
}

/** Held by the run's writer for its life; the kernel gives it up when the process dies. */
export interface RunLock {
  release(): void
}

/** Takes the run's lock, creating its directory; undefined when a living writer has it. */
export function lockRun(directory: string, durable: boolean): RunLock | undefined {
  const path = join(directory, LOCK)
  for (;;) {
    ensureDirectory(directory, DIRECTORY_MODE, durable)
    let fd: number | undefined
    try {
      fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, FILE_MODE)
      const free = tryLock(fd)
      // The last holder removes the file: a lock on a file that has lost its name keeps nobody out.
      const named = free && statSync(path, { throwIfNoEntry: false })?.ino === fstatSync(fd).ino
      if (named) return { release: () => releaseLock(fd as number, path) }
      closeSync(fd)
      if (!free) return undefined
    } catch (error) {
      if (fd !== undefined) closeSync(fd)
      throw fromSystem(error, 'cannot lock the run', path)
    }
  }
}

function releaseLock(fd: number, path: string): void {
  try {
    removeFile(path, false)
  } finally {
    closeSync(fd)
  }
}
