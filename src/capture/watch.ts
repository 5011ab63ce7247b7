// `recollect watch`: sweeps what was touched soon after it was touched. The tree watcher only says where; a sweep is what
// makes it true, so a missed event costs delay and never data: once a day everything is looked at, and oftener where
// some directories cannot be watched.
import { closeSync, constants, openSync, unlinkSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { openLockFile, tryLock } from '../files/lock.ts'
import { rootLinks, rootPaths } from '../sources/discover.ts'
import { extraRoots } from '../sources/roots.ts'
import { SOCKET, SPOOL } from '../sources/spool-files.ts'
import { type TreeEvents, TreeWatcher } from '../sources/watch.ts'
import { type SweepOptions, sweep } from '../sweep/index.ts'
import type { SweepReport } from '../sweep/report.ts'

export type WatchEvent =
  | { event: 'watching'; directories: number; roots: string[] }
  | { event: 'swept'; report: SweepReport }
  | { event: 'blind'; reason: string }
  | { event: 'failed'; error: Error; retryMs: number }

export interface WatchOptions extends Omit<SweepOptions, 'touched' | 'trigger' | 'full'> {
  signal: AbortSignal
  onWatch: (event: WatchEvent) => void
}

/** One write is followed by others; and hooks run before the last line is written. */
const SETTLE_MS = 1000
/** Everything is looked at this often, whatever was touched; and this often where we are partly blind. */
const FULL_MS = 86_400_000
const BLIND_MS = 300_000
/** After a sweep that failed, or found another one running. */
const RETRY_MS = 1000
const MAX_RETRY_MS = 300_000
/** A timer that is set for longer ends at once. */
const MAX_TIMER_MS = 2 ** 31 - 1
/** More paths than this are not worth telling apart. */
const MAX_TOUCHED = 10_000
/** Held by the watcher as long as it runs. */
const LOCK = 'watch.lock'

/** Runs until the signal comes. Throws BUSY when this memory is already being watched. */
export async function watchSources(options: WatchOptions): Promise<void> {
  const unlock = takeWatchLock(options.config.home)
  const loop = new Loop(options)
  const server = listen(options.config.home, () => loop.wake())
  try {
    await loop.run()
  } finally {
    server.close()
    unlock()
  }
}

class Loop {
  readonly #options: WatchOptions
  readonly #touched = new Set<string>()
  /** Set when more is due than what was touched. */
  #isAll = true
  #isAsked = false
  #isBlind = false
  /** The roots have to be looked up again. */
  #isMoved = false
  #retryMs = 0
  // By the clock that nobody sets: one that is set back must not make us wait until then.
  #sweptAt = 0
  #sweptAllAt = 0
  #wakeUp: () => void = () => undefined

  constructor(options: WatchOptions) {
    this.#options = options
    options.signal.addEventListener('abort', () => this.#wakeUp())
  }

  /** Hooks have something to say. */
  wake(): void {
    this.#isAsked = true
    this.#wakeUp()
  }

  async run(): Promise<void> {
    const { signal } = this.#options
    // Before the first sweep: what is written while it runs is seen as well.
    let tree = this.#watch()
    try {
      while (!signal.aborted) {
        await this.#sweepOnce()
        await this.#untilDue()
        if (!this.#isMoved) continue
        tree.close()
        tree = this.#watch()
      }
    } finally {
      tree.close()
    }
  }

  #watch(): TreeWatcher {
    const { adapters, env, config, onWatch } = this.#options
    const more = extraRoots(config, adapters)
    const roots = rootPaths(adapters, env, more)
    this.#isMoved = false
    const events: TreeEvents = {
      onTouched: (path) => this.#touch(path),
      onBlind: (reason) => {
        this.#isBlind = true
        onWatch({ event: 'blind', reason })
      },
      onMoved: () => {
        this.#isMoved = true
        this.#isAll = true
        this.#wakeUp()
      },
    }
    const tree = new TreeWatcher(roots, events, rootLinks(adapters, env, more))
    onWatch({ event: 'watching', directories: tree.directoryCount, roots })
    return tree
  }

  #touch(path: string): void {
    if (this.#touched.size < MAX_TOUCHED) this.#touched.add(path)
    else this.#isAll = true
    this.#wakeUp()
  }

  async #sweepOnce(): Promise<void> {
    const { onWatch } = this.#options
    const touched = [...this.#touched]
    const isAll = this.#isAll
    this.#touched.clear()
    this.#isAll = false
    this.#isAsked = false
    this.#sweptAt = performance.now()
    try {
      const report = await sweep({ ...this.#options, trigger: 'hook', ...(isAll ? {} : { touched }) })
      this.#retryMs = 0
      if (report.isFull) this.#sweptAllAt = this.#sweptAt
      onWatch({ event: 'swept', report })
    } catch (error) {
      for (const path of touched) this.#touched.add(path)
      this.#isAll ||= isAll
      this.#retryMs = Math.min(Math.max(RETRY_MS, this.#retryMs * 2), MAX_RETRY_MS)
      // Another sweep will have seen most of it; ours then finds nothing to do.
      const isBusy = error instanceof RecollectError && error.code === 'BUSY'
      if (!isBusy) onWatch({ event: 'failed', error: error as Error, retryMs: this.#retryMs })
    }
  }

  /** Sleeps without a timer that ticks: until something happens, and then for as long as it is too early. */
  async #untilDue(): Promise<void> {
    const { config, signal } = this.#options
    const hasWork = (): boolean => this.#touched.size > 0 || this.#isAll || this.#isAsked
    while (!hasWork() && !signal.aborted) {
      if (this.#toAll() <= 0) this.#isAll = true
      else await this.#sleep(this.#toAll())
    }
    const distance = Math.max(config.get('capture.interval'), this.#retryMs)
    const dueAt = Math.max(performance.now() + SETTLE_MS, this.#sweptAt + distance)
    while (!signal.aborted && performance.now() < dueAt) await this.#sleep(dueAt - performance.now())
    // Also when there is always something touched.
    this.#isAll ||= this.#toAll() <= 0
  }

  /** How long until everything is to be looked at again. */
  #toAll(): number {
    return this.#sweptAllAt + (this.#isBlind ? BLIND_MS : FULL_MS) - performance.now()
  }

  async #sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      // The moment may have come since it was looked at: Node 24 warns of a timer below nought.
      const timer = setTimeout(resolve, Math.min(Math.max(0, ms), MAX_TIMER_MS))
      this.#wakeUp = () => {
        clearTimeout(timer)
        resolve()
      }
    })
    this.#wakeUp = () => undefined
  }
}

/** Whether a watcher is running for this memory; looks without leaving anything. */
export function isWatched(home: string): boolean {
  const path = join(home, LOCK)
  let fd: number
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)
  } catch {
    return false
  }
  try {
    return !tryLock(fd, path)
  } finally {
    closeSync(fd)
  }
}

function takeWatchLock(home: string): () => void {
  ensureDirectory(home, 0o700, false)
  const path = join(home, LOCK)
  const fd = openLockFile(path)
  if (tryLock(fd, path)) return () => closeSync(fd)
  closeSync(fd)
  throw new RecollectError('BUSY', 'this memory is already being watched', {
    where: path,
    hint: 'one watcher is enough; find it with fuser or lslocks',
  })
}

/** Hooks connect here and say nothing: that we answer is what keeps them from starting sweeps of their own. */
function listen(home: string, onAsked: () => void): Server {
  const path = join(home, SPOOL, SOCKET)
  ensureDirectory(join(home, SPOOL), 0o700, false)
  try {
    // Left by a watcher that was killed; we hold its lock.
    unlinkSync(path)
  } catch {
    // There was none.
  }
  const server = createServer((connection) => {
    connection.on('error', () => undefined)
    connection.destroy()
    onAsked()
  })
  // Where a path is too long for a socket, hooks start sweeps of their own; the lock keeps those harmless.
  server.on('error', () => undefined)
  return server.listen(path)
}
