// The append discipline all formats share: one buffer, kernel lock, heal the tail, one write, flush.
// Owns descriptors and the order of calls within this process. Knows nothing of JSON.
//
// What a crash can leave, step by step:
//   before the write   nothing of the record
//   in the write       a prefix of the record without its newline; readers report it as a gap and the next append
//                      first ends that line, so it costs one unacknowledged record and never the one after it
//   after the write    the whole record; with flush 'os' it survives the process, not the machine
//   after the flush    the whole record, also after a power cut; only now is the append acknowledged
import {
  closeSync,
  constants,
  fchmodSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { fromSystem, RecollectError } from '../errors.ts'
import { ensureDirectory, syncDirectory } from './directory.ts'
import { tryLock, unlock, waitLock } from './lock.ts'

/** `os`: the record survives a kill of this process. `fdatasync`: it also survives a crash of the machine. */
export type Flush = 'os' | 'fdatasync'

export interface AppendOptions {
  flush?: Flush
  /** Mode of a newly created file (default 0600) and directory (default 0700). */
  fileMode?: number
  directoryMode?: number
  /** Also gives an existing file that mode (default false). */
  enforceMode?: boolean
  /** How long to wait for another process's lock (default 30 s). */
  lockTimeoutMs?: number
  /** Called before a file is opened; throws if the path may not be used. */
  check?: (path: string) => void
}

/** A line without its newline, or what makes it: called under the lock, with the file's size before the append. */
export type AppendRecord = string | ((size: number) => string)

/** Where a record came to lie. */
export interface Appended {
  offset: number
  length: number
  /** True when a torn line left by a crash was ended first. */
  healed: boolean
}

const NEWLINE = 10
// O_NOFOLLOW: a link put in place of the file is refused. O_NONBLOCK: opening a pipe fails instead of hanging.
const OPEN = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK

export class AppendFile {
  readonly path: string
  readonly #flush: Flush
  readonly #fileMode: number
  readonly #directoryMode: number
  readonly #enforceMode: boolean
  readonly #lockTimeoutMs: number
  readonly #check: ((path: string) => void) | undefined
  #fd: number | undefined
  #inode = 0
  #device = 0
  /** Where our own last record ended: while the file is no longer than this, its tail needs no look. */
  #endOffset = -1
  #failed: RecollectError | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #waitingCount = 0

  constructor(path: string, options: AppendOptions = {}) {
    this.path = path
    this.#flush = options.flush ?? 'os'
    this.#fileMode = options.fileMode ?? 0o600
    this.#directoryMode = options.directoryMode ?? 0o700
    this.#enforceMode = options.enforceMode ?? false
    this.#lockTimeoutMs = options.lockTimeoutMs ?? 30_000
    this.#check = options.check
  }

  /** True while a call waits for its turn or for the lock. */
  get busy(): boolean {
    return this.#waitingCount > 0
  }

  /** Appends one record (a newline is added). Resolves when it is written and flushed; calls keep their order. */
  append(record: AppendRecord): Promise<Appended> {
    // The common case runs without waiting: nobody before us, lock free. Everything in it is synchronous.
    if (this.#waitingCount === 0) {
      try {
        const done = this.#attempt(record)
        if (done) return Promise.resolve(done)
      } catch (error) {
        return Promise.reject(error)
      }
    }
    this.#waitingCount++
    const turn = this.#tail.then(() => this.#appendWhenFree(record)).finally(() => this.#waitingCount--)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  /** Waits for calls under way, then gives the descriptor back. */
  async close(): Promise<void> {
    await this.#tail
    this.release()
  }

  /** Gives the descriptor back; the next append opens the file again. */
  release(): void {
    if (this.#fd === undefined) return
    const fd = this.#fd
    this.#fd = undefined
    this.#endOffset = -1
    closeSync(fd)
  }

  async #appendWhenFree(record: AppendRecord): Promise<Appended> {
    for (;;) {
      const done = this.#attempt(record)
      if (done) return done
      const fd = this.#fd as number
      await waitLock(fd, this.path, this.#lockTimeoutMs)
      unlock(fd)
    }
  }

  /** One try: undefined when somebody else holds the lock. */
  #attempt(record: AppendRecord): Appended | undefined {
    if (this.#failed) throw this.#failed
    this.#ensureOpen()
    const fd = this.#fd as number
    try {
      if (!tryLock(fd)) return undefined
    } catch (error) {
      throw fromSystem(error, 'cannot lock', this.path)
    }
    try {
      return this.#write(fd, record)
    } finally {
      if (this.#fd === fd) unlock(fd)
    }
  }

  #ensureOpen(): void {
    if (this.#fd !== undefined) {
      const now = this.#statPath()
      if (now && now.ino === this.#inode && now.dev === this.#device) return
      // Told once, with nothing written: continuing by itself could split a conversation over two files unseen.
      this.release()
      throw now
        ? new RecollectError('REPLACED', 'another file was put in place of the one being written', {
            where: this.path,
            hint: 'append again to continue in the file that is there now; what was acknowledged is in the old one',
          })
        : new RecollectError('GONE', 'the file being written was deleted', {
            where: this.path,
            hint: 'append again to start a new file; restore the old one from a backup if you need it',
          })
    }
    this.#open()
  }

  #statPath(): Stats | undefined {
    try {
      return statSync(this.path, { throwIfNoEntry: false })
    } catch (error) {
      throw fromSystem(error, 'cannot look at file', this.path)
    }
  }

  #open(): void {
    const durable = this.#flush === 'fdatasync'
    this.#check?.(this.path)
    ensureDirectory(dirname(this.path), this.#directoryMode, durable)
    this.#check?.(this.path)
    let fd: number
    let created = false
    try {
      try {
        fd = openSync(this.path, OPEN | constants.O_CREAT | constants.O_EXCL, this.#fileMode)
        created = true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
        fd = openSync(this.path, OPEN)
      }
    } catch (error) {
      throw fromSystem(error, 'cannot open file for appending', this.path)
    }
    try {
      const stats = fstatSync(fd)
      if (!stats.isFile()) {
        throw new RecollectError('NOT_A_FILE', 'not a regular file', { where: this.path })
      }
      if (stats.nlink > 1) {
        throw new RecollectError('UNSAFE_PATH', 'the file has more than one name (hard link)', {
          where: this.path,
          hint: 'remove the other link: writing here would change a file elsewhere',
        })
      }
      if (this.#enforceMode && (stats.mode & 0o777) !== this.#fileMode) fchmodSync(fd, this.#fileMode)
      if (created && durable) syncDirectory(dirname(this.path))
      this.#inode = stats.ino
      this.#device = stats.dev
      this.#fd = fd
    } catch (error) {
      closeSync(fd)
      throw fromSystem(error, 'cannot open file for appending', this.path)
    }
  }

  #write(fd: number, record: AppendRecord): Appended {
    let size: number
    let healed = false
    try {
      size = fstatSync(fd).size
      healed = size > 0 && size !== this.#endOffset && lastByte(fd, size) !== NEWLINE
    } catch (error) {
      throw fromSystem(error, 'cannot read the end of the file', this.path)
    }
    const line = typeof record === 'string' ? record : record(size)
    const bytes = Buffer.from(healed ? `\n${line}\n` : `${line}\n`)
    writeWhole(fd, bytes, size, this.path)
    this.#endOffset = size + bytes.length
    if (this.#flush === 'fdatasync') this.#sync(fd)
    const start = healed ? 1 : 0
    return { offset: size + start, length: bytes.length - start, healed }
  }

  #sync(fd: number): void {
    try {
      fdatasyncSync(fd)
    } catch (cause) {
      // After a failed flush the kernel may drop the pages and report success next time: never try again.
      this.#failed = new RecollectError('FLUSH_FAILED', 'the disk did not take the data', {
        where: this.path,
        cause,
        hint: 'the last record may be lost. Check the disk, then continue in a new writer; this one refuses',
      })
      this.release()
      throw this.#failed
    }
  }
}

function lastByte(fd: number, size: number): number | undefined {
  const one = Buffer.allocUnsafe(1)
  return readSync(fd, one, 0, 1, size - 1) === 1 ? one[0] : undefined
}

/** One write; a short one (a nearly full disk gives no error) is completed, or taken back so that no torn line stays. */
function writeWhole(fd: number, bytes: Buffer, size: number, path: string): void {
  let doneCount = 0
  try {
    doneCount = writeSync(fd, bytes)
    if (doneCount === bytes.length) return
    while (doneCount < bytes.length) doneCount += writeSync(fd, bytes, doneCount)
  } catch (error) {
    takeBack(fd, size, size + doneCount)
    throw fromSystem(error, 'cannot append; nothing was kept of this record', path)
  }
  if (fstatSync(fd).size !== size + bytes.length) {
    throw new RecollectError('INTERLEAVED', 'a program that does not take the lock wrote into this record', {
      where: path,
      hint: 'only one kind of writer may use the file; append the record again',
    })
  }
}

/** Best effort: if it fails too, the torn line stays, readers name it and the next append ends it. */
function takeBack(fd: number, size: number, end: number): void {
  try {
    if (fstatSync(fd).size === end) ftruncateSync(fd, size)
  } catch {
    return
  }
}
