// A kernel lock on an open file (Linux: open-file-description lock). It belongs to the descriptor: the kernel
// releases it when the holder closes the file or dies, at once and never by a timer. A suspended holder keeps it,
// so nobody else can write meanwhile. Local file systems only; see docs/limits.md.
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { RecollectError } from '../errors.ts'

interface Native {
  tryLock(fd: number): boolean
  unlock(fd: number): void
}

let native: Native | undefined

/** Loaded on first use: the addon costs 15 ms of CPU, which a program that only imports us should not pay. */
function load(): Native {
  if (native) return native
  try {
    native = createRequire(import.meta.url)('fs-native-extensions') as Native
    return native
  } catch (cause) {
    throw new RecollectError('LOCK_UNAVAILABLE', 'cannot load kernel file locks', {
      cause,
      hint: 'fs-native-extensions has no build for this platform; recollect does not write without a lock',
    })
  }
}

/** Takes the lock if it is free. */
export function tryLock(fd: number): boolean {
  return load().tryLock(fd)
}

export function unlock(fd: number): void {
  load().unlock(fd)
}

/** Waits for the lock, at most `timeoutMs`. */
export async function waitLock(fd: number, where: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (let tries = 0; !tryLock(fd); tries++) {
    if (performance.now() >= deadline) {
      throw new RecollectError('LOCK_BUSY', `another process holds the lock for more than ${timeoutMs} ms`, {
        where,
        hint: 'find it with `fuser` or `lslocks`; if it is suspended, resume or end it. Nothing was written',
      })
    }
    // Holders keep the lock for one write: look again soon, with jitter so that waiters do not move in step.
    await sleep(tries < 4 ? 0 : 1 + Math.random() * Math.min(tries, 20))
  }
}
