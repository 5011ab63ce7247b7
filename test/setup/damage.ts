// Damage done to the files of a memory.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CACHE_MIGRATIONS } from '../../src/store/cache-schema.ts'
import { openDatabase } from '../../src/store/database.ts'
import { MEMORY_MIGRATIONS } from '../../src/store/memory-schema.ts'

/** The payload files of a memory. */
export function segmentsOf(memory: string): string[] {
  const blobs = join(memory, 'cache', 'blobs')
  return readdirSync(blobs, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .map((name) => join(blobs, name))
}

export const overwrite = (path: string): void => writeFileSync(path, readFileSync(path).fill(0, 40, 90))

/** Zeros over what a full-text index keeps, in the file itself. */
export function breakIndex(memory: string, index: 'words' | 'digest_words'): void {
  const isOfCache = index === 'words'
  const path = join(memory, isOfCache ? 'cache/cache.db' : 'memory.db')
  const read = openDatabase(path, isOfCache ? CACHE_MIGRATIONS : MEMORY_MIGRATIONS)
  read.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const { block } = read
    .prepare(`SELECT block FROM ${index}_data WHERE id > 10 ORDER BY length(block) DESC LIMIT 1`)
    .get() as { block: Uint8Array }
  read.close()
  const bytes = readFileSync(path)
  const at = bytes.indexOf(Buffer.from(block).subarray(0, 200))
  if (at < 1) throw new Error(`nothing of ${index} in ${path}`)
  writeFileSync(path, bytes.fill(0, at, at + Math.min(200, block.length)))
}

/** Zeros over pages of both databases, and a text that is no longer JSON. */
export function damagePages(memory: string): void {
  const database = openDatabase(join(memory, 'memory.db'), MEMORY_MIGRATIONS)
  database.exec("UPDATE sessions SET redactions = '{'; PRAGMA wal_checkpoint(TRUNCATE)")
  database.close()
  for (const [name, page] of [
    ['memory.db', 8],
    ['cache/cache.db', 6],
  ] as const) {
    const path = join(memory, name)
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0, page * 4096, (page + 1) * 4096))
  }
}

/** The first pages of two tables of memory.db, each in the place of the other. */
export function exchangePages(memory: string, one: string, other: string): void {
  const path = join(memory, 'memory.db')
  const database = openDatabase(path, MEMORY_MIGRATIONS)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const pageOf = database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?')
  const [a, b] = [one, other].map((name) => ((pageOf.get(name) as { rootpage: number }).rootpage - 1) * 4096)
  database.close()
  const bytes = readFileSync(path)
  const page = Buffer.from(bytes.subarray(a, (a as number) + 4096))
  bytes.copy(bytes, a as number, b as number, (b as number) + 4096)
  page.copy(bytes, b as number)
  writeFileSync(path, bytes)
}

/** One bit in the name of a column, wherever the file describes its tables and indexes by it. */
export function flipName(path: string, column: string): void {
  const isOfCache = path.endsWith('cache.db')
  const database = openDatabase(path, isOfCache ? CACHE_MIGRATIONS : MEMORY_MIGRATIONS)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  database.close()
  const bytes = readFileSync(path)
  for (let at = bytes.indexOf(column); at !== -1; at = bytes.indexOf(column, at + 1))
    bytes[at] = (bytes[at] as number) ^ 1
  writeFileSync(path, bytes)
}
