// Databases of other programs, read without touching them: no byte of theirs changes, and nothing new lies beside them.
// One that its program has closed (no log beside it) is read where it lies, as a file that does not change. Of any other a
// private copy is read, which goes from its directory as soon as it is open: a kill leaves nothing behind.
import { lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fromSystem } from '../errors.ts'
import { readBeginning, sizeOf } from '../files/reading.ts'
import { copyDatabase } from './copy.ts'
import { connect, type Database } from './driver.ts'

const IS_TABLE = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ? AND sql NOT LIKE 'CREATE VIRTUAL%'`

type Statement = ReturnType<Database['prepare']>
export type Value = string | number | bigint | Uint8Array | null
export type Row = Record<string, Value>

export interface ForeignDatabase {
  /** Rows one after another: never more than one is held. */
  rows(sql: string, ...values: (string | number | null)[]): Iterable<Row>
  /**
   * Whether it has a table, with these columns if any are named: programs of other versions have others. A view is none: whoever
   * put one there may have made it endless.
   */
  has(table: string, ...columns: string[]): boolean
  /** False once its program has written to a file that is read where it lies: what was read since may be of two minds. */
  isStill(): boolean
  close(): void
}

/** A schema may name functions, and a foreign one is not to be trusted with any. */
const CAREFUL = 'PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -8192'

/** Throws what SQLite throws where the file is no database, or a damaged one: see `isSqliteError`. */
export function openForeign(path: string): ForeignDatabase {
  const isCopy = hasLog(path)
  const before = stateOf(path)
  const database = isCopy ? openCopy(path) : openInPlace(path)
  /** Compiled, by their text; one that is being walked through is not among them. */
  const idle = new Map<string, Statement[]>()
  return {
    *rows(sql, ...values) {
      const waiting = idle.get(sql) ?? []
      idle.set(sql, waiting)
      const statement = waiting.pop() ?? database.prepare(sql)
      try {
        for (const row of statement.iterate(...values)) yield row as Row
      } finally {
        waiting.push(statement)
      }
    },
    has(table, ...columns) {
      if (database.prepare(IS_TABLE).get(table) === undefined) return false
      const found = database.prepare('SELECT name FROM pragma_table_info(?)').all(table)
      const names = found.map((row) => (row as { name: string }).name)
      return names.length > 0 && columns.every((name) => names.includes(name))
    },
    isStill: () => isCopy || stateOf(path) === before,
    close: () => database.close(),
  }
}

export const isSqliteError = (error: unknown): boolean =>
  (error as { code?: unknown } | null)?.code === 'ERR_SQLITE_ERROR'

const hasLog = (path: string): boolean => sizeOf(`${path}-wal`) > 0 || sizeOf(`${path}-journal`) > 0

function stateOf(path: string): string {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false })
  return stats ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : ''
}

function openInPlace(path: string): Database {
  // A link or a pipe is refused here: SQLite would open either.
  if (readBeginning(path, 0).size === 0) return connect(':memory:')
  const url = pathToFileURL(path)
  url.search = '?immutable=1'
  return prepared(connect(url, { readOnly: true }))
}

function openCopy(path: string): Database {
  let directory: string
  try {
    directory = mkdtempSync(join(tmpdir(), 'recollect-db-'))
  } catch (error) {
    throw fromSystem(error, 'cannot make room for a copy of the database', tmpdir())
  }
  try {
    const database = connect(copyDatabase(path, directory))
    // In exclusive mode SQLite needs no file for shared memory.
    database.exec('PRAGMA locking_mode = EXCLUSIVE')
    return prepared(database)
  } catch (error) {
    throw isSqliteError(error) ? error : fromSystem(error, 'cannot copy the database', path)
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Has read its first page, and with it opened all of its files. */
function prepared(database: Database): Database {
  try {
    database.exec(CAREFUL)
    database.prepare('SELECT count(*) FROM sqlite_schema').get()
    database.exec('PRAGMA query_only = ON')
    return database
  } catch (error) {
    database.close()
    throw error
  }
}
