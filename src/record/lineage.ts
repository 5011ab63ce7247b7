// The lineage of a bot's sessions: an append-only log of births and deaths beside the plain-string file that names
// the current main session. Owns which event a call means, and the order of writes that keeps the two files in step.
// The lines are lineage-event.ts, the tree is lineage-tree.ts.
//
// A change of the main session, under the lock, and what a crash after each step leaves:
//   1 note the intent      neither file changed; the next call finds no line and drops the note
//   2 append the event     the log is ahead; the next call finds the line and carries the current file forward
//   3 replace the current  both files changed; the next call only drops the note
//   4 drop the note        done

import { closeSync, fdatasyncSync, openSync, readFileSync, unlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { AppendFile, type Flush } from '../files/append.ts'
import { syncDirectory } from '../files/directory.ts'
import { readJsonl } from '../files/jsonl.ts'
import { safeName } from '../files/paths.ts'
import { openIfThere } from '../files/reading.ts'
import { replaceFile } from '../files/replace.ts'
import { DEFAULT_HISTORY_FILE } from './file-names.ts'
import { checkClock, checkOptions, checkPath, misused } from './given.ts'
import {
  checkEvent,
  encodeEvent,
  isSessionId,
  localTimestamp,
  readSessionHistory,
  SessionHistoryEvent,
  type SessionHistoryEventType,
  statPath,
  type WrittenSessionEvent,
} from './lineage-event.ts'
import { GitCommits, type SessionGitOptions } from './lineage-git.ts'
import { clearIntent, hasIntent, openLocked, readIntent, writeIntent } from './lineage-intent.ts'
import type { ReadOptions } from './read.ts'

export interface SessionHistoryOptions {
  /** Name of the file with the current session id (default `sessions.json`). */
  currentFile?: string
  /** Name of the log (default `session_history.jsonl`). */
  historyFile?: string
  /** What an acknowledged change survives (default `fdatasync`: also a power cut). */
  flush?: Flush
  /** Commits the log with git after each append, in the background (default false). */
  git?: boolean | SessionGitOptions
  now?: () => Date
  /** How long a change waits for another process's lock (default 30 s). */
  lockTimeoutMs?: number
}

const MAX_CURRENT_BYTES = 64 << 10

/** Records which session came from which. Safe to use from several processes at once. */
export class SessionHistory {
  readonly historyPath: string
  readonly currentPath: string
  readonly #lockPath: string
  readonly #durable: boolean
  readonly #lockTimeoutMs: number
  readonly #now: () => Date
  readonly #log: AppendFile
  readonly #index: LogIndex
  readonly #git: GitCommits | undefined
  #tail: Promise<unknown> = Promise.resolve()
  #waitingCount = 0

  /** `directory` holds both files, such as `~/.ollim-bot`; it is created at the first change. */
  constructor(directory: string, options: SessionHistoryOptions = {}) {
    checkPath(directory, 'directory')
    checkOptions(options)
    checkClock(options.now)
    const root = resolve(directory)
    const historyFile = safeName(options.historyFile ?? DEFAULT_HISTORY_FILE, 'historyFile')
    const currentFile = safeName(options.currentFile ?? 'sessions.json', 'currentFile')
    if (historyFile === currentFile) throw misused('currentFile', 'another name than historyFile')
    this.historyPath = join(root, historyFile)
    this.currentPath = join(root, currentFile)
    this.#lockPath = join(root, `.${historyFile.replace(/\.jsonl$/, '')}.lock`)
    const flush = options.flush ?? 'fdatasync'
    this.#durable = flush === 'fdatasync'
    this.#lockTimeoutMs = options.lockTimeoutMs ?? 30_000
    this.#now = options.now ?? (() => new Date())
    this.#log = new AppendFile(this.historyPath, { flush, lockTimeoutMs: this.#lockTimeoutMs })
    this.#index = new LogIndex(this.historyPath)
    if (options.git) this.#git = new GitCommits(this.historyPath, options.git === true ? {} : options.git)
  }

  /** The current main session, or null. */
  async current(): Promise<string | null> {
    await this.#tail
    if (!hasIntent(this.#lockPath)) return this.#readCurrent()
    return this.#exclusive(async () => this.#readCurrent())
  }

  /** Called with the id of every turn: logs `created` if there was none, `compacted` if it changed, else nothing. */
  async saveSessionId(sessionId: string): Promise<WrittenSessionEvent | undefined> {
    checkId(sessionId, 'sessionId')
    if (this.#settledOn(sessionId)) return undefined
    return this.#exclusive(async (lock) => {
      const main = this.#readCurrent()
      if (main === sessionId) return undefined
      return this.#moveMain(
        lock,
        this.#event(sessionId, main === null ? 'created' : 'compacted', main),
        sessionId,
      )
    })
  }

  /** Makes a fork the main session and logs `swapped`; a `saveSessionId` of it that comes meanwhile or later logs nothing. */
  async swap(newMainId: string): Promise<WrittenSessionEvent | undefined> {
    checkId(newMainId, 'newMainId')
    return this.#exclusive(async (lock) => {
      const main = this.#readCurrent()
      if (main === newMainId) return undefined
      return this.#moveMain(lock, this.#event(newMainId, 'swapped', main), newMainId)
    })
  }

  /** Logs `cleared` and deletes the current-session file; nothing happens if there is no session. */
  async clear(): Promise<WrittenSessionEvent | undefined> {
    if (this.#settledOn(null)) return undefined
    return this.#exclusive(async (lock) => {
      const main = this.#readCurrent()
      if (main === null) return undefined
      return this.#moveMain(lock, this.#event(main, 'cleared', null), null)
    })
  }

  /** Logs an interactive fork of `parent` (default: the current main session). Once per fork, however often it is called. */
  interactiveFork(forkId: string, parent?: string | null): Promise<WrittenSessionEvent | undefined> {
    return this.#fork('interactive_fork', forkId, parent)
  }

  /** As `interactiveFork`, for a fork that ran in the background. Give `parent` if the main session may have changed since. */
  backgroundFork(forkId: string, parent?: string | null): Promise<WrittenSessionEvent | undefined> {
    return this.#fork('bg_fork', forkId, parent)
  }

  /** Appends one event as it stands; the current-session file is not touched. The time defaults to now. */
  async log(
    event: Omit<WrittenSessionEvent, 'timestamp'> & { timestamp?: string },
  ): Promise<WrittenSessionEvent> {
    const { timestamp = localTimestamp(this.#now()), parent_session_id = null } = event ?? {}
    const whole = checkEvent({ ...event, timestamp, parent_session_id })
    return this.#exclusive(() => this.#append(whole))
  }

  /** All events of the log, in file order. */
  async read(options: ReadOptions = {}): Promise<SessionHistoryEvent[]> {
    await this.#tail
    return readSessionHistory(this.historyPath, options)
  }

  /** Resolves when the calls made so far and the git commits they caused are done. */
  async idle(): Promise<void> {
    await this.#tail
    await this.#git?.idle()
  }

  async #fork(
    kind: 'interactive_fork' | 'bg_fork',
    forkId: string,
    parent: string | null | undefined,
  ): Promise<WrittenSessionEvent | undefined> {
    checkId(forkId, 'forkId')
    if (parent !== undefined && parent !== null) checkId(parent, 'parent')
    if (this.#index.hasFork(kind, forkId)) return undefined
    return this.#exclusive(async () => {
      this.#index.refresh()
      if (this.#index.hasFork(kind, forkId)) return undefined
      const from = parent === undefined ? this.#readCurrent() : parent
      // A stream that already runs as the main session is not a fork of itself.
      if (from === forkId) return undefined
      return this.#append(this.#event(forkId, kind, from))
    })
  }

  /** True when nothing is under way and the current-session file already says so: the usual turn takes no lock. */
  #settledOn(sessionId: string | null): boolean {
    return this.#waitingCount === 0 && !hasIntent(this.#lockPath) && this.#readCurrent() === sessionId
  }

  /** Runs calls one at a time, in order, under the lock, after finishing what a crash left. */
  #exclusive<T>(work: (lock: number) => Promise<T>): Promise<T> {
    this.#waitingCount++
    const turn = this.#tail
      .then(async () => {
        const lock = await openLocked(this.#lockPath, this.#lockTimeoutMs, this.#durable)
        try {
          this.#recover(lock)
          return await work(lock)
        } finally {
          this.#log.release()
          closeSync(lock)
        }
      })
      .finally(() => this.#waitingCount--)
    this.#tail = turn.catch(() => undefined)
    return turn
  }

  #recover(lock: number): void {
    const intent = readIntent(lock)
    if (intent && this.#readCurrent() === intent.from && this.#holds(intent.event, intent.offset)) {
      this.#carryForward(intent.to)
    }
    clearIntent(lock)
  }

  /** Whether the log holds this event at or after `offset`. */
  #holds(event: string, offset: number): boolean {
    if (statPath(this.historyPath) === undefined) return false
    for (const item of readJsonl(this.historyPath, { fromOffset: offset })) {
      if ('record' in item && JSON.stringify(item.record) === event) return true
    }
    return false
  }

  async #moveMain(lock: number, event: WrittenSessionEvent, to: string | null): Promise<WrittenSessionEvent> {
    const from = event.event === 'cleared' ? event.session_id : event.parent_session_id
    const offset = statPath(this.historyPath)?.size ?? 0
    writeIntent(lock, this.#lockPath, { from, to, event: JSON.stringify(event), offset }, this.#durable)
    await this.#append(event)
    try {
      this.#writeCurrent(to)
    } catch (cause) {
      const { code, where } = fromSystem(cause, '', this.currentPath)
      throw new RecollectError(code, 'the change is logged, but the current-session file is behind', {
        where,
        cause,
        hint: 'mend what the cause says; the next call, of any process, brings the file up to date first',
      })
    }
    clearIntent(lock)
    return event
  }

  async #append(event: WrittenSessionEvent): Promise<WrittenSessionEvent> {
    await this.#log.append(encodeEvent(event))
    this.#index.note(event)
    this.#git?.request(event)
    return event
  }

  /** The line may be in memory only, its writer killed before the flush: it must not reach the disk after the file does. */
  #carryForward(to: string | null): void {
    if (this.#durable) syncFile(this.historyPath)
    this.#writeCurrent(to)
  }

  #writeCurrent(to: string | null): void {
    if (to !== null) {
      replaceFile(this.currentPath, to, { durable: this.#durable })
      return
    }
    try {
      unlinkSync(this.currentPath)
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw fromSystem(error, 'cannot delete file', this.currentPath)
    }
    if (this.#durable) syncDirectory(dirname(this.currentPath))
  }

  #readCurrent(): string | null {
    const stats = statPath(this.currentPath)
    if (stats === undefined) return null
    const id = stats.size > MAX_CURRENT_BYTES ? undefined : readText(this.currentPath).trim()
    if (id === '') return null
    if (isSessionId(id)) return id
    throw new RecollectError('CORRUPT', 'the current-session file holds something other than a session id', {
      where: this.currentPath,
      hint: 'put the id there as plain text, or delete the file to begin a new session',
    })
  }

  #event(
    session_id: string,
    event: SessionHistoryEventType,
    parent_session_id: string | null,
  ): WrittenSessionEvent {
    return { session_id, event, timestamp: localTimestamp(this.#now()), parent_session_id }
  }
}

/** Which forks the log holds: they are logged once each. Reads only what is new. */
class LogIndex {
  readonly #path: string
  readonly #forks = new Set<string>()
  #inode = 0
  #offset = 0

  constructor(path: string) {
    this.#path = path
  }

  refresh(): void {
    const stats = statPath(this.#path)
    if (stats === undefined || stats.ino !== this.#inode || stats.size < this.#offset) {
      this.#forks.clear()
      this.#offset = 0
      this.#inode = stats?.ino ?? 0
    }
    if (stats === undefined) return
    for (const item of readJsonl(this.#path, { fromOffset: this.#offset })) {
      // Not past it: the last line may lack its end, and noting an event twice changes nothing.
      this.#offset = item.offset
      const event = 'record' in item ? SessionHistoryEvent.safeParse(item.record).data : undefined
      if (event) this.note(event)
    }
  }

  note({ event: kind, session_id }: SessionHistoryEvent | WrittenSessionEvent): void {
    if (kind === 'interactive_fork' || kind === 'bg_fork') this.#forks.add(`${kind} ${session_id}`)
  }

  hasFork(kind: string, sessionId: string): boolean {
    return this.#forks.has(`${kind} ${sessionId}`)
  }
}

function checkId(id: unknown, what: string): void {
  if (isSessionId(id)) return
  throw new RecollectError('BAD_INPUT', `${what} is not a session id`, {
    where: typeof id === 'string' ? JSON.stringify(id.slice(0, 80)) : what,
    hint: 'an id is text of at most 4,096 characters, without controls or white space at its ends; nothing was written',
  })
}

function readText(path: string): string {
  const fd = openIfThere(path)
  // Deleted since we looked: another process cleared the session.
  if (fd === undefined) return ''
  try {
    return readFileSync(fd, 'utf8')
  } catch (error) {
    throw fromSystem(error, 'cannot read file', path, 'read')
  } finally {
    closeSync(fd)
  }
}

function syncFile(path: string): void {
  try {
    const fd = openSync(path, 'r')
    try {
      fdatasyncSync(fd)
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    throw fromSystem(error, 'cannot flush file', path)
  }
}
