// A kernel lock on an open file (Linux: open-file-description lock). It belongs to the descriptor: the kernel
// releases it when the holder closes the file or dies, at once and never by a timer. A suspended holder keeps it,
// so nobody else can write meanwhile. Local file systems only; see docs/limits.md.
import { constants, openSync } from 'node:fs'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { loadAddon, requirePackage } from './addon.ts'

interface Native {
  tryLock(fd: number): boolean
  unlock(fd: number): void
}

/** The addon without the JavaScript around it. */
interface Bare {
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void
  unlock(fd: number, offset: number, length: number): void
}

const PACKAGE = 'fs-native-extensions'

const wrapped = ({ tryLock, unlock }: Bare): Native => ({
  tryLock(fd) {
    try {
      tryLock(fd, 0, 0, true)
      return true
    } catch (error) {
      if (errnoOf(error) === 'EAGAIN') return false
      throw error
    }
  },
  unlock: (fd) => unlock(fd, 0, 0),
})

let native: Native | undefined

/** Loaded on first use: a program that only imports us should not pay for it. */
function load(): Native {
  if (native) return native
  const bare = loadAddon<Bare>(PACKAGE, `${PACKAGE}.node`)
  try {
    native = bare ? wrapped(bare) : (requirePackage(PACKAGE) as Native)
    return native
  } catch (cause) {
    throw new RecollectError('LOCK_UNAVAILABLE', 'cannot load kernel file locks', {
      where: PACKAGE,
      cause,
      hint: `${PACKAGE} has no build for this platform; recollect does not write without a lock`,
    })
  }
}

/** Opens a file that is there only to be locked. */
export function openLockFile(path: string): number {
  try {
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  } catch (error) {
    throw fromSystem(error, 'cannot open the lock file', path)
  }
}

/** Takes the lock if it is free. `where` names the file in an error. */
export function tryLock(fd: number, where = 'file'): boolean {
  const { tryLock } = native ?? load()
  try {
    return tryLock(fd)
  } catch (cause) {
    throw new RecollectError('LOCK_UNAVAILABLE', 'the kernel refused to lock the file', {
      where,
      cause,
      hint: 'use a local file system: network ones often have no locks, or only unsafe ones',
    })
  }
}

export function unlock(fd: number): void {
  load().unlock(fd)
}

/** Waits for the lock, at most `timeoutMs`. */
export async function waitLock(fd: number, where: string, timeoutMs: number): Promise<void> {
  const pause = lockPause(where, timeoutMs)
  while (!tryLock(fd, where)) await pause()
}

/** To be awaited between two tries: sleeps, and throws LOCK_BUSY once `timeoutMs` have passed. */
export function lockPause(where: string, timeoutMs: number): () => Promise<void> {
  const deadline = performance.now() + timeoutMs
  let tries = 0
  return async () => {
    if (performance.now() >= deadline) {
      throw new RecollectError('LOCK_BUSY', `another process holds the lock for more than ${timeoutMs} ms`, {
        where,
        hint: 'find it with `fuser` or `lslocks`; if it is suspended, resume or end it. Nothing was written',
      })
    }
    // Holders keep the lock for one write: look again soon, with jitter so that waiters do not move in step.
    const ms = tries < 4 ? 0 : 1 + Math.random() * Math.min(tries, 20)
    await new Promise((resolve) => setTimeout(resolve, ms))
    tries++
  }
}
