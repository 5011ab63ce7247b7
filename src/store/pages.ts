// Reads the rows of a SQLite file whose pages may be damaged, page by page, without SQLite, which stops at the first bad one.
// Format: https://sqlite.org/fileformat2.html. A page that makes no sense costs its own rows, and is counted.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

export type Value = null | number | bigint | string | Buffer

/** The values as they are stored: of a table WITHOUT ROWID those of its primary key come first. */
export interface StoredRow {
  rowid: number | bigint | null
  values: Value[]
}

export interface TableScan {
  rows(): Generator<StoredRow>
  /** Filled while the rows are read. */
  readonly damage: { pageCount: number; rowCount: number }
}

const HEADER_BYTES = 100
const PAGE_BYTES = 4096
const TABLE_LEAF = 0x0d
const TABLE_INTERIOR = 0x05
const INDEX_LEAF = 0x0a
const INDEX_INTERIOR = 0x02

/** What SQLite wrote down of a table or index: where it begins. */
interface SchemaEntry {
  type: 'table' | 'index'
  name: string
  root: number
}

export class DamagedFile {
  readonly #fd: number
  readonly #pageBytes: number
  readonly #usableBytes: number
  readonly pageCount: number
  /** `PRAGMA user_version`; 0 where the header cannot be read. */
  readonly userVersion: number
  readonly #seen = new Set<number>()
  readonly #tables = new Map<string, number>()
  readonly #indexRoots: number[] = []

  constructor(path: string) {
    this.#fd = openSync(path, 'r')
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(this.#fd, header, 0, HEADER_BYTES, 0)
    const isWhole = header.toString('latin1', 0, 15) === 'SQLite format 3'
    const pageBytes = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16)
    const isPageSize = pageBytes >= 512 && (pageBytes & (pageBytes - 1)) === 0
    this.#pageBytes = isWhole && isPageSize ? pageBytes : PAGE_BYTES
    this.#usableBytes = this.#pageBytes - (isWhole ? (header[20] as number) : 0)
    this.userVersion = isWhole ? header.readUInt32BE(60) : 0
    this.pageCount = Math.ceil(fstatSync(this.#fd).size / this.#pageBytes)
    for (const { type, name, root } of this.#schema())
      if (type === 'table') this.#tables.set(name, root)
      else this.#indexRoots.push(root)
  }

  close(): void {
    closeSync(this.#fd)
  }

  /** Undefined where the file does not say where the table begins. */
  table(name: string): TableScan | undefined {
    const root = this.#tables.get(name)
    return root === undefined ? undefined : this.#scan(root)
  }

  /**
   * Rows on pages that no table leads to: what stood above them is damaged. Freed pages are overwritten (`secure_delete`),
   * so these rows were not deleted. Call it when the tables have been read.
   */
  *strays(): Generator<StoredRow & { isIndex: boolean }> {
    for (const root of [...this.#indexRoots, ...this.#tables.values()]) this.#visitBelow(root)
    for (let number = 2; number <= this.pageCount; number++) {
      if (this.#seen.has(number)) continue
      const page = this.#page(number)
      const type = page?.[0]
      if (!page || (type !== TABLE_LEAF && type !== INDEX_LEAF)) continue
      for (const at of cellsOf(page, 0, 8)) {
        const row = this.#row(page, at, type === TABLE_LEAF)
        if (row) yield { ...row, isIndex: type === INDEX_LEAF }
      }
    }
  }

  /** The list of tables; where its first page is gone, its other pages are known by what stands in them. */
  #schema(): SchemaEntry[] {
    const found = this.#scan(1)
    const rows = [...found.rows()]
    const all = found.damage.pageCount > 0 ? [...rows, ...this.#schemaStrays()] : rows
    return all.flatMap(({ values: [type, name, , root] }) =>
      (type === 'table' || type === 'index') &&
      typeof name === 'string' &&
      typeof root === 'number' &&
      root > 0
        ? [{ type, name, root }]
        : [],
    )
  }

  *#schemaStrays(): Generator<StoredRow> {
    for (let number = 2; number <= this.pageCount; number++) {
      const page = this.#page(number)
      if (this.#seen.has(number) || page?.[0] !== TABLE_LEAF) continue
      const rows = cellsOf(page, 0, 8).map((at) => this.#row(page, at, true))
      if (!rows.every((row) => row !== undefined && isSchemaRow(row.values)) || rows.length === 0) continue
      this.#seen.add(number)
      yield* rows as StoredRow[]
    }
  }

  #scan(root: number): TableScan {
    const damage = { pageCount: 0, rowCount: 0 }
    const rows = (): Generator<StoredRow> => this.#rowsBelow(root, damage)
    return { rows, damage }
  }

  *#rowsBelow(root: number, damage: TableScan['damage']): Generator<StoredRow> {
    const waiting = [root]
    for (let number = waiting.pop(); number !== undefined; number = waiting.pop()) {
      const isFirstVisit = !this.#seen.has(number)
      this.#seen.add(number)
      const page = isFirstVisit ? this.#page(number) : undefined
      const start = number === 1 ? HEADER_BYTES : 0
      const type = page?.[start]
      const isTable = type === TABLE_LEAF || type === TABLE_INTERIOR
      const isInterior = type === TABLE_INTERIOR || type === INDEX_INTERIOR
      if (!page || (!isTable && type !== INDEX_LEAF && type !== INDEX_INTERIOR)) {
        damage.pageCount++
        continue
      }
      const cells = cellsOf(page, start, isInterior ? 12 : 8)
      damage.rowCount += page.readUInt16BE(start + 3) > MAX_CELLS ? 1 : 0
      if (isInterior) {
        waiting.push(page.readUInt32BE(start + 8))
        for (const at of cells) if (at + 4 <= page.length) waiting.push(page.readUInt32BE(at))
      }
      // The inner pages of a table hold no rows; those of an index do.
      if (type === TABLE_INTERIOR) continue
      for (const at of cells) {
        const row = this.#row(page, isInterior ? at + 4 : at, isTable)
        if (row) yield row
        else damage.rowCount++
      }
    }
  }

  /** Marks all pages of a tree that was not read as seen. */
  #visitBelow(root: number): void {
    if (this.#seen.has(root)) return
    for (const _ of this.#rowsBelow(root, { pageCount: 0, rowCount: 0 }));
  }

  #page(number: number): Buffer | undefined {
    if (number < 1 || number > this.pageCount) return undefined
    const page = Buffer.alloc(this.#pageBytes)
    const got = readSync(this.#fd, page, 0, this.#pageBytes, (number - 1) * this.#pageBytes)
    return got > 0 ? page : undefined
  }

  #row(page: Buffer, at: number, isTable: boolean): StoredRow | undefined {
    const cell = new Reader(page, at)
    const length = cell.varint()
    const rowid = isTable ? cell.varint() : null
    if (cell.isPastEnd || typeof length === 'bigint' || length > this.pageCount * this.#pageBytes)
      return undefined
    const payload = this.#payload(page, cell.at, length, isTable)
    const values = payload && recordOf(payload)
    return values && { rowid, values }
  }

  #payload(page: Buffer, at: number, length: number, isTable: boolean): Buffer | undefined {
    const usable = this.#usableBytes
    const most = isTable ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23
    const least = Math.floor(((usable - 12) * 32) / 255) - 23
    const spread = least + ((length - least) % (usable - 4))
    const local = length <= most ? length : spread <= most ? spread : least
    if (at + local > page.length) return undefined
    const parts = [page.subarray(at, at + local)]
    if (local === length) return parts[0]
    if (at + local + 4 > page.length) return undefined
    let next = page.readUInt32BE(at + local)
    for (let left = length - local; left > 0; ) {
      const more = this.#page(next)
      if (!more) return undefined
      this.#seen.add(next)
      const piece = more.subarray(4, 4 + Math.min(left, usable - 4))
      parts.push(piece)
      left -= piece.length
      next = more.readUInt32BE(0)
    }
    return Buffer.concat(parts)
  }
}

const isSchemaRow = ([type, name, table, root, sql]: Value[]): boolean =>
  (type === 'table' || type === 'index' || type === 'view' || type === 'trigger') &&
  typeof name === 'string' &&
  typeof table === 'string' &&
  typeof root === 'number' &&
  (sql === null || typeof sql === 'string')

/** No page of 64 KB holds more. */
const MAX_CELLS = 0x4000

/** Where the cells of a page begin; none that lies outside of it. */
function cellsOf(page: Buffer, start: number, headerBytes: number): number[] {
  const count = page.readUInt16BE(start + 3)
  const cells: number[] = []
  for (let index = 0; index < Math.min(count, MAX_CELLS); index++) {
    const at = start + headerBytes + index * 2
    if (at + 2 > page.length) break
    const offset = page.readUInt16BE(at)
    if (offset >= start + headerBytes && offset < page.length) cells.push(offset)
  }
  return cells
}

class Reader {
  readonly #bytes: Buffer
  at: number

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes
    this.at = at
  }

  get isPastEnd(): boolean {
    return this.at > this.#bytes.length
  }

  /** Up to nine bytes, seven bits each, the last with eight. */
  varint(): number | bigint {
    let value = 0n
    for (let index = 0; index < 9; index++) {
      const byte = BigInt(this.#bytes[this.at++] ?? 0)
      if (index === 8) value = (value << 8n) | byte
      else value = (value << 7n) | (byte & 0x7fn)
      if (index === 8 || byte < 0x80n) break
    }
    return narrow(BigInt.asIntN(64, value))
  }
}

const narrow = (value: bigint): number | bigint =>
  value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value

/** Undefined unless the lengths add up to the byte. */
function recordOf(payload: Buffer): Value[] | undefined {
  const header = new Reader(payload, 0)
  const headerBytes = header.varint()
  if (typeof headerBytes === 'bigint' || headerBytes > payload.length || headerBytes < 1) return undefined
  let at = headerBytes
  const values: Value[] = []
  while (header.at < headerBytes) {
    const type = header.varint()
    if (typeof type === 'bigint' || type < 0) return undefined
    const length = lengthOf(type)
    if (at + length > payload.length) return undefined
    values.push(storedValue(type, payload.subarray(at, at + length)))
    at += length
  }
  return header.at === headerBytes && at === payload.length ? values : undefined
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8]

const lengthOf = (type: number): number =>
  type >= 12 ? (type - (type % 2 === 0 ? 12 : 13)) / 2 : type === 7 ? 8 : (INTEGER_BYTES[type] ?? 0)

function storedValue(type: number, bytes: Buffer): Value {
  if (type >= 12) return type % 2 === 0 ? Buffer.from(bytes) : bytes.toString('utf8')
  if (type === 7) return bytes.readDoubleBE(0)
  if (type === 8 || type === 9) return type - 8
  if (type === 0 || type > 9) return null
  return bytes.length <= 6 ? bytes.readIntBE(0, bytes.length) : narrow(bytes.readBigInt64BE(0))
}
