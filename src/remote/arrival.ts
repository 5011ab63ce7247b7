// Bytes on their way to a copy: behind what is there, into a new file, or beside the old one until all have come.
import {
  closeSync,
  constants,
  copyFileSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { fromSystem } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { sizeAt, tailOf } from './mirror.ts'

export interface ArrivalOptions {
  place: string
  /** Where bytes wait that take the place of others. */
  beside: string
  /** How much is there already, and how much of its end comes again, to be compared. */
  size?: number
  overlap?: number
  /** The file stays the one it was, with other bytes: a database is read on from where it was. */
  isInPlace?: boolean
}

export class Arrival {
  readonly #place: string
  /** Where bytes are written: the place itself, or beside it. */
  readonly #path: string
  readonly #size: number
  readonly #fd: number
  readonly #known: Buffer
  readonly #isInPlace: boolean
  #seen = 0
  #at: number
  /** What is there is not the beginning of what comes. */
  isOther = false

  constructor({ place, beside, size = 0, overlap = 0, isInPlace }: ArrivalOptions) {
    this.#place = place
    this.#size = size
    this.#at = size
    this.#isInPlace = isInPlace ?? false
    ensureDirectory(dirname(place), 0o700, false)
    this.#known = overlap === 0 ? Buffer.alloc(0) : tailOf(place, size, overlap)
    const isThere = sizeAt(place) !== undefined
    this.#path = size > 0 || !(isThere || isInPlace) ? place : beside
    const how = size > 0 ? 0 : constants.O_CREAT | constants.O_TRUNC
    this.#fd = openSync(this.#path, constants.O_WRONLY | constants.O_NOFOLLOW | how, 0o600)
  }

  take(bytes: Buffer): void {
    const old = bytes.subarray(0, Math.max(0, this.#known.length - this.#seen))
    if (!old.equals(this.#known.subarray(this.#seen, this.#seen + old.length))) this.isOther = true
    this.#seen += bytes.length
    try {
      for (let rest = bytes.subarray(old.length); rest.length > 0 && !this.isOther; ) {
        const count = writeSync(this.#fd, rest, 0, rest.length, this.#at)
        this.#at += count
        rest = rest.subarray(count)
      }
    } catch (error) {
      throw fromSystem(error, 'cannot write the copy', this.#path)
    }
  }

  finish(modified: string): true {
    closeSync(this.#fd)
    const at = Number(modified)
    utimesSync(this.#path, at, at)
    if (this.#path === this.#place) return true
    // A file that is begun has to stay that file where reading goes on in it.
    if (this.#isInPlace && sizeAt(this.#place) !== undefined) {
      copyFileSync(this.#path, this.#place)
      utimesSync(this.#place, at, at)
      rmSync(this.#path)
    } else renameSync(this.#path, this.#place)
    return true
  }

  /** The copy is as it was. */
  undo(): void {
    if (this.#path === this.#place && this.#size > 0) ftruncateSync(this.#fd, this.#size)
    closeSync(this.#fd)
    if (this.#size === 0) rmSync(this.#path, { force: true })
  }
}
