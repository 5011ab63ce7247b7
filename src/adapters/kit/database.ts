// SQLite sources: many sessions in one database, whose rows change in place. A session is read as a whole, again whenever
// its mark has changed: events with keys that are known replace what they were. What was read is kept as marks.
import { hash } from 'node:crypto'
import { RecollectError } from '../../errors.ts'
import { sizeOf } from '../../files/reading.ts'
import { type ForeignDatabase, isSqliteError, openForeign, type Row } from '../../sqlite/foreign.ts'
import type { Item, Position } from '../adapter.ts'
import { isRecord } from './guards.ts'
import { MAX_LINE_BYTES } from './lines.ts'

export type { ForeignDatabase, Row } from '../../sqlite/foreign.ts'

/** One session of a database, as seen from outside. */
export interface Marked {
  id: string
  /** When it last changed, in epoch milliseconds: the oldest are read first. Null where nothing tells. */
  updatedAt: number | null
  /** Anything that is another value once a row of the session has changed: times, counts, sums of lengths. */
  mark: unknown
}

export interface DatabaseReader {
  /** Without these it is not the agent's database, or of a version nobody described. */
  tables: readonly string[]
  sessions(database: ForeignDatabase): Iterable<Marked>
  /** What is found out about a database when it is first read, and holds from then on, wherever it is moved. */
  once?(database: ForeignDatabase): string
  /** All of one session, with the same keys each time. Give every event its `parentKey`. */
  read(database: ForeignDatabase, id: string, once: string): Iterable<Item>
}

/** Carry-over: hashes of what was read last, and the time before which everything was. */
interface State {
  /** [time of the last change, hash of id and mark], oldest first. */
  marks: [number, string][]
  before: number
  once?: string
}

const MAX_MARKS = 1024
/** Items after which what is read may be committed: all of it is told again if the session's end is not reached. */
const STEP_ITEMS = 200

export function* readDatabase(path: string, from: Position | null, reader: DatabaseReader): Generator<Item> {
  const state: State = from ? (structuredClone(from.state) as State) : { marks: [], before: 0 }
  const offset = sizeOf(path)
  let database: ForeignDatabase | undefined
  try {
    database = openForeign(path)
    const missing = reader.tables.filter((table) => !database?.has(table))
    if (missing.length === 0) yield* readSessions(database, reader, state, offset)
    else if (offset > 0) yield gap('schema', `no table ${missing.join(', ')}`, offset)
  } catch (error) {
    if (!isSqliteError(error)) throw error
    yield gap('not-sqlite', 'not a database, or a damaged one', offset)
  } finally {
    database?.close()
  }
}

/** What another database tells; undefined where there is none that can be read. */
export function askDatabase<T>(path: string, ask: (database: ForeignDatabase) => T): T | undefined {
  let database: ForeignDatabase | undefined
  try {
    database = openForeign(path)
    return ask(database)
  } catch (error) {
    if (error instanceof RecollectError || isSqliteError(error)) return undefined
    throw error
  } finally {
    database?.close()
  }
}

const gap = (reason: string, detail: string, length: number): Item => ({
  type: 'gap',
  reason,
  detail,
  offset: 0,
  length,
  pending: true,
})

function* readSessions(
  database: ForeignDatabase,
  reader: DatabaseReader,
  state: State,
  offset: number,
): Generator<Item> {
  const position: Item = { type: 'position', position: { offset, state } }
  const known = new Set(state.marks.map((entry) => entry[1]))
  if (reader.once) state.once ??= reader.once(database)
  for (const { id, at, name } of changed(reader.sessions(database), known, state.before)) {
    let count = 0
    for (const item of safely(reader.read(database, id, state.once ?? ''), id)) {
      yield item
      if (++count % STEP_ITEMS === 0) yield position
    }
    if (!database.isStill()) return
    remember(state, at, name)
    yield position
  }
  yield position
}

interface Changed {
  id: string
  at: number
  name: string
}

/** The sessions to read, the one that changed last at the end. */
function changed(sessions: Iterable<Marked>, known: ReadonlySet<string>, before: number): Changed[] {
  const found: Changed[] = []
  for (const { id, updatedAt, mark } of sessions) {
    const at = updatedAt ?? Number.MAX_SAFE_INTEGER
    const name = hash('sha1', JSON.stringify([id, updatedAt, mark]), 'base64').slice(0, 16)
    if (at >= before && !known.has(name)) found.push({ id, at, name })
  }
  return found.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
}

/** What is dropped from the list was changed before anything that stays in it. */
function remember(state: State, at: number, name: string): void {
  const later = state.marks.findIndex((entry) => entry[0] > at)
  state.marks.splice(later === -1 ? state.marks.length : later, 0, [at, name])
  if (state.marks.length <= MAX_MARKS) return
  const [dropped] = state.marks.splice(0, 1)
  if (dropped && dropped[0] !== Number.MAX_SAFE_INTEGER) state.before = dropped[0] + 1
}

/** One session that cannot be borne must not hide those after it. */
function* safely(items: Iterable<Item>, id: string): Generator<Item> {
  try {
    yield* items
  } catch (error) {
    if (error instanceof RecollectError || isSqliteError(error)) throw error
    yield rowGap(id, 'schema', `${(error as Error).name} while reading`)
  }
}

/** A row that is not understood. `place` names it: `message/<id>`. */
export const rowGap = (place: string, reason: string, detail: string, length = 0): Item => ({
  type: 'gap',
  reason,
  detail,
  offset: 0,
  length,
  file: place,
})

/** For a SELECT: a column of any length, of which only what can be borne is handed over. Read it with `jsonIn`. */
export const bounded = (column: string): string =>
  `iif(octet_length(${column}) <= ${MAX_LINE_BYTES}, ${column}, NULL) AS ${column}, octet_length(${column}) AS ${column}_bytes`

/** The rows of a session, or of all of them, with what stands as JSON in a column that was selected by `bounded`; gaps in their places. */
export function* jsonRows<Value>(
  rows: Iterable<Row>,
  table: string,
  column: string,
  valueIn: (row: Row, column: string, place: string) => In<Value>,
): Generator<{ row: Row; value: Value } | { row: Row; gap: Item }> {
  for (const row of rows) yield { row, ...valueIn(row, column, `${table}/${row['id']}`) }
}

/** A database with one table of sessions, and one of what was said in them, or more. */
export interface SessionTables {
  /** The table of sessions first. Without them it is not the agent's database. */
  tables: readonly [string, ...string[]]
  updatedAt(row: Row): number | null
  /** What changes in a table with what belongs to a session, as columns of a SELECT. */
  sums(database: ForeignDatabase): readonly (readonly [table: string, columns: string])[]
  /** Columns of a session that may change though nothing that is read does. */
  without?: readonly string[]
  once?: DatabaseReader['once']
  tell(database: ForeignDatabase, row: Row, once: string): Iterable<Item>
}

export function readSessionTables(path: string, from: Position | null, rows: SessionTables): Generator<Item> {
  const { tables, once, tell } = rows
  const read: DatabaseReader['read'] = function* (database, id, told) {
    const [row] = database.rows(`SELECT * FROM ${tables[0]} WHERE id = ?`, id)
    if (row) yield* tell(database, row, told)
  }
  const sessions = (database: ForeignDatabase): Generator<Marked> => markedRows(database, rows)
  return readDatabase(path, from, { tables, sessions, read, ...(once && { once }) })
}

function* markedRows(database: ForeignDatabase, rows: SessionTables): Generator<Marked> {
  const { tables, updatedAt, sums, without = [] } = rows
  const all = sums(database).map(([table, columns]) => {
    const found = database.rows(`SELECT session_id AS id, ${columns} FROM ${table} GROUP BY session_id`)
    return new Map([...found].map(({ id, ...sum }) => [id, sum]))
  })
  for (const row of database.rows(`SELECT * FROM ${tables[0]}`)) {
    const own = Object.entries(row).filter(([column]) => !without.includes(column))
    const marks = all.map((one) => one.get(row['id'])).filter((one) => one !== undefined)
    yield { id: String(row['id']), updatedAt: updatedAt(row), mark: [Object.fromEntries(own), marks] }
  }
}

type In<Value> = { value: Value } | { gap: Item }

/** The JSON object in a column that was selected by `bounded`; a gap where there is none. */
export const jsonIn = (row: Row, column: string, place: string): In<Record<string, unknown>> =>
  parsedIn(row, column, place, isRecord, 'not-object')

/** The same, of a list. */
export const listIn = (row: Row, column: string, place: string): In<unknown[]> =>
  parsedIn(row, column, place, (value): value is unknown[] => Array.isArray(value), 'not-list')

function parsedIn<Value>(
  row: Row,
  column: string,
  place: string,
  is: (value: unknown) => value is Value,
  otherwise: string,
): In<Value> {
  const length = Number(row[`${column}_bytes`] ?? 0)
  const text = row[column]
  if (typeof text !== 'string') {
    const isLong = length > MAX_LINE_BYTES
    return {
      gap: rowGap(place, isLong ? 'oversize' : 'schema', isLong ? `${length} bytes` : 'no text', length),
    }
  }
  try {
    const value: unknown = JSON.parse(text)
    return is(value) ? { value } : { gap: rowGap(place, otherwise, 'of another kind', length) }
  } catch {
    return { gap: rowGap(place, 'not-json', 'not JSON', length) }
  }
}
