// Deleting many rows of a full-text index at once, and writing anew only what held them: against FTS5's own DELETE and
// its merge of everything.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase, transaction } from '../src/store/database.ts'
import { compact, dropDeletedWords, setMerging } from '../src/store/erase.ts'
import { CACHE_MIGRATIONS } from '../src/store/schema.ts'
import { readStructure } from '../src/store/word-structure.ts'
import { deleteWords } from '../src/store/word-tombstones.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'recollect-words-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

let count = 0
const newDatabase = (): Database => openDatabase(join(root, `${count++}.db`), CACHE_MIGRATIONS)

const wordOf = (id: number): string => `w${(id * 2_654_435_761).toString(36)}x`
/** Rows from `first` on, in one commit: one segment. With many words of their own it is a large one. */
function write(database: Database, first: number, rows: number, words = 0): void {
  const insert = database.prepare('INSERT INTO words (rowid, work) VALUES (?, ?)')
  transaction(database, () => {
    for (let id = first; id < first + rows; id++) {
      const more = Array.from({ length: words }, (_, at) => wordOf(id + (at + 1) / 64))
      insert.run(id, `common ${wordOf(id)} f${id % 7} f${id % 5} ${more.join(' ')}`)
    }
  })
}
const IDS = 'SELECT DISTINCT value AS id FROM json_each(?)'
const deleteAtOnce = (database: Database, ids: readonly number[]): void =>
  transaction(database, () =>
    deleteWords(
      database,
      'words',
      [...new Set(ids)].map((id) => ({ first: id, last: id })),
    ),
  )
const deleteByFts5 = (database: Database, ids: readonly number[]): void => {
  database.prepare(`DELETE FROM words WHERE rowid IN (${IDS})`).run(JSON.stringify(ids))
}
const found = (database: Database, query: string): number[] =>
  (
    database.prepare('SELECT rowid AS id FROM words WHERE words MATCH ? ORDER BY rowid').all(query) as {
      id: number
    }[]
  ).map((row) => row.id)
const segmentsOf = (database: Database): { id: number; tombstonePages: number; entries: number }[] =>
  (transaction(database, () => readStructure(database, 'words'))?.levels ?? []).flatMap(
    (level) => level.segments,
  )
const entriesOf = (database: Database): number =>
  segmentsOf(database).reduce((sum, segment) => sum + segment.entries, 0)
const check = (database: Database): void =>
  database.exec("INSERT INTO words (words) VALUES ('integrity-check')")
/** Everything the index holds: word, row and place. */
const contents = (database: Database): unknown[] => {
  database.exec('CREATE VIRTUAL TABLE IF NOT EXISTS temp.terms USING fts5vocab(main, words, instance)')
  return database.prepare('SELECT term, doc, col, offset FROM temp.terms ORDER BY 1, 2, 3, 4').all()
}

describe('rows deleted at once', () => {
  it('are found no more, before and after they are written away, exactly as FTS5 itself would have it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 12 }),
        fc.array(fc.array(fc.nat(), { maxLength: 40 }), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 2, max: 9 }),
        (commits, deletions, automerge) => {
          const [mine, fts5] = [newDatabase(), newDatabase()]
          for (const database of [mine, fts5]) {
            setMerging(database, 'words', { automerge })
            let at = 1
            for (const rows of commits) {
              write(database, at, rows)
              at += rows
            }
          }
          const all = commits.reduce((sum, rows) => sum + rows, 0)
          const gone = new Set<number>()
          for (const ids of deletions.map((some) => some.map((id) => 1 + (id % all)))) {
            deleteAtOnce(mine, ids)
            deleteByFts5(fts5, ids)
            for (const id of ids) gone.add(id)
            const left = Array.from({ length: all }, (_, at) => at + 1).filter((id) => !gone.has(id))
            expect(found(mine, 'common')).toEqual(left)
            expect(found(fts5, 'common')).toEqual(left)
          }
          dropDeletedWords(mine, 'words')
          fts5.exec("INSERT INTO words (words) VALUES ('optimize')")
          expect(contents(mine)).toEqual(contents(fts5))
          check(mine)
          expect(segmentsOf(mine).every((segment) => segment.tombstonePages === 0)).toBe(true)
          // More can be written and deleted, by FTS5 as well.
          write(mine, all + 1, 20)
          deleteByFts5(mine, [all + 1, all + 7])
          expect(found(mine, 'common').length).toBe(all - gone.size + 18)
          check(mine)
          mine.close()
          fts5.close()
        },
      ),
      { numRuns: 60 },
    )
  })

  it('may be many: their marks take more than a page', () => {
    const database = newDatabase()
    write(database, 1, 6000)
    // In steps, which fall on few pages, and in two goes.
    const ids = Array.from({ length: 2500 }, (_, at) => 2 * at + 2)
    deleteAtOnce(database, ids.slice(0, 700))
    deleteAtOnce(database, ids.slice(700))
    expect(found(database, 'common')).toHaveLength(3500)
    for (const id of [2, 1402, 5000]) expect(found(database, wordOf(id))).toEqual([])
    for (const id of [1, 1403, 5002, 6000]) expect(found(database, wordOf(id))).toEqual([id])
    dropDeletedWords(database, 'words')
    check(database)
    expect(found(database, 'common')).toHaveLength(3500)
    expect(entriesOf(database)).toBe(3500)
    database.close()
  })
})

describe('what is written anew', () => {
  it('is only what held deleted rows, however few', () => {
    const database = newDatabase()
    for (let at = 0; at < 4; at++) write(database, 1 + at * 4000, 4000, 60)
    const before = segmentsOf(database)
    expect(before).toHaveLength(4)
    deleteAtOnce(database, [4500])
    dropDeletedWords(database, 'words')
    const after = segmentsOf(database)
    const kept = before.filter((one) => after.some((other) => other.id === one.id))
    expect(kept).toHaveLength(3)
    expect(after).toHaveLength(4)
    expect(entriesOf(database)).toBe(15_999)
    expect(found(database, wordOf(4500))).toEqual([])
    check(database)
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    const path = database.location() as string
    database.close()
    const bytes = readFileSync(path)
    expect(bytes.includes(wordOf(4501).slice(3))).toBe(true)
    expect(bytes.includes(wordOf(4500).slice(3))).toBe(false)
  })

  it('to give room back are small segments, not large ones', () => {
    const database = newDatabase()
    write(database, 1, 4000, 60)
    for (let at = 0; at < 5; at++) write(database, 10_000 + at * 10, 10)
    const [large] = segmentsOf(database).filter((segment) => segment.entries === 4000)
    expect(segmentsOf(database)).toHaveLength(6)
    compact(database)
    const after = segmentsOf(database)
    expect(after.map((segment) => segment.entries).sort()).toEqual([4000, 50])
    expect(after.some((segment) => segment.id === large?.id)).toBe(true)
    check(database)
    database.close()
  })
})
