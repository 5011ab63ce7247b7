// Everything a memory holds, as a value that two memories of equal content share: rows by name and native key, never by
// row id; payloads by what they say; the full-text index word by word. Times of our own doing are left out.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { EVENT_KINDS } from '../../src/model.ts'
import type { Database } from '../../src/store/database.ts'
import { databasesOf } from '../../src/store/databases.ts'
import type { StorePaths } from '../../src/store/reading.ts'
import { FLAG } from '../../src/store/rows.ts'
import { openStore } from '../../src/store/sqlite.ts'

type Row = Record<string, unknown>

export interface Dump {
  sessions: Row[]
  usage: Row[]
  limits: Row[]
  edges: Row[]
  /** By session, then by native key. */
  events: Record<string, Record<string, Row>>
  gaps: Row[]
  unknown: Row[]
  sources: Row[]
  redactions: Row
}

/** The same list as of `npm run dump`, with the reasons. */
const VOLATILE = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', '..', 'scripts', 'volatile-columns.json'), 'utf8'),
) as { columns: Record<string, string> }
const volatileColumns = new Set(Object.values(VOLATILE.columns).flatMap((columns) => columns.split(' ')))

const withoutVolatile = (table: string, row: Row): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !volatileColumns.has(`${table}.${name}`)))

const hex = (value: unknown): string | null =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : null

/** `base` is cut off paths, so that memories of equal trees in different places are equal. */
export function dumpStore(paths: StorePaths, base = ''): Dump {
  const store = openStore(paths)
  try {
    const { cache, memory } = databasesOf(store.reader)
    const { payload } = store.reader
    const all = (database: Database, sql: string): Row[] =>
      (database.prepare(sql).all() as unknown as Row[]).map((row) => relative(row, base))
    const sessions = all(memory, 'SELECT * FROM sessions ORDER BY session_uid')
    return {
      sessions: sessions.map((row) => withoutVolatile('sessions', row)),
      usage: all(memory, 'SELECT * FROM usage ORDER BY session_uid, response_id'),
      limits: all(memory, 'SELECT * FROM limits ORDER BY session_uid, name, slot'),
      edges: all(memory, 'SELECT * FROM edges ORDER BY session_uid, kind, parent_uid'),
      events: dumpEvents(cache, payload),
      gaps: all(
        cache,
        'SELECT path, offset, length, reason, detail FROM gaps ORDER BY path, offset, reason, detail',
      ),
      unknown: all(cache, 'SELECT * FROM unknown_records ORDER BY path, name'),
      sources: all(
        cache,
        `SELECT path, flavor, adapter_version, size, head_hash, head_length, tail_hash, offset, session_uid,
         missing_at IS NOT NULL AS is_missing FROM sources ORDER BY path`,
      ),
      redactions: Object.fromEntries(sessions.map((row) => [row['session_uid'], row['redactions']])),
    }
  } finally {
    store.close()
  }
}

function relative(row: Row, base: string): Row {
  if (base === '') return row
  const cut = (value: unknown): unknown => (typeof value === 'string' ? value.replaceAll(base, '') : value)
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, cut(value)]))
}

function dumpEvents(cache: Database, payload: (ref: string) => string | undefined): Dump['events'] {
  const words = indexedWords(cache)
  const touched = new Map<string, string[]>()
  for (const row of cache
    .prepare('SELECT * FROM touched ORDER BY session, seq, path')
    .all() as unknown as Row[]) {
    const at = `${row['session']}/${row['seq']}`
    touched.set(at, [...(touched.get(at) ?? []), row['path'] as string])
  }
  const spent = new Map<string, string[]>()
  for (const row of cache
    .prepare('SELECT * FROM spent ORDER BY session, response_id')
    .all() as unknown as Row[]) {
    const at = `${row['session']}/${row['seq']}`
    spent.set(at, [...(spent.get(at) ?? []), row['response_id'] as string])
  }
  const events: Dump['events'] = {}
  const rows = cache
    .prepare(
      `SELECT c.session_uid, e.*, p.key AS parent FROM events e JOIN cached c ON c.id = e.session
       LEFT JOIN events p ON p.session = e.session AND p.seq = e.parent_seq ORDER BY c.session_uid, e.seq`,
    )
    .all() as unknown as Row[]
  for (const { id, session, session_uid, parent_seq: _, ...row } of rows) {
    const body = payload(hex(row['payload']) as string)
    const ofSession = events[session_uid as string] ?? {}
    events[session_uid as string] = ofSession
    ofSession[hex(row['key']) as string] = {
      ...row,
      key: null,
      call: hex(row['call']),
      parent: hex(row['parent']),
      parent_key: hex(row['parent_key']),
      payload: body === undefined ? null : createHash('sha1').update(body).digest('hex'),
      files: touched.get(`${session}/${row['seq']}`) ?? [],
      responses: spent.get(`${session}/${row['seq']}`) ?? [],
      words: words.get(id as number) ?? null,
    }
  }
  return events
}

function indexedWords(cache: Database): Map<number, string> {
  cache.exec(
    "CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'words', 'instance')",
  )
  const found = new Map<number, ReturnType<typeof createHash>>()
  const rows = cache
    .prepare('SELECT doc, col, offset, term FROM temp.vocabulary ORDER BY doc, col, offset')
    .iterate()
  for (const row of rows as Iterable<{ doc: number; col: string; offset: number; term: string }>) {
    const hash = found.get(row.doc) ?? createHash('sha1')
    found.set(row.doc, hash.update(`${row.col}\0${row.offset}\0${row.term}\n`))
  }
  return new Map([...found].map(([doc, hash]) => [doc, hash.digest('hex')]))
}

/** Where two dumps differ, as short lines: what a failing test should print instead of two whole memories. */
export function differences(found: unknown, wanted: unknown, at = ''): string[] {
  if (Object.is(found, wanted)) return []
  const isTree = (value: unknown): value is Row => typeof value === 'object' && value !== null
  if (!isTree(found) || !isTree(wanted))
    return [
      `${at}: ${JSON.stringify(found)?.slice(0, 80)} instead of ${JSON.stringify(wanted)?.slice(0, 80)}`,
    ]
  const names = new Set([...Object.keys(found), ...Object.keys(wanted)])
  const lines: string[] = []
  for (const name of names) lines.push(...differences(found[name], wanted[name], `${at}/${name}`))
  return lines.slice(0, 40)
}

/** A turn told by usage.json before a better file told of its responses: kept, and counted nowhere. */
export const isRepetition = (row: Row): boolean =>
  row['is_nested'] === 1 && String(row['response_id']).startsWith('turn@')

const LIFECYCLE = EVENT_KINDS.indexOf('lifecycle')

/** Rows of a second file stand among those of the first by their time: which comes first of one moment is open, also around a rewind. */
export const loose = (row: Row): Row => ({
  ...row,
  seq: null,
  parent: null,
  flags: row['kind'] === LIFECYCLE ? (row['flags'] as number) & ~FLAG.superseded : row['flags'],
})
