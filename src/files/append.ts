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
  lstatSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { errnoOf, fromSystem, hasCode, RecollectError } from '../errors.ts'
import { ensureDirectory, syncDirectory } from './directory.ts'
import { MAX_LINE_BYTES } from './jsonl.ts'
import { lockPause, tryLock, unlock } from './lock.ts'
import { checkOpened } from './paths.ts'

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
  /**
   * A file that was deleted is made anew, and one put in its place is gone on with, as if it were opened for each record. By
   * default the next append is refused once.
   */
  followPath?: boolean
  /** Called before a file is opened; throws if the path may not be used. */
  check?: (path: string) => void
}

/**
 * A line without its newline, or what makes it: called under the lock, with the file's size before the append, and whether
 * it is another file than that of the last record.
 */
export type AppendRecord = string | ((size: number, isOther: boolean) => string)

/** Where a record came to lie. */
export interface Appended {
  offset: number
  length: number
  /** True when a torn line left by a crash was ended first. */
  healed: boolean
}

const NEWLINE = 10
/** Whoever deletes the file more often than this during one append is told so. */
const MAX_FOLLOWED = 3
// O_NOFOLLOW: a link put in place of the file is refused. O_NONBLOCK: opening a pipe fails instead of hanging.
const OPEN = constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Files with a descriptor, opened longest ago first. One bound for the process: writers are often never closed. */
const openFiles = new Set<AppendFile>()
const MAX_OPEN_FILES = 64

export class AppendFile {
  readonly path: string
  readonly #flush: Flush
  readonly #fileMode: number
  readonly #directoryMode: number
  readonly #enforceMode: boolean
  readonly #lockTimeoutMs: number
  readonly #followPath: boolean
  readonly #check: ((path: string) => void) | undefined
  #fd: number | undefined
  #inode = 0
  #device = 0
  #bornAt = 0
  #isOther = true
  /** Where our own last record ended: while the file is no longer than this, its tail needs no look. */
  #endOffset = -1
  #failed: RecollectError | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #waitingCount = 0

  constructor(path: string, options: AppendOptions = {}) {
    this.path = resolve(path)
    this.#flush = options.flush ?? 'os'
    this.#fileMode = options.fileMode ?? 0o600
    this.#directoryMode = options.directoryMode ?? 0o700
    this.#enforceMode = options.enforceMode ?? false
    this.#lockTimeoutMs = options.lockTimeoutMs ?? 30_000
    this.#followPath = options.followPath ?? false
    this.#check = options.check
  }

  /** True while a call waits for its turn or for the lock. */
  get busy(): boolean {
    return this.#waitingCount > 0
  }

  /** True after a failed flush: every later append is refused. */
  get failed(): boolean {
    return this.#failed !== undefined
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
    // The time a call may wait starts now, also for one that first waits for the calls before it.
    const pause = lockPause(this.path, this.#lockTimeoutMs)
    const turn = this.#tail
      .then(() => this.#appendWhenFree(record, pause))
      .finally(() => this.#waitingCount--)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  /** Waits for calls under way, then gives the descriptor back. */
  async close(): Promise<void> {
    while (this.busy) await this.#tail
    this.release()
  }

  /** Gives the descriptor back; the next append, also one that waits for the lock now, opens the file again. */
  release(): void {
    openFiles.delete(this)
    if (this.#fd === undefined) return
    const fd = this.#fd
    this.#fd = undefined
    this.#endOffset = -1
    closeSync(fd)
  }

  async #appendWhenFree(record: AppendRecord, pause: () => Promise<void>): Promise<Appended> {
    for (;;) {
      // No descriptor is kept over the pause: it may be released, or the file replaced, meanwhile.
      const done = this.#attempt(record)
      if (done) return done
      await pause()
    }
  }

  /** One try: undefined when somebody else holds the lock. */
  #attempt(record: AppendRecord): Appended | undefined {
    if (this.#failed) throw this.#failed
    for (let leftCount = this.#followPath ? MAX_FOLLOWED : 0; ; leftCount--) {
      const fd = this.#fd ?? this.#open()
      if (!tryLock(fd, this.path)) return undefined
      try {
        return this.#write(fd, record)
      } catch (error) {
        // Neither is told once a byte of the record is written.
        const hasMoved = hasCode(error, 'GONE') || hasCode(error, 'REPLACED')
        if (!hasMoved || leftCount === 0) throw error
      } finally {
        if (this.#fd === fd) unlock(fd)
      }
    }
  }

  #open(): number {
    const durable = this.#flush === 'fdatasync'
    this.#check?.(this.path)
    let fd: number | undefined
    try {
      ensureDirectory(dirname(this.path), this.#directoryMode, durable)
      fd = openOrCreate(this.path, this.#fileMode)
      const stats = checkOpened(fd, this.path)
      // Again, now that it is open: a link swapped in between check and open must not lead us elsewhere.
      this.#check?.(this.path)
      if (this.#enforceMode && (stats.mode & 0o777) !== this.#fileMode) fchmodSync(fd, this.#fileMode)
      // Also for a file that was there: whoever created it may have died before its name was flushed.
      const known =
        stats.ino === this.#inode && stats.dev === this.#device && stats.birthtimeMs === this.#bornAt
      if (durable && !known) syncDirectory(dirname(this.path))
      if (!known) this.#isOther = true
      this.#inode = stats.ino
      this.#device = stats.dev
      this.#bornAt = stats.birthtimeMs
      this.#fd = fd
      closeOldest()
      openFiles.add(this)
      return fd
    } catch (error) {
      if (fd !== undefined) closeSync(fd)
      const failure = fromSystem(error, 'cannot open file for appending', this.path)
      if (failure.code === 'FLUSH_FAILED') this.#failed = failure
      throw failure
    }
  }

  /** The size of the file, which must still be the one at our path. Asked under the lock, so it holds for the write. */
  #sizeNow(): number {
    let now: ReturnType<typeof lstatSync>
    try {
      now = lstatSync(this.path, { throwIfNoEntry: false })
    } catch (error) {
      throw fromSystem(error, 'cannot look at file', this.path)
    }
    if (now && now.ino === this.#inode && now.dev === this.#device && now.nlink === 1) return now.size
    // Told once, with nothing written: continuing by itself could split a conversation over two files unseen.
    this.release()
    if (!now) {
      throw new RecollectError('GONE', 'the file being written was deleted', {
        where: this.path,
        hint: 'append again to start a new file; restore the old one from a backup if you need it',
      })
    }
    if (now.ino === this.#inode && now.dev === this.#device) {
      throw new RecollectError('UNSAFE_PATH', 'the file was given a second name (hard link)', {
        where: this.path,
        hint: 'remove the other link: writing here would change a file elsewhere',
      })
    }
    throw new RecollectError('REPLACED', 'another file was put in place of the one being written', {
      where: this.path,
      hint: 'append again to continue in the file that is there now; what was acknowledged is in the old one',
    })
  }

  #write(fd: number, record: AppendRecord): Appended {
    const size = this.#sizeNow()
    const healed = size > 0 && size !== this.#endOffset && lastByte(fd, size, this.path) !== NEWLINE
    const bytes = encodeLine(typeof record === 'string' ? record : record(size, this.#isOther), healed)
    if (bytes.length > MAX_LINE_BYTES) {
      throw new RecollectError('TOO_LARGE', `a record of ${bytes.length} bytes, limit ${MAX_LINE_BYTES}`, {
        where: this.path,
        hint: 'readers would refuse so long a line: store the large part elsewhere and record a reference',
      })
    }
    writeWhole(fd, bytes, size, this.path)
    this.#endOffset = size + bytes.length
    this.#isOther = false
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

/** Busy files keep their descriptor: it would only be opened again at once. */
function closeOldest(): void {
  for (const file of openFiles) {
    if (openFiles.size < MAX_OPEN_FILES) return
    if (!file.busy) file.release()
  }
}

function openOrCreate(path: string, mode: number): number {
  try {
    return openSync(path, OPEN | constants.O_CREAT | constants.O_EXCL, mode)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    return openSync(path, OPEN)
  }
}

/** Reused by all files: allocating a buffer costs as much as the write. Encoding and writing happen in one go. */
let scratch = Buffer.alloc(0)
const MAX_SCRATCH_BYTES = 1 << 20

function encodeLine(record: string, healed: boolean): Buffer {
  const mostBytes = record.length * 3 + 2
  if (mostBytes > MAX_SCRATCH_BYTES) return Buffer.from(healed ? `\n${record}\n` : `${record}\n`)
  if (scratch.length < mostBytes) scratch = Buffer.allocUnsafeSlow(Math.min(mostBytes * 2, MAX_SCRATCH_BYTES))
  let end = 0
  if (healed) scratch[end++] = NEWLINE
  end += scratch.write(record, end)
  scratch[end++] = NEWLINE
  return scratch.subarray(0, end)
}

function lastByte(fd: number, size: number, path: string): number | undefined {
  try {
    const one = Buffer.allocUnsafe(1)
    return readSync(fd, one, 0, 1, size - 1) === 1 ? one[0] : undefined
  } catch (error) {
    throw fromSystem(error, 'cannot read the end of the file', path)
  }
}

/** One write; a short one (a nearly full disk gives no error) is completed, or taken back so that no torn line stays. */
function writeWhole(fd: number, bytes: Buffer, size: number, path: string): void {
  let doneCount = 0
  try {
    doneCount = writeSync(fd, bytes)
    if (doneCount === bytes.length) return
    while (doneCount < bytes.length) doneCount += writeSync(fd, bytes, doneCount)
  } catch (error) {
    const kept = takeBack(fd, size, size + doneCount)
      ? 'nothing was kept of this record'
      : 'a torn line stays, which readers name and the next append ends'
    throw fromSystem(error, `cannot append; ${kept}`, path)
  }
  if (fstatSync(fd).size !== size + bytes.length) {
    throw new RecollectError('INTERLEAVED', 'a program that does not take the lock wrote into this record', {
      where: path,
      hint: 'only one kind of writer may use the file; append the record again',
    })
  }
}

/** Best effort: true when the file ends where it did before the write. */
function takeBack(fd: number, size: number, end: number): boolean {
  try {
    if (fstatSync(fd).size !== end) return false
    ftruncateSync(fd, size)
    return true
  } catch {
    return false
  }
}
