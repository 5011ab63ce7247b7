// Saves what can be read of a database whose pages are damaged: every readable row goes into a new file, which takes the
// place of the old one; the old memory.db is kept beside it. Full-text indexes are not copied, they are made again.
// What a kill leaves: until the rename the old file, with its log merged or (where SQLite could not) set aside unchanged; then the
// new one, whole and flushed. One caller at a time: the sweep lock.
import { existsSync, linkSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fromSqlite, RecollectError } from '../errors.ts'
import { syncDirectory } from '../files/directory.ts'
import { connect } from '../sqlite/driver.ts'
import { type Database, emptyDatabase, type Migration, openDatabase, transaction } from './database.ts'
import { DamagedFile, type StoredRow, type Value } from './pages.ts'
import { pageDamage } from './verify.ts'

export interface Salvage {
  file: string
  /** Where the damaged file is now; null for one that can be made again. */
  keptAs: string | null
  rowCount: number
  /** By table: pages that make no sense, and rows on other pages that make none. */
  lost: { table: string; pageCount: number; rowCount: number }[]
}

/** Both files are paired anew, so that every source is read again. */
const NOT_COPIED = 'pair'
/** An index has at most four columns: rows on a page that nothing leads to are a table's only if they have more. */
const LEAST_COLUMNS = 5
const ROWS_PER_COMMIT = 20_000

/** Undefined where the file is sound, or not there. */
export function salvage(
  path: string,
  migrations: readonly Migration[],
  keepsOld: boolean,
): Salvage | undefined {
  if (!existsSync(path) || isSound(path, migrations)) return undefined
  const newPath = `${path}.salvaged`
  for (let attempt = 1; ; attempt++) {
    const before = stateOf(path)
    for (const tail of TAILS) rmSync(newPath + tail, { force: true })
    const saved = copyRows(path, newPath, migrations)
    // Another program may have written a decision or a pin meanwhile.
    if (stateOf(path) !== before) {
      if (attempt < 3) continue
      throw new RecollectError('BUSY', 'another program keeps writing to the memory', {
        where: path,
        hint: 'end other recollect programs (ui, mcp, watch), then run: recollect sweep --repair',
      })
    }
    const keptAs = swapIn(path, newPath, keepsOld)
    return { file: basename(path), keptAs, ...saved }
  }
}

const TAILS = ['', '-wal', '-shm']

const stateOf = (path: string): string =>
  [path, `${path}-wal`]
    .map((one) => statSync(one, { throwIfNoEntry: false }))
    .map((found) => (found ? `${found.mtimeMs}/${found.size}` : ''))
    .join()

/** Also moves the log into the file, so that the pages to read are all in one place. */
function isSound(path: string, migrations: readonly Migration[]): boolean {
  let database: Database | undefined
  try {
    database = connect(path)
    database.exec('PRAGMA busy_timeout = 10000; PRAGMA wal_checkpoint(TRUNCATE)')
    return pageDamage(database).length === 0 && hasAllColumns(database, migrations)
  } catch (error) {
    const known = fromSqlite(error, 'cannot read the database', path)
    if (known instanceof RecollectError && known.code === 'CORRUPT') return false
    throw known
  } finally {
    database?.close()
  }
}

/** Pages may be sound where a bit is not, in what stands there of a table's columns. */
function hasAllColumns(database: Database, migrations: readonly Migration[]): boolean {
  const { user_version: version } = database.prepare('PRAGMA user_version').get() as { user_version: number }
  if (version === 0 || version > migrations.length) return true
  const expected = emptyDatabase(migrations.slice(0, version))
  try {
    const columnsOf = (one: Database, table: string): Set<unknown> =>
      new Set(
        one
          .prepare('SELECT name FROM pragma_table_info(?)')
          .all(table)
          .map((row) => (row as { name: string }).name),
      )
    return tablesOf(expected).every(({ name, columns }) => {
      const found = columnsOf(database, name)
      return columns.every((column) => found.has(column.name))
    })
  } finally {
    expected.close()
  }
}

function swapIn(path: string, newPath: string, keepsOld: boolean): string | null {
  const keptAs = keepsOld ? keptPath(path) : null
  if (keptAs !== null) {
    linkSync(path, keptAs)
    if ((statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
      renameSync(`${path}-wal`, `${keptAs}-wal`)
    syncDirectory(dirname(keptAs))
  }
  // A log is applied to whatever file has its name: it must be gone before the new file comes.
  for (const tail of ['-wal', '-shm']) rmSync(path + tail, { force: true })
  renameSync(newPath, path)
  // Its own log, merged and empty, would stay under the name it had.
  for (const tail of ['-wal', '-shm']) rmSync(newPath + tail, { force: true })
  syncDirectory(dirname(path))
  return keptAs
}

export const DAMAGED_DIRECTORY = 'damaged'

function keptPath(path: string): string {
  const directory = join(dirname(path), DAMAGED_DIRECTORY)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  for (let count = 1; ; count++) {
    const name = join(directory, `${stamp}${count > 1 ? `-${count}` : ''}-${basename(path)}`)
    if (!existsSync(name)) return name
  }
}

interface Table {
  name: string
  /** The columns in the order in which they are stored. */
  columns: { name: string; type: string; isRequired: boolean }[]
  /** The column that is the row's own number, and stored with the row instead. */
  numberAt: number
  isIndex: boolean
}

function copyRows(
  path: string,
  newPath: string,
  migrations: readonly Migration[],
): Pick<Salvage, 'rowCount' | 'lost'> {
  const file = new DamagedFile(path)
  const { userVersion } = file
  const version = userVersion > 0 && userVersion <= migrations.length ? userVersion : migrations.length
  const database = openDatabase(newPath, migrations.slice(0, version))
  try {
    const lost: Salvage['lost'] = []
    const incomplete: Table[] = []
    let rowCount = 0
    for (const table of tablesOf(database)) {
      const scan = file.table(table.name)
      const copied = copyTable(database, table, scan?.rows() ?? [])
      rowCount += copied.copied
      const damage = scan?.damage ?? { pageCount: 1, rowCount: 0 }
      if (damage.pageCount > 0) incomplete.push(table)
      if (damage.pageCount + damage.rowCount + copied.refused > 0)
        lost.push({
          table: table.name,
          pageCount: damage.pageCount,
          rowCount: damage.rowCount + copied.refused,
        })
    }
    rowCount += copyStrays(database, incomplete, file)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    return { rowCount, lost }
  } finally {
    database.close()
    file.close()
  }
}

function tablesOf(database: Database): Table[] {
  const tables = database
    .prepare(
      `SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> ?`,
    )
    .all(NOT_COPIED) as unknown as { name: string; wr: number }[]
  const info = database.prepare('SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid')
  return tables.map(({ name, wr }) => {
    const all = info.all(name) as unknown as { name: string; type: string; notnull: number; pk: number }[]
    const key = all.filter((one) => one.pk > 0).sort((a, b) => a.pk - b.pk)
    const stored = wr ? [...key, ...all.filter((one) => one.pk === 0)] : all
    const isNumbered = !wr && key.length === 1 && key[0]?.type === 'INTEGER'
    return {
      name,
      columns: stored.map((one) => ({
        name: one.name,
        type: one.type,
        isRequired: one.notnull > 0 || (one.pk > 0 && wr > 0),
      })),
      numberAt: isNumbered ? stored.findIndex((one) => one.pk > 0) : -1,
      isIndex: wr > 0,
    }
  })
}

function copyTable(
  database: Database,
  table: Table,
  rows: Iterable<StoredRow>,
): { copied: number; refused: number } {
  const result = { copied: 0, refused: 0 }
  const insert = inserter(database, table)
  const waiting: StoredRow[] = []
  const write = (): void => {
    transaction(database, () => {
      for (const row of waiting) result[insert(row) ? 'copied' : 'refused']++
    })
    waiting.length = 0
  }
  for (const row of rows) {
    waiting.push(row)
    if (waiting.length >= ROWS_PER_COMMIT) write()
  }
  write()
  return result
}

/** False for what cannot have been a row of this table, or is there already. */
function inserter(database: Database, table: Table): (row: StoredRow) => boolean {
  const statements = new Map<number, ReturnType<Database['prepare']>>()
  const statement = (count: number): ReturnType<Database['prepare']> => {
    const known = statements.get(count)
    if (known) return known
    const names = table.columns.slice(0, count).map((one) => `"${one.name}"`)
    const made = database.prepare(
      `INSERT OR IGNORE INTO "${table.name}" (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
    )
    statements.set(count, made)
    return made
  }
  return (row) => {
    const values = row.values.map((value, at) => (at === table.numberAt ? row.rowid : value))
    if (values.length === 0 || !isPlausible(table, values)) return false
    return statement(values.length).run(...values).changes > 0
  }
}

/** Columns that were added later are not in older rows. */
const isPlausible = ({ columns }: Table, values: readonly Value[]): boolean =>
  values.length <= columns.length &&
  values.every((value, at) => {
    const column = columns[at] as Table['columns'][number]
    if (value === null) return !column.isRequired
    const isNumber = typeof value === 'number' || typeof value === 'bigint'
    return column.type === 'INTEGER' || column.type === 'REAL' ? isNumber : !isNumber
  })

/** Rows whose way is lost, where only one table with lost pages can have had them. */
function copyStrays(database: Database, tables: readonly Table[], file: DamagedFile): number {
  const inserts = tables
    .filter((table) => table.columns.length >= LEAST_COLUMNS)
    .map((table) => ({ table, insert: inserter(database, table) }))
  if (inserts.length === 0) return 0
  let count = 0
  transaction(database, () => {
    for (const row of file.strays()) {
      const fitting = inserts.filter(
        ({ table }) =>
          table.isIndex === row.isIndex &&
          table.columns.length === row.values.length &&
          isPlausible(
            table,
            row.values.map((value, at) => (at === table.numberAt ? row.rowid : value)),
          ),
      )
      if (fitting.length === 1 && fitting[0]?.insert(row)) count++
    }
  })
  return count
}
