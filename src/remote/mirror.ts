// The copies of another machine's files, and what is known of them: `files/` holds them under their paths there, `state.json`
// which file of the other machine each one is. Both are made anew from that machine if they are lost.
// A kill leaves files that are begun: `state.json` names them before their first byte comes, so that the next copy goes on
// behind what is there, once its last bytes were found equal.
import { closeSync, existsSync, lstatSync, readdirSync, readSync, rmSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import type { AnyAdapter, Source } from '../adapters/adapter.ts'
import { ensureDirectory } from '../files/directory.ts'
import { openLockFile, tryLock, waitLock } from '../files/lock.ts'
import { openForReading, readWhole } from '../files/reading.ts'
import { replaceFile } from '../files/replace.ts'
import type { RemoteFile } from './shell.ts'

/** A file as it was when it was copied; one that is only begun has no time. */
export interface Copied {
  inode: string
  modified: string
}

interface State {
  version: 1
  /** The home directory there. */
  home: string
  copies: Record<string, Copied>
  /** Paths of sessions that were forgotten, and what lies below them: never copied again. */
  forgotten: string[]
}

const MAX_STATE_BYTES = 256 << 20
const LOCK_WAIT_MS = 60_000

export class Mirror {
  readonly directory: string
  readonly files: string
  readonly #fd: number
  #state: State

  private constructor(directory: string, fd: number) {
    this.directory = directory
    this.files = join(directory, 'files')
    this.#fd = fd
    this.#state = readState(this.#stateFile)
  }

  /** Waits while another process copies. */
  static async open(directory: string): Promise<Mirror> {
    ensureDirectory(directory, 0o700, false)
    const path = join(directory, 'lock')
    const fd = openLockFile(path)
    try {
      if (!tryLock(fd, path)) await waitLock(fd, path, LOCK_WAIT_MS)
      return new Mirror(directory, fd)
    } catch (error) {
      closeSync(fd)
      throw error
    }
  }

  close(): void {
    closeSync(this.#fd)
  }

  get #stateFile(): string {
    return join(this.directory, 'state.json')
  }

  save(): void {
    replaceFile(this.#stateFile, JSON.stringify(this.#state))
  }

  /** Where the copy lies. Paths of the other machine are absolute. */
  placeOf(path: string): string {
    return join(this.files, path)
  }

  /** The path on the other machine; undefined for what is no copy of this mirror. */
  remoteOf(place: string): string | undefined {
    return place.startsWith(`${this.files}/`) ? place.slice(this.files.length) : undefined
  }

  /** Where bytes wait until all have come. */
  get arriving(): string {
    return join(this.directory, 'arriving')
  }

  set home(path: string) {
    this.#state.home = path
  }

  copyOf(path: string): Copied | undefined {
    return this.#state.copies[path]
  }

  paths(): string[] {
    return Object.keys(this.#state.copies)
  }

  note({ path, inode, modified }: RemoteFile, isWhole: boolean): void {
    this.#state.copies[path] = { inode, modified: isWhole ? modified : '' }
  }

  drop(path: string): void {
    delete this.#state.copies[path]
    rmSync(this.placeOf(path), { force: true })
  }

  /** Until they are noted again: a kill meanwhile leaves files that are copied anew. */
  forgetCopy(paths: readonly string[]): void {
    for (const path of paths) delete this.#state.copies[path]
    this.save()
  }

  isForgotten(path: string): boolean {
    return this.#state.forgotten.some((gone) => path === gone || path.startsWith(`${gone}/`))
  }

  /**
   * Removes the copies of a session for good: its sources, what is read beside them, and the folder that has a source's name;
   * then folders in which no session is left.
   */
  forget(sources: readonly Source[], adapters: readonly AnyAdapter[]): void {
    const gone = new Set<string>()
    const roots = adapters.flatMap((one) => one.roots({ HOME: this.placeOf(this.#state.home) }))
    const isBelowRoot = (folder: string): boolean => roots.some((root) => folder.startsWith(`${root}/`))
    for (const { path, companions = [], isShared } of sources) {
      // A file of many sessions stays, and so does what the memory never reads again in it.
      if (isShared) continue
      for (const one of [path, path.replace(/\.[^./]+$/, ''), ...companions]) {
        const remote = this.remoteOf(one)
        if (remote !== undefined && (one === path || existsSync(one))) gone.add(remote)
      }
      for (let folder = dirname(path); isBelowRoot(folder); folder = dirname(folder)) {
        if (!existsSync(folder) || !this.#isOnlyOf(folder, gone, adapters)) break
        gone.add(this.remoteOf(folder) as string)
      }
    }
    this.#state.forgotten = [...new Set([...this.#state.forgotten, ...gone])]
    // Written first: a kill then leaves files that the next copy removes.
    this.save()
    this.removeForgotten()
  }

  removeForgotten(): void {
    for (const path of this.#state.forgotten) rmSync(this.placeOf(path), { recursive: true, force: true })
    for (const path of this.paths()) if (this.isForgotten(path)) delete this.#state.copies[path]
    this.save()
  }

  /** Whether no other session lies in a folder. */
  #isOnlyOf(folder: string, gone: ReadonlySet<string>, adapters: readonly AnyAdapter[]): boolean {
    return readdirSync(folder, { recursive: true, withFileTypes: true }).every((entry) => {
      const path = join(entry.parentPath, entry.name)
      const isGone = [...gone].some((one) => `${path}/`.startsWith(`${this.placeOf(one)}/`))
      return isGone || !entry.isFile() || adapters.every((one) => !one.claim(path, true))
    })
  }
}

/** Nothing, where there is none: then everything is copied again. */
function readState(path: string): State {
  const empty: State = { version: 1, home: '', copies: {}, forgotten: [] }
  if (!existsSync(path)) return empty
  const state = JSON.parse(readWhole(path, MAX_STATE_BYTES).toString('utf8')) as State
  return { ...empty, ...state }
}

/** The last bytes of a copy. */
export function tailOf(place: string, size: number, length: number): Buffer {
  const fd = openForReading(place)
  try {
    const bytes = Buffer.alloc(Math.min(length, size))
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, size - bytes.length))
  } finally {
    closeSync(fd)
  }
}

export const sizeAt = (place: string): number | undefined => {
  const stats = lstatSync(place, { throwIfNoEntry: false })
  return stats?.isFile() ? stats.size : undefined
}

/** Whether a path can be a name of ours as it is: absolute, without `..`, and nothing to be read two ways. */
export const isPlain = (path: string): boolean =>
  path.startsWith('/') && posix.normalize(path) === path && !path.includes('\0')
