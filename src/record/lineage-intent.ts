// The lock file beside a session history. It serializes all processes that change the log and the current-session
// file, and holds a note of the change under way, so that whoever comes next can finish one that was cut off.
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import * as z from 'zod'
import { fromSystem, notAFile } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { waitLock } from '../files/lock.ts'
import { Amount, NullableText, Text } from './shapes.ts'

const Intent = z.object({
  /** What the current-session file held, and what it is to hold; null is no file. */
  from: NullableText,
  to: NullableText,
  /** The event as JSON, and the size of the log before it was appended. */
  event: Text,
  offset: Amount,
})
/** A change that needs two files: an event in the log, then a new current session. */
export type Intent = z.infer<typeof Intent>

const OPEN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Opens and locks the file, creating its directory. Closing the descriptor releases the lock. */
export async function openLocked(path: string, timeoutMs: number, durable: boolean): Promise<number> {
  ensureDirectory(dirname(path), 0o700, durable)
  for (;;) {
    let fd: number | undefined
    try {
      fd = openSync(path, OPEN, 0o600)
      await waitLock(fd, path, timeoutMs)
      // Somebody may have deleted the file while we waited: a lock on a file without a name excludes nobody.
      const named = statSync(path, { throwIfNoEntry: false })
      const held = fstatSync(fd)
      if (!held.isFile()) throw notAFile(path)
      if (named && named.ino === held.ino && named.dev === held.dev) return fd
      closeSync(fd)
    } catch (error) {
      if (fd !== undefined) closeSync(fd)
      throw fromSystem(error, 'cannot lock the session history', path)
    }
  }
}

/** Looks without the lock: true while a change is under way or was cut off. */
export function hasIntent(path: string): boolean {
  try {
    return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0
  } catch (error) {
    throw fromSystem(error, 'cannot look at the session lock', path, 'read')
  }
}

/** The note in a locked file; undefined if there is none, or if a power cut spoilt it. */
export function readIntent(fd: number): Intent | undefined {
  try {
    return Intent.parse(JSON.parse(readFileSync(fd, 'utf8')))
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof z.ZodError) return undefined
    throw error
  }
}

export function writeIntent(fd: number, path: string, intent: Intent, durable: boolean): void {
  try {
    ftruncateSync(fd, 0)
    const bytes = Buffer.from(JSON.stringify(intent))
    for (let doneCount = 0; doneCount < bytes.length; ) {
      doneCount += writeSync(fd, bytes, doneCount, bytes.length - doneCount, doneCount)
    }
    if (durable) fdatasyncSync(fd)
  } catch (error) {
    throw fromSystem(error, 'cannot note the change of session; nothing was changed', path)
  }
}

export function clearIntent(fd: number): void {
  ftruncateSync(fd, 0)
}
