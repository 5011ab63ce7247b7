// The SQLite store: the contract, and what only a store of files can get wrong.
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listSessions } from '../src/query/sessions.ts'
import { CACHE_MIGRATIONS } from '../src/store/cache-schema.ts'
import { type Database, openDatabase, transaction } from '../src/store/database.ts'
import { MEMORY_MIGRATIONS } from '../src/store/memory-schema.ts'
import { openForReading, storePaths } from '../src/store/reading.ts'
import { segmentPath } from '../src/store/segments.ts'
import { openStore } from '../src/store/sqlite.ts'
import { storeContract } from './contract/store.ts'
import { batchesOf, event } from './setup/scripted.ts'
import { temporary } from './setup/sweeping.ts'

storeContract('SQLite', (directory) => openStore(storePaths(directory)))

const filled = (): string => {
  const directory = temporary('store')
  const store = openStore(storePaths(directory))
  store.ingest.write(batchesOf(join(directory, 'source'), [event('a', 'k1'), event('a', 'k2')]))
  store.ingest.settle(() => ({ repo: null, domain: null }))
  store.close()
  return directory
}
const problemsOf = (directory: string): string[] => {
  const store = openStore(storePaths(directory))
  try {
    return store.archive.verify().problems
  } finally {
    store.close()
  }
}
const segmentOf = (directory: string): string => {
  const name = readdirSync(join(directory, 'cache/blobs'), { recursive: true }).find((one) =>
    String(one).endsWith('.seg'),
  )
  return join(directory, 'cache/blobs', String(name))
}

describe('files', () => {
  it('are private', () => {
    const directory = filled()
    for (const name of ['memory.db', 'cache/cache.db'])
      expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600)
    expect(statSync(join(directory, 'cache')).mode & 0o777).toBe(0o700)
  })

  it('of a newer program are refused and left alone', () => {
    const directory = filled()
    const before = readFileSync(join(directory, 'memory.db'))
    expect(() => openDatabase(join(directory, 'memory.db'), [])).toThrow(
      expect.objectContaining({ code: 'OTHER_SCHEMA', hint: expect.stringContaining('newer') }),
    )
    expect(readFileSync(join(directory, 'memory.db')).equals(before)).toBe(true)
  })

  it('that are no database are named', () => {
    const directory = temporary('store')
    writeFileSync(join(directory, 'memory.db'), 'not a database, but long enough to be looked at '.repeat(40))
    expect(() => openStore(storePaths(directory))).toThrow(expect.objectContaining({ code: 'CORRUPT' }))
    expect(readFileSync(join(directory, 'memory.db'), 'utf8')).toContain('not a database')
  })

  it('of nothing are not made by a reader', () => {
    const directory = temporary('store')
    expect(() => openForReading(storePaths(directory))).toThrow(
      expect.objectContaining({ code: 'NO_MEMORY' }),
    )
    expect(readdirSync(directory)).toEqual([])
  })

  it('without tables are no memory yet: the first sweep was stopped before its first commit', () => {
    const directory = temporary('store')
    for (const name of ['memory.db', 'cache/cache.db']) openDatabase(join(directory, name), []).close()
    expect(() => openForReading(storePaths(directory))).toThrow(
      expect.objectContaining({ code: 'NO_MEMORY' }),
    )
    // Tier 2 was begun before the cache.
    openDatabase(join(directory, 'memory.db'), MEMORY_MIGRATIONS).close()
    const handle = openForReading(storePaths(directory))
    expect(listSessions(handle)).toEqual([])
    handle.close()
    expect(problemsOf(directory)).toEqual([])
  })

  it('of the cache may be thrown away: what is remembered for good is still read', () => {
    const directory = filled()
    rmSync(join(directory, 'cache'), { recursive: true })
    const handle = openForReading(storePaths(directory))
    expect(listSessions(handle).map((one) => one.session_uid)).toEqual(['test:a'])
    handle.close()
    expect(problemsOf(directory)).toEqual([])
  })
})

describe('bodies of many sessions, flushed before the commit', () => {
  /** More than are open at a time. */
  const COUNT = 150
  const many = (directory: string): ReturnType<typeof batchesOf> =>
    Array.from({ length: COUNT }, (_, n) =>
      batchesOf(join(directory, `source-${n}`), [event(`s${n}`, `k${n}`)]),
    ).flat()
  const segmentsIn = (directory: string): [name: string, bytes: string][] =>
    readdirSync(join(directory, 'cache/blobs'), { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.seg'))
      .sort()
      .map((name) => [name, readFileSync(join(directory, 'cache/blobs', name), 'base64')])

  it('are those that the commit alone writes', async () => {
    const [alone, before] = [temporary('store'), temporary('store')]
    const byCommit = openStore(storePaths(alone))
    byCommit.ingest.write(many(alone))
    byCommit.close()
    const store = openStore(storePaths(before))
    store.ingest.write(many(before), true)
    await store.ingest.flush()
    const written = segmentsIn(before)
    const reader = openForReading(storePaths(before))
    expect(listSessions(reader)).toEqual([])
    reader.close()
    expect(store.ingest.write([]).newEventCount).toBe(COUNT)
    store.close()
    expect(segmentsIn(before)).toEqual(written)
    expect(written).toEqual(segmentsIn(alone))
    expect(problemsOf(before)).toEqual([])
  })

  it('are all taken back when one of them cannot be written, and come in the next time', async () => {
    const directory = temporary('store')
    const obstacle = segmentPath(join(directory, 'cache/blobs'), 'test:s140')
    mkdirSync(obstacle, { recursive: true })
    const store = openStore(storePaths(directory))
    store.ingest.write(many(directory), true)
    await expect(store.ingest.flush()).rejects.toMatchObject({ where: obstacle })
    rmdirSync(obstacle)
    expect(store.ingest.write(many(directory)).newEventCount).toBe(COUNT)
    store.close()
    expect(problemsOf(directory)).toEqual([])
  })
})

describe('a memory that is not the cache’s own', () => {
  it('gets the sessions of the cache, and the sources are read again', () => {
    const directory = filled()
    const elsewhere = join(directory, 'elsewhere.db')
    const store = openStore(storePaths(directory, elsewhere))
    expect([...store.reader.sources.marks()].map((one) => one.adapterVersion)).toEqual([-1])
    store.ingest.settle(() => ({ repo: 'r', domain: null }))
    expect(listSessions(store.reader)).toMatchObject([
      { session_uid: 'test:a', repo: 'r', cost: { turns: 2 } },
    ])
    store.close()
  })
})

describe('migrations', () => {
  const STEPS = ['CREATE TABLE a (x)', 'ALTER TABLE a ADD COLUMN y', 'CREATE TABLE b (x)']
  it('bring any older schema to the last one, a step at a time', () => {
    for (let from = 0; from <= STEPS.length; from++) {
      const path = join(temporary('migrate'), 'x.db')
      openDatabase(path, STEPS.slice(0, from)).close()
      const database = openDatabase(path, STEPS)
      database.exec('INSERT INTO a (x, y) VALUES (1, 2); INSERT INTO b (x) VALUES (1)')
      database.close()
    }
  })

  it('take the ledger over as it was, when it came to be kept by number', () => {
    const path = join(temporary('migrate'), 'memory.db')
    const byNumber = MEMORY_MIGRATIONS.findIndex((step) => String(step).includes('CREATE TABLE ledger '))
    const old = openDatabase(path, MEMORY_MIGRATIONS.slice(0, byNumber))
    old.exec(`INSERT INTO usage VALUES ('b:2', 'r1', 5, 'm', 1, 2, 3, 4, 5, 6, 'turn', 1, 0, 7, 0),
      ('a:1', 'r1', NULL, NULL, 9, 8, 7, 6, 5, 4, 'response', 0, 1, NULL, 1), ('a:1', 'r0', 1, 'm', 0, 0, 0, 0, 0, 0, 'response', 0, 0, NULL, 1)`)
    const rows = (database: Database) =>
      database.prepare('SELECT * FROM usage ORDER BY session_uid, response_id').all()
    const before = rows(old)
    old.close()
    const now = openDatabase(path, MEMORY_MIGRATIONS)
    // Each record of before stands for one response.
    expect(rows(now)).toEqual(before.map((row) => ({ ...(row as object), responses: 1 })))
    now.close()
  })

  it('leave an index that holds words as it is, and put the fullest column first in an empty one', () => {
    const columns = (text: string): string[] => {
      const path = join(temporary('migrate'), 'cache.db')
      const old = openDatabase(path, CACHE_MIGRATIONS.slice(0, 5))
      if (text !== '') old.prepare('INSERT INTO words (rowid, prompt) VALUES (1, ?)').run(text)
      old.close()
      const now = openDatabase(path, CACHE_MIGRATIONS)
      const find = now.prepare("SELECT count(*) AS n FROM words WHERE words MATCH 'prompt : alpha'")
      expect(find.get()).toEqual({ n: text === '' ? 0 : 1 })
      const names = now.prepare("SELECT name FROM pragma_table_info('words')").all()
      now.close()
      return names.map((row) => (row as { name: string }).name)
    }
    expect(columns('alpha beta')).toEqual(['prompt', 'answer', 'work'])
    expect(columns('')).toEqual(['work', 'answer', 'prompt'])
  })

  it('leave the step before when one fails', () => {
    const path = join(temporary('migrate'), 'x.db')
    expect(() => openDatabase(path, [STEPS[0] as string, 'CREATE TABLE c (x); nonsense'])).toThrow()
    const database = openDatabase(path, STEPS)
    expect(database.prepare("SELECT name FROM sqlite_master WHERE name = 'c'").all()).toEqual([])
    database.close()
  })

  it('a transaction that throws leaves nothing', () => {
    const database = openDatabase(join(temporary('migrate'), 'x.db'), STEPS)
    expect(() =>
      transaction(database, () => {
        database.exec('INSERT INTO b VALUES (1)')
        throw new Error('no')
      }),
    ).toThrow('no')
    expect(database.prepare('SELECT * FROM b').all()).toEqual([])
    database.close()
  })
})

describe('verify', () => {
  const damage = (directory: string, sql: string): void => {
    const database = openDatabase(join(directory, 'cache/cache.db'), CACHE_MIGRATIONS)
    database.exec(sql)
    database.close()
  }

  it('finds nothing in a whole memory', () => {
    expect(problemsOf(filled())).toEqual([])
  })

  it.each([
    ['a lost payload row', 'DELETE FROM payloads'],
    ['a lost session', 'DELETE FROM cached'],
    ['a parent that is not there', 'UPDATE events SET parent_seq = 77'],
    ['an event that is not known by its key', 'DELETE FROM keys WHERE seq = 2'],
    ['a key of another event', 'UPDATE keys SET seq = seq + 1 WHERE seq = 2'],
    ['a key of no event', "INSERT INTO keys VALUES (x'00', 1, 1)"],
    ['a wrong counter', 'UPDATE cached SET event_count = 7'],
    ['a number given twice', 'UPDATE cached SET next_seq = 1'],
    ['words of an event that is gone', 'DELETE FROM events WHERE seq = 2'],
  ])('finds %s', (_, sql) => {
    const directory = filled()
    damage(directory, sql)
    expect(problemsOf(directory)).not.toEqual([])
  })

  it('finds a payload file that is gone, cut or changed', () => {
    for (const harm of ['gone', 'cut', 'changed']) {
      const directory = filled()
      const segment = segmentOf(directory)
      const bytes = readFileSync(segment)
      chmodSync(segment, 0o600)
      if (harm === 'gone') rmSync(segment)
      else if (harm === 'cut') writeFileSync(segment, bytes.subarray(0, bytes.length - 3))
      else
        writeFileSync(
          segment,
          bytes.map((byte, at) => (at === bytes.length - 6 ? byte ^ 1 : byte)),
        )
      expect(problemsOf(directory), harm).not.toEqual([])
    }
  })
})
