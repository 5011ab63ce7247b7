// Watches directory trees: one watch per directory, none per file, so that tens of thousands of transcripts cost some
// hundred watches and nothing at all while nobody writes. Tells paths where something happened; what it means is the
// sweep's business. A root may be absent, vanish and come back.
import { type FSWatcher, lstatSync, readdirSync, type Stats, statSync, watch } from 'node:fs'
import { basename, dirname, join, sep } from 'node:path'
import { errnoOf } from '../errors.ts'
import { isPassedOver } from './discover.ts'

export interface TreeEvents {
  /** Something happened at a path: it was written, came, or went. */
  onTouched: (path: string) => void
  /** From now on some directories are not watched, and why. Told once per reason. */
  onBlind: (reason: string) => void
  /** A link on the way to a root was replaced: the roots may lie elsewhere now. */
  onMoved?: () => void
}

interface Watched {
  watcher: FSWatcher
  /** A directory that is deleted and made again is another one, often with the same inode, and the old watch is deaf. */
  identity: string
}

const MAX_DEPTH = 16

export class TreeWatcher {
  readonly #roots: readonly string[]
  readonly #events: TreeEvents
  readonly #trees = new Map<string, Watched>()
  /** Directories above the roots, in which a root, or the way to it, may come or go. */
  readonly #approaches = new Map<string, Watched>()
  /** Of the directories that hold the links. */
  readonly #links: FSWatcher[] = []
  readonly #reasons = new Set<string>()

  constructor(roots: readonly string[], events: TreeEvents, links: readonly string[] = []) {
    this.#roots = roots
    this.#events = events
    for (const root of roots) this.#approach(root)
    for (const link of links) this.#watchLink(link)
  }

  get directoryCount(): number {
    return this.#trees.size
  }

  close(): void {
    for (const { watcher } of this.#trees.values()) watcher.close()
    for (const { watcher } of this.#approaches.values()) watcher.close()
    for (const watcher of this.#links) watcher.close()
    this.#trees.clear()
    this.#approaches.clear()
  }

  /** Watches the root if it is there, and in any case the nearest directory above it that is. */
  #approach(root: string): void {
    this.#addTree(root, 0)
    let above = dirname(root)
    while (!this.#watchApproach(above) && above !== dirname(above)) above = dirname(above)
  }

  /** Whether a directory above a root is there, and so watched. */
  #watchApproach(directory: string): boolean {
    const known = this.#approaches.get(directory)
    const identity = identityOf(statsOf(directory))
    if (known && known.identity === identity) return true
    known?.watcher.close()
    this.#approaches.delete(directory)
    if (identity === undefined) return false
    const watcher = this.#open(directory, (name) => {
      const isHere = statsOf(directory) !== undefined
      // Whatever happens beside the way to a root does not concern us.
      const path = isHere ? join(directory, name) : directory
      for (const root of this.#roots.filter((one) => isOnTheWay(path, one))) {
        this.#approach(root)
        this.#events.onTouched(root)
      }
    })
    if (watcher) this.#approaches.set(directory, { watcher, identity })
    return watcher !== undefined
  }

  #watchLink(link: string): void {
    const watcher = this.#open(dirname(link), (name) => {
      if (name === basename(link)) this.#events.onMoved?.()
    })
    if (watcher) this.#links.push(watcher)
  }

  /** First the watch, then the list: what is made in between is seen by one or the other. */
  #addTree(directory: string, depth: number): void {
    this.#check(directory)
    if (depth > MAX_DEPTH || this.#trees.has(directory)) return
    const stats = this.#look(directory)
    const identity = identityOf(stats)
    if (identity === undefined || !stats?.isDirectory()) return
    const watcher = this.#open(directory, (name) => this.#happened(directory, name, depth))
    if (!watcher) return
    this.#trees.set(directory, { watcher, identity })
    for (const name of directoriesIn(directory)) this.#addTree(join(directory, name), depth + 1)
  }

  #happened(directory: string, name: string, depth: number): void {
    const path = name === '' ? directory : join(directory, name)
    // The last thing a directory says of itself, under its own name, is that it is gone.
    if (!statsOf(directory)) this.#check(directory)
    else if (name !== '') this.#addTree(path, depth + 1)
    this.#events.onTouched(path)
  }

  /** Gives up the watches of a directory that is gone, or another one by now, and of all below it. */
  #check(directory: string): void {
    const known = this.#trees.get(directory)
    if (!known || identityOf(this.#look(directory)) === known.identity) return
    for (const [path, { watcher }] of this.#trees) {
      if (path !== directory && !path.startsWith(directory + sep)) continue
      watcher.close()
      this.#trees.delete(path)
    }
  }

  /** A root may be a link, as for a sweep; below it none is followed. */
  #look(directory: string): Stats | undefined {
    return statsOf(directory, this.#roots.includes(directory))
  }

  #open(directory: string, onEvent: (name: string) => void): FSWatcher | undefined {
    try {
      const watcher = watch(directory, (_, name) => onEvent(name ?? ''))
      watcher.on('error', () => watcher.close())
      return watcher
    } catch (error) {
      const errno = errnoOf(error)
      // Gone meanwhile, or no directory: then there is nothing to miss.
      if (errno !== 'ENOENT' && errno !== 'ENOTDIR') this.#tell(errno, directory)
      return undefined
    }
  }

  #tell(errno: string | undefined, directory: string): void {
    const isLimit = errno === 'ENOSPC' || errno === 'EMFILE' || errno === 'ENFILE'
    const reason = isLimit
      ? `the system's limit of watches is reached (${errno}): raise fs.inotify.max_user_watches or max_user_instances`
      : `cannot watch ${directory}: ${errno}`
    if (this.#reasons.has(isLimit ? 'limit' : reason)) return
    this.#reasons.add(isLimit ? 'limit' : reason)
    this.#events.onBlind(reason)
  }
}

const isOnTheWay = (path: string, root: string): boolean => path === root || root.startsWith(path + sep)

const identityOf = (stats: Stats | undefined): string | undefined =>
  stats && `${stats.dev}:${stats.ino}:${stats.birthtimeMs}`

function statsOf(path: string, isFollowed = false): Stats | undefined {
  try {
    return (isFollowed ? statSync : lstatSync)(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function directoriesIn(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true })
    return entries
      .filter((entry) => entry.isDirectory() && !isPassedOver(entry.name))
      .map((entry) => entry.name)
  } catch {
    return []
  }
}
