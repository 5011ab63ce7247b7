// Opens our SQLite files: pragmas, migrations.
import { chmodSync, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fromSqlite, notAFile, RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { connect, type Database } from '../sqlite/driver.ts'

export type { Database } from '../sqlite/driver.ts'
export type Statement = ReturnType<Database['prepare']>

/** One step of a schema: statements, or what has to look first. */
export type Migration = string | ((database: Database) => void)

export interface OpenOptions {
  readOnly?: boolean
  /** What a writer keeps of it in memory; 8 MB unless told. */
  cacheBytes?: number
}

/** Opens a database and brings its schema up to date; a newer schema than ours is refused, not touched. */
export function openDatabase(
  path: string,
  migrations: readonly Migration[],
  options: OpenOptions = {},
): Database {
  const isNew = !existsSync(path)
  if (isNew && options.readOnly) throw noMemory(path)
  // At a pipe SQLite would wait for ever.
  if (!isNew && !statSync(path).isFile()) throw notAFile(path)
  if (!options.readOnly) ensureDirectory(dirname(path), 0o700, false)
  try {
    if (options.readOnly) return openToRead(path, migrations.length)
    const database = connect(path)
    if (isNew) chmodSync(path, 0o600)
    database.exec(PATIENCE)
    // Evicted bytes must leave the file: what is freed is overwritten, and free pages can be given back. Only a new file
    // takes the second setting. FAST would leave old words in pages that are used again.
    database.exec('PRAGMA secure_delete = ON; PRAGMA auto_vacuum = INCREMENTAL')
    // FULL: whatever moves a cursor, a watermark or a tombstone must survive a power cut (WAL + NORMAL lost commits).
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    const { cacheBytes = 8 << 20 } = options
    database.exec(`PRAGMA cache_size = -${cacheBytes >> 10}; PRAGMA temp_store = MEMORY`)
    migrate(database, migrations, path)
    return database
  } catch (error) {
    throw fromSqlite(error, 'cannot open the database', path)
  }
}

const noMemory = (path: string): RecollectError =>
  new RecollectError('NO_MEMORY', 'there is no memory here yet', {
    where: path,
    hint: 'run: recollect sweep',
  })

/** A reader meets a commit in progress for a moment only; waiting beats failing. */
const PATIENCE = 'PRAGMA busy_timeout = 10000'

function openToRead(path: string, known: number): Database {
  const opened = (database: Database): Database => {
    try {
      // A search looks at some hundred pages; the 2 MB SQLite takes by itself hold fewer.
      database.exec(`${PATIENCE}; PRAGMA cache_size = -16384`)
      refuseOther(database, known, path)
      return database
    } catch (error) {
      database.close()
      throw error
    }
  }
  try {
    return opened(connect(path, { readOnly: true }))
  } catch (error) {
    if (!isOnlyReadable(error, path)) throw error
    const url = pathToFileURL(path)
    url.search = '?immutable=1'
    return opened(connect(url, { readOnly: true }))
  }
}

/**
 * A backup, a read-only file system, somebody else's memory: SQLite wants to write beside a database even to read it. Where
 * no log lies there, nobody has it open and all of it is in the file, which can be read as one that does not change.
 */
function isOnlyReadable(error: unknown, path: string): boolean {
  const code = ((error as { errcode?: number }).errcode ?? 0) & 0xff
  return (code === 8 || code === 14) && (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0
}

/** One in memory that holds the tables and nothing else. */
export function emptyDatabase(migrations: readonly Migration[]): Database {
  const database = connect(':memory:')
  migrate(database, migrations, ':memory:')
  return database
}

function version(database: Database): number {
  return (database.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
}

function refuseOther(database: Database, known: number, path: string): void {
  const found = version(database)
  if (found === known) return
  // The sweep that made the file was stopped before its first commit.
  if (found === 0) throw noMemory(path)
  const [age, hint] =
    found > known
      ? ['a newer', 'use the newer recollect that wrote it']
      : ['an older', 'recollect sweep brings it up to date']
  throw new RecollectError(
    'OTHER_SCHEMA',
    `${age} recollect wrote this memory: it has schema ${found}, this program knows ${known}`,
    { where: path, hint },
  )
}

function migrate(database: Database, migrations: readonly Migration[], path: string): void {
  const found = version(database)
  if (found > migrations.length) refuseOther(database, migrations.length, path)
  const takeAll = (): void => takeSteps(database, migrations)
  try {
    // A new file has all of its tables or none.
    if (found === 0) transaction(database, takeAll)
    else takeAll()
  } catch (error) {
    throw found === 0 ? error : notUpToDate(error, version(database), migrations.length)
  }
}

/** One transaction per step: a kill or a full disk leaves the step before or the step after. */
function takeSteps(database: Database, migrations: readonly Migration[]): void {
  for (let from = version(database); from < migrations.length; from++) {
    transaction(database, () => {
      if (version(database) !== from) return
      apply(database, migrations[from] as Migration)
      database.exec(`PRAGMA user_version = ${from + 1}`)
    })
  }
}

/** Whoever meets this has a memory already, and wants to know what became of it. */
function notUpToDate(error: unknown, from: number, to: number): unknown {
  if (!(error instanceof RecollectError) || error.code !== 'DISK_FULL') return error
  const { code, where, cause } = error
  return new RecollectError(
    code,
    `no room to bring the database from schema ${from} to ${to}, which this program needs`,
    {
      where,
      cause,
      hint: 'free some space, then run: recollect sweep. Nothing is lost, and it goes on from there',
    },
  )
}

function apply(database: Database, step: Migration): void {
  if (typeof step === 'string') database.exec(step)
  else step(database)
}

const statements = new WeakMap<Database, Map<string, Statement>>()

/** A statement compiled once per database, for questions that are asked again and again; not for `iterate`. */
export function prepared(database: Database, sql: string): Statement {
  const known = statements.get(database) ?? new Map<string, Statement>()
  statements.set(database, known)
  let statement = known.get(sql)
  if (!statement) {
    statement = database.prepare(sql)
    // Filters make texts of their own: the odd ones are not kept for ever.
    if (known.size >= MAX_STATEMENTS) known.clear()
    known.set(sql, statement)
  }
  return statement
}

const MAX_STATEMENTS = 200

type Value = Parameters<Statement['all']>[number]

/** All rows of a question that is asked again and again. */
export const rows = <T>(database: Database, sql: string, ...values: Value[]): T[] =>
  prepared(database, sql).all(...values) as unknown as T[]

/** The first column of them. */
export const firstColumn = <T>(database: Database, sql: string, ...values: Value[]): T[] =>
  rows<Record<string, T>>(database, sql, ...values).map((one) => Object.values(one)[0] as T)

/** Its first row. */
export const row = <T>(database: Database, sql: string, ...values: Value[]): T | undefined =>
  prepared(database, sql).get(...values) as T | undefined

/** Runs `work` in a transaction that is rolled back if it throws; within one that is open, as a part of it. */
export function transaction<T>(database: Database, work: () => T): T {
  if (database.isTransaction) return work()
  database.exec('BEGIN IMMEDIATE')
  try {
    const result = work()
    database.exec('COMMIT')
    return result
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK')
    throw fromSqlite(error, 'cannot write to the database', database.location() ?? ':memory:')
  }
}
