// A memory that a server holds open. Closing does not free what the driver has: a connection lives on, with its files and
// pages, until its statements are collected as garbage. So one is kept, and opened again only where its files were
// replaced or another version of this program has changed their schema.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Database, prepared } from './database.ts'
import { databasesOf } from './databases.ts'
import { type Reader, readerOf } from './reader/index.ts'
import { bodiesIn, type OpenReader, openForReading, type StorePaths } from './reading.ts'

interface Held {
  opened: OpenReader
  handle: Reader
  files: string
  /** What was committed when it was last asked for. */
  commits: string
  schemas: string
}

export class SharedReader {
  readonly paths: StorePaths
  #held: Held | undefined

  constructor(paths: StorePaths) {
    this.paths = paths
  }

  /** Throws NO_MEMORY where nothing was ever swept, CORRUPT where it cannot be read. */
  handle(): Reader {
    return this.#current().handle
  }

  /** Another value after every commit, by whatever process; what stands before the space after every change of files. */
  version(): string {
    const { files, commits } = this.#current()
    return `${files} ${commits}`
  }

  /** Gives the pages back that the last question has read: between two of them may lie days. */
  rest(): void {
    if (this.#held) both(this.#held.opened, (database) => database.exec('PRAGMA shrink_memory'))
  }

  close(): void {
    this.#held?.opened.close()
    this.#held = undefined
  }

  #current(): Held {
    const files = filesOf(this.paths)
    let held = this.#held
    if (held?.files === files) {
      const commits = pragmas(held.opened, 'data_version')
      if (commits === held.commits) return held
      // Bodies may lie elsewhere now: what was read of them is no longer worth keeping.
      if (pragmas(held.opened, 'user_version') === held.schemas) {
        const databases = databasesOf(held.opened)
        const bodies = bodiesIn(databases, join(this.paths.cacheDirectory, 'blobs'))
        return Object.assign(held, { commits, handle: readerOf(databases, bodies) })
      }
    }
    // Not closed: another question may be waiting in the middle of its answer.
    this.#held = undefined
    const opened = openForReading(this.paths)
    held = {
      opened,
      handle: opened,
      files,
      commits: pragmas(opened, 'data_version'),
      schemas: pragmas(opened, 'user_version'),
    }
    this.#held = held
    return held
  }
}

function both<T>(opened: OpenReader, ask: (database: Database) => T): T[] {
  const { memory, cache } = databasesOf(opened)
  return [memory, cache].map(ask)
}

const pragmas = (opened: OpenReader, name: 'data_version' | 'user_version'): string =>
  both(opened, (database) => Object.values(prepared(database, `PRAGMA ${name}`).get() ?? {})).join('/')

/** Which files these are: a memory that was removed and made anew has others, if often under the same numbers. */
const filesOf = ({ memoryPath, cacheDirectory }: StorePaths): string =>
  [memoryPath, join(cacheDirectory, 'cache.db')]
    .map((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? `${found.ino}:${found.birthtimeMs}` : ''
    })
    .join('/')
