// Tells the pages that are open what changed. Whoever commits to the memory (a sweep of this or any other process) writes
// to its files; the directories are watched, so nothing is asked while nothing happens.
import { existsSync, type FSWatcher, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import type { Brief } from '../../query/briefs.ts'
import type { SweepProgress } from '../../store/sweep-lock.ts'
import type { Memory } from './memory.ts'

export type Told =
  /** Sessions that are new or grew, as lists show them. */
  | { event: 'change'; sessions: Brief[] }
  /** The memory cannot be read. */
  | { event: 'problem'; error: unknown }
  /** How far the sweep is that the page set off; null when it ended. */
  | { event: 'sweep'; progress: SweepProgress | null }

type Listener = (told: Told) => void

/** Several writes make one commit, and several commits one sweep. */
const SETTLE_MS = 120
const MAX_WAIT_MS = 600
const MAX_SESSIONS = 200

export class Live {
  readonly #memory: Memory
  readonly #listeners = new Set<Listener>()
  readonly #watchers = new Map<string, FSWatcher>()
  #timer: NodeJS.Timeout | undefined
  #firstAt = 0

  constructor(memory: Memory) {
    this.#memory = memory
  }

  /** Watching begins with the first listener and ends with the last. */
  listen(listener: Listener): () => void {
    if (this.#listeners.size === 0) this.#start()
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.close()
    }
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  /** Another value after every commit; nothing where there is no memory yet, or none that can be read. */
  version(): string {
    try {
      return encodeURIComponent(this.#memory.version())
    } catch {
      return ''
    }
  }

  #start(): void {
    // Watched first: what is committed meanwhile is told, and not taken for known.
    this.#watch()
    try {
      this.#memory.refresh()
    } catch {
      // It cannot be read now; a change may mend that, and readers are told when they ask.
    }
  }

  /** The cache's directory may appear later, or be removed and made again. */
  #watch(): void {
    const { memoryPath, cacheDirectory } = this.#memory.paths
    for (const directory of new Set([dirname(memoryPath), cacheDirectory])) {
      if (this.#watchers.has(directory) || !existsSync(directory)) continue
      const watcher = watch(directory, (_event, name) => this.#touched(name))
      const forget = (): void => {
        watcher.close()
        this.#watchers.delete(directory)
      }
      watcher.on('error', forget)
      this.#watchers.set(directory, watcher)
    }
  }

  #touched(name: string | null): void {
    const { memoryPath, cacheDirectory } = this.#memory.paths
    const names = [basename(memoryPath), 'cache.db', basename(cacheDirectory)]
    if (name !== null && !names.some((one) => name.startsWith(one))) return
    const now = Date.now()
    if (this.#timer === undefined) this.#firstAt = now
    clearTimeout(this.#timer)
    const wait = Math.max(0, Math.min(SETTLE_MS, this.#firstAt + MAX_WAIT_MS - now))
    this.#timer = setTimeout(() => this.#settled(), wait)
  }

  #settled(): void {
    this.#timer = undefined
    this.#watch()
    this.tell(this.#change())
  }

  #change(): Told | undefined {
    try {
      const uids = this.#memory.refresh()
      if (uids.length === 0) return undefined
      const sessions = uids.slice(0, MAX_SESSIONS).flatMap((uid) => this.#memory.brief(uid) ?? [])
      return { event: 'change', sessions }
    } catch (error) {
      return { event: 'problem', error }
    }
  }

  tell(told: Told | undefined): void {
    if (told) for (const listener of this.#listeners) listener(told)
  }
}
