// Who writes to a memory: one sweep at a time, by a kernel lock on sweep.lock that is freed however its holder ends. While
// it is held, the file says how far the sweep is, for whoever asks the memory meanwhile.
import { closeSync, constants, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { RecollectError } from '../errors.ts'
import { openLockFile, tryLock } from '../files/lock.ts'

export interface SweepProgress {
  doneBytes: number
  totalBytes: number
  doneSources: number
  totalSources: number
}

/** A sweep that is under way; the newest sources are read first. */
export interface RunningSweep extends SweepProgress {
  pid: number
  startedAt: number
}

const pathIn = (home: string): string => join(home, 'sweep.lock')

export class SweepLock {
  readonly #fd: number
  readonly #startedAt = Date.now()

  /** Throws BUSY when somebody else holds it. */
  constructor(home: string) {
    const path = pathIn(home)
    this.#fd = openLockFile(path)
    if (tryLock(this.#fd, path)) return
    closeSync(this.#fd)
    throw new RecollectError('BUSY', 'another sweep is running', {
      where: path,
      hint: 'wait for it to end, then try again',
    })
  }

  /** What nobody reads again after a crash: it is neither flushed nor worth an error, on a full disk for example. */
  tell(progress: SweepProgress): void {
    const running: RunningSweep = { pid: process.pid, startedAt: this.#startedAt, ...progress }
    this.#put(`${JSON.stringify(running)}\n`)
  }

  free(): void {
    this.#put('')
    closeSync(this.#fd)
  }

  #put(text: string): void {
    try {
      ftruncateSync(this.#fd, Buffer.byteLength(text))
      writeSync(this.#fd, text, 0)
    } catch {
      // See `tell`.
    }
  }
}

/** How far the sweep is that writes to this memory now; null where none does, or none that says so. Looks without leaving anything. */
export function runningSweep(home: string): RunningSweep | null {
  try {
    const running = JSON.parse(readFileSync(pathIn(home), 'utf8')) as RunningSweep
    return isHeld(home, running.pid) ? running : null
  } catch {
    return null
  }
}

/** What a killed sweep left behind is no sweep. The process first: to try the lock is to hold it for a moment. */
function isHeld(home: string, pid: number): boolean {
  process.kill(pid, 0)
  const fd = openSync(pathIn(home), constants.O_RDWR | constants.O_NOFOLLOW)
  try {
    return !tryLock(fd)
  } finally {
    closeSync(fd)
  }
}
