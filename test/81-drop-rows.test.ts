// What goes with a session: rows of every table that has some of it, so that a table which is added later is not forgotten.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CACHE_MIGRATIONS } from '../src/store/cache-schema.ts'
import { type Database, openDatabase } from '../src/store/database.ts'
import { dropRows } from '../src/store/drop-rows.ts'

let root: string
let cache: Database
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'recollect-rows-'))
  cache = openDatabase(join(root, 'cache.db'), CACHE_MIGRATIONS)
})
afterEach(() => {
  cache.close()
  rmSync(root, { recursive: true, force: true })
})

/** Counts of findings, and which sources a session came from: both are told of a session whose raw is gone. */
const KEPT = ['findings', 'source_sessions']

function tablesBySession(): string[] {
  const rows = cache
    .prepare(
      `SELECT t.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
       WHERE t.type = 'table' AND c.name = 'session' ORDER BY 1`,
    )
    .all() as { name: string }[]
  return rows.map((row) => row.name)
}

/** A row of the session in every table, whatever else the table wants to have. */
function fill(session: number): void {
  for (const table of tablesBySession()) {
    const columns = cache.prepare(`SELECT name, type FROM pragma_table_info('${table}')`).all() as {
      name: string
      type: string
    }[]
    const values = columns.map(({ name, type }) =>
      name === 'session' || name === 'id'
        ? `${session}`
        : type === 'BLOB'
          ? `x'0${session}'`
          : `'${session}'`,
    )
    cache.exec(`INSERT INTO ${table} (${columns.map(({ name }) => name).join()}) VALUES (${values.join()})`)
  }
}

const holding = (session: number): string[] =>
  tablesBySession().filter((table) => cache.prepare(`SELECT 1 FROM ${table} WHERE session = ?`).get(session))

describe('a session that goes', () => {
  it('leaves rows only where they are kept, and those of others alone', () => {
    for (const session of [1, 2]) fill(session)
    expect(holding(1)).toEqual(tablesBySession())
    dropRows(cache, [1])
    expect(holding(1)).toEqual(KEPT)
    expect(holding(2)).toEqual(tablesBySession())
  })

  it('leaves no more where it was the last', () => {
    fill(1)
    dropRows(cache, [1])
    expect(holding(1)).toEqual(KEPT)
  })
})
