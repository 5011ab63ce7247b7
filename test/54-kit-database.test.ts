// Databases of others, read without touching them: whatever state they are in, and while their program writes.
import { spawn } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Adapter, EventItem, Item, Position } from '../src/adapters/adapter.ts'
import {
  bounded,
  type DatabaseReader,
  databaseSource,
  jsonIn,
  messageEvents,
  newThread,
  partsOf,
  readDatabase,
  speakerOf,
} from '../src/adapters/kit/index.ts'
import { connect, type Database } from '../src/sqlite/driver.ts'
import { temporary, World } from './setup/sweeping.ts'

const READER: DatabaseReader = {
  tables: ['session', 'message'],
  *sessions(database) {
    const rows = database.rows(
      `SELECT session AS id, max(updated) AS updated, count(*) AS count FROM message GROUP BY session`,
    )
    for (const { id, updated, count } of rows)
      yield { id: String(id), updatedAt: Number(updated), mark: Number(count) }
  },
  *read(database, id) {
    const thread = newThread(id)
    const rows = database.rows(
      `SELECT id, created, ${bounded('data')} FROM message WHERE session = ? ORDER BY id`,
      id,
    )
    for (const row of rows) {
      const data = jsonIn(row, 'data', `message/${row['id']}`)
      if ('gap' in data) yield data.gap
      else
        yield* messageEvents(thread, {
          name: `m${row['id']}`,
          ts: Number(row['created']),
          speaker: speakerOf(data.value['role']) ?? 'system',
          parts: partsOf(data.value['content']),
        })
    }
  },
}

const ADAPTER: Adapter = {
  flavor: 'made-up',
  version: 1,
  roots: (env) => [join(env['HOME'] ?? '', '.made-up')],
  claim: (path) => (path.endsWith('.db') ? databaseSource(path) : null),
  read: ({ path }, from) => readDatabase(path, from, READER),
}

let directory: string
let path: string
let open: Database[]
beforeEach(() => {
  directory = join(temporary('database'), '.made-up')
  mkdirSync(directory)
  path = join(directory, 'sessions.db')
  open = []
})
afterEach(() => {
  for (const one of open) if (one.isOpen) one.close()
  vi.unstubAllEnvs()
})

function program(mode = 'wal'): Database {
  const database = connect(path)
  open.push(database)
  database.exec(`PRAGMA journal_mode = ${mode};
    CREATE TABLE IF NOT EXISTS session (id TEXT PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, session TEXT, created, updated, data);
    CREATE INDEX IF NOT EXISTS by_session ON message (session)`)
  return database
}

let clock = 1_700_000_000_000
const later = (): number => {
  clock += 1
  return clock
}

function say(database: Database, session: string, text: string, role = 'user'): void {
  clock += 1000
  database
    .prepare('INSERT INTO message (session, created, updated, data) VALUES (?, ?, ?, ?)')
    .run(session, clock, clock, JSON.stringify({ role, content: text }))
}

function read(from: Position | null = null): { events: EventItem[]; items: Item[]; position: Position } {
  const items: Item[] = []
  let position: Position = from ?? { offset: 0, state: null }
  for (const item of readDatabase(path, from, READER)) {
    if (item.type === 'position') ({ position } = item)
    else items.push(item)
  }
  position = JSON.parse(JSON.stringify(position)) as Position
  return { events: items.filter((item) => item.type === 'event'), items, position }
}
const said = (events: EventItem[]): (string | undefined)[] => events.map((event) => event.said)

/** Names, bytes and times of all that lies there. */
const state = (): string[] =>
  readdirSync(directory)
    .sort()
    .map((name) => {
      const { mtimeNs } = statSync(join(directory, name), { bigint: true })
      return `${name} ${mtimeNs} ${hash('sha1', readFileSync(join(directory, name)), 'hex')}`
    })

describe('a database', () => {
  it('whose rows all stand in the log is read with the log, and stays as it is', () => {
    const database = program()
    say(database, 'a', 'hello')
    // As a program that was killed leaves it: no checkpoint, no shared memory.
    for (const suffix of ['', '-wal']) copyFileSync(`${path}${suffix}`, join(directory, `left.db${suffix}`))
    path = join(directory, 'left.db')
    // A place of its own for what the reader copies: in the common one other test files come and go.
    const room = join(directory, '..', 'room')
    mkdirSync(room)
    const before = state()
    vi.stubEnv('TMPDIR', room)
    expect(said(read().events)).toEqual(['hello'])
    expect(state()).toEqual(before)
    expect(existsSync(`${path}-shm`)).toBe(false)
    expect(readdirSync(room)).toEqual([])
  })

  it.each(['wal', 'delete'])('that was closed is read where it lies (%s)', (mode) => {
    const database = program(mode)
    say(database, 'a', 'hello')
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    // The driver closes a file only when its statements are collected: as the last program to close it leaves it.
    directory = join(directory, 'closed')
    mkdirSync(directory)
    copyFileSync(path, join(directory, 'left.db'))
    path = join(directory, 'left.db')
    const before = state()
    expect(before).toHaveLength(1)
    expect(said(read().events)).toEqual(['hello'])
    expect(state()).toEqual(before)
  })

  it('tells a session again when a row of it changed in place, and no other', () => {
    const database = program()
    say(database, 'a', 'one')
    say(database, 'b', 'two')
    const first = read()
    expect(said(first.events)).toEqual(['one', 'two'])
    expect(read(first.position).items).toEqual([])
    const data = JSON.stringify({ role: 'user', content: 'one, better' })
    database.prepare('UPDATE message SET data = ?, updated = ? WHERE id = 1').run(data, later())
    say(database, 'a', 'three')
    const second = read(first.position)
    expect(said(second.events)).toEqual(['one, better', 'three'])
    expect(second.events[0]?.key).toBe(first.events[0]?.key)
    expect(second.events[1]?.parentKey).toBe(second.events[0]?.key)
    expect(read(second.position).items).toEqual([])
  })

  it('of very many sessions keeps a small cursor, and is not read twice', () => {
    const database = program()
    database.exec('BEGIN')
    for (let at = 0; at < 3000; at++) say(database, `session ${at}`, 'hello')
    database.exec('COMMIT')
    const first = read()
    expect(first.events).toHaveLength(3000)
    expect(JSON.stringify(first.position).length).toBeLessThan(64 << 10)
    expect(read(first.position).items).toEqual([])
    say(database, 'session 7', 'again')
    expect(said(read(first.position).events)).toEqual(['hello', 'again'])
  })

  it('stopped in the middle of a session, begins it again', () => {
    const database = program()
    for (let at = 0; at < 500; at++) say(database, 'a', `${at}`)
    const stopped: Item[] = []
    for (const item of readDatabase(path, null, READER)) {
      stopped.push(structuredClone(item))
      if (item.type === 'position') break
    }
    expect(stopped.length).toBeLessThan(300)
    const { position } = stopped.at(-1) as Extract<Item, { type: 'position' }>
    expect(read(position).events).toHaveLength(500)
  })

  it('has gaps where rows cannot be understood, and the rows around them', () => {
    const database = program()
    say(database, 'a', 'one')
    const insert = database.prepare(
      "INSERT INTO message (session, created, updated, data) VALUES ('a', 1, 1, ?)",
    )
    insert.run('{"role":')
    insert.run('[1]')
    insert.run(null)
    insert.run(`{"content":"${'x'.repeat(11 << 20)}"}`)
    say(database, 'a', 'two')
    const { events, items } = read()
    expect(said(events)).toEqual(['one', 'two'])
    const gaps = items.flatMap((item) => (item.type === 'gap' ? [[item.file, item.reason]] : []))
    expect(gaps).toEqual([
      ['message/2', 'not-json'],
      ['message/3', 'not-object'],
      ['message/4', 'schema'],
      ['message/5', 'oversize'],
    ])
  })

  it('that is none, or not the one that was meant, is a gap that waits', () => {
    const reasons = (): unknown[] =>
      read().items.map((item) => (item.type === 'gap' ? [item.reason, item.pending] : item))
    writeFileSync(path, '')
    expect(reasons()).toEqual([])
    writeFileSync(path, 'SQLite format 3\0 and no more')
    expect(reasons()).toEqual([['not-sqlite', true]])
    writeFileSync(path, 'nothing of the kind'.repeat(1000))
    expect(reasons()).toEqual([['not-sqlite', true]])
    writeFileSync(path, '')
    connect(path).exec('CREATE TABLE other (id)')
    expect(reasons()).toEqual([['schema', true]])
  })

  it('that has an endless view in the place of a table does not hold up a sweep', () => {
    connect(path).exec(`CREATE TABLE session (id TEXT PRIMARY KEY);
      CREATE VIEW message AS WITH RECURSIVE endless(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM endless)
        SELECT id, 'a' AS session, 1 AS created, 1 AS updated, '{}' AS data FROM endless`)
    expect(read().items).toMatchObject([{ type: 'gap', reason: 'schema', detail: 'no table message' }])
  })

  it('that is damaged in the middle never throws', () => {
    const database = program('delete')
    for (let at = 0; at < 400; at++) say(database, 'a', 'x'.repeat(200))
    database.close()
    const bytes = readFileSync(path)
    for (let at = 100; at < bytes.length; at += 4096) {
      const damaged = Buffer.from(bytes)
      damaged.fill(0x5a, at, at + 2000)
      writeFileSync(path, damaged)
      for (const item of read().items) expect(['event', 'gap']).toContain(item.type)
      writeFileSync(path, bytes)
      truncateSync(path, at)
      for (const item of read().items) expect(['event', 'gap']).toContain(item.type)
    }
  })

  it('is not read through a link', () => {
    const database = program()
    say(database, 'a', 'hello')
    const link = join(directory, 'link.db')
    symlinkSync(path, link)
    expect(() => [...readDatabase(link, null, READER)]).toThrow(/cannot open/)
  })
})

describe('a database that is being written to', () => {
  // Every transaction adds one to each of two tables and may checkpoint: a mixed copy would show different counts.
  const WRITER = `
    const { DatabaseSync } = require('@photostructure/sqlite')
    const database = new DatabaseSync(process.argv[1])
    database.exec('PRAGMA journal_mode = wal; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 3')
    database.exec('CREATE TABLE session (id, filler); CREATE TABLE message (id INTEGER PRIMARY KEY, session, created, updated, data)')
    process.stdout.write('ready')
    const [a, b] = ['session (id, filler)', 'message (session, data)'].map((into) => database.prepare('INSERT INTO ' + into + ' VALUES (?, ?)'))
    for (let at = 0; ; at++) {
      database.exec('BEGIN')
      if (at % 50 === 49) database.exec('DELETE FROM session; DELETE FROM message')
      a.run('s', 'x'.repeat(at % 5000))
      b.run('s', '{}')
      database.exec('COMMIT')
      // Nobody writes without a breath: some copies are to succeed, however the two processes share the processors.
      if (at % 20 === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)
    }`

  it('is read as it was at one moment', async () => {
    const writer = spawn(process.execPath, ['-e', WRITER, path], {
      cwd: join(import.meta.dirname, '..'),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    try {
      await once(writer.stdout, 'data')
      const seen = new Set<number>()
      for (let tries = 0; tries < 40 || seen.size <= 3; tries++) {
        // Every other time at a stand, wherever it is: on a busy machine it may else always be faster.
        writer.kill(tries % 2 === 0 ? 'SIGCONT' : 'SIGSTOP')
        const counts: number[][] = []
        const items = readDatabase(path, null, {
          tables: ['session', 'message'],
          sessions(database) {
            for (const row of database.rows(
              'SELECT (SELECT count(*) FROM session) AS a, (SELECT count(*) FROM message) AS b, (SELECT max(length(filler)) FROM session) AS c',
            ))
              counts.push([Number(row['a']), Number(row['b'])])
            return []
          },
          read: () => [],
        })
        try {
          expect([...items].filter((item) => item.type === 'gap')).toEqual([])
        } catch (error) {
          // A copy that cannot be made in eight tries is given up; never a wrong one.
          expect((error as Error).message).toMatch(/faster than it can be copied/)
          continue
        }
        const [[sessions, messages] = []] = counts
        expect(sessions).toBe(messages)
        seen.add(sessions as number)
      }
    } finally {
      writer.kill('SIGKILL')
      await once(writer, 'exit')
    }
  })
})

describe('a sweep', () => {
  it('goes on with a database where it stopped, whichever file grew', async () => {
    const world = new World()
    directory = join(world.home, '.made-up')
    mkdirSync(directory)
    path = join(directory, 'sessions.db')
    const database = program()
    say(database, 'a', 'one')
    say(database, 'b', 'two')
    const sweep = () => world.sweep({ adapters: [ADAPTER] })
    expect(await sweep()).toMatchObject({ newEventCount: 2, problems: [] })
    expect(await sweep()).toMatchObject({ counts: { unchanged: 1 } })
    say(database, 'b', 'three')
    expect(await sweep()).toMatchObject({ newEventCount: 1, changedEventCount: 0, counts: { appended: 1 } })
    const data = JSON.stringify({ role: 'user', content: 'one, better' })
    database.prepare('UPDATE message SET data = ?, updated = ? WHERE id = 1').run(data, later())
    expect(await sweep()).toMatchObject({ newEventCount: 0, changedEventCount: 1 })
    database.close()
    appendFileSync(path, '')
    expect(await sweep()).toMatchObject({ newEventCount: 0, changedEventCount: 0, problems: [] })
    const summaries = world.read(({ cache }) =>
      cache.prepare('SELECT summary FROM events ORDER BY session, seq').all(),
    )
    expect(summaries.map((row) => (row as { summary: string }).summary)).toEqual([
      'one, better',
      'two',
      'three',
    ])
    const again = new World(world.home)
    await again.sweep({ adapters: [ADAPTER] })
    expect(again.read(({ cache }) => cache.prepare('SELECT count(*) AS n FROM events').get())).toEqual({
      n: 3,
    })
  })
})
