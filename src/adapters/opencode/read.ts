// The database of opencode and its forks: rows of sessions, messages and parts, which change in place.
import type { Position, Read, Source } from '../adapter.ts'
import {
  bounded,
  type DatabaseReader,
  type ForeignDatabase,
  fieldsIn,
  type Item,
  jsonIn,
  type Marked,
  newThread,
  noteEvent,
  type Row,
  readDatabase,
  str,
  time,
} from '../kit/index.ts'
import { type Message, type Session, tellSession } from './tell.ts'
import { readTree } from './tree.ts'

const FLAVOR = 'opencode'

export const read: Read = ({ path }: Source, from: Position | null) =>
  path.endsWith('.json') ? readTree(FLAVOR, path, from) : readDatabase(path, from, reader(FLAVOR))

export const reader = (flavor: string): DatabaseReader => ({
  tables: ['session', 'message', 'part'],
  sessions,
  read: (database, id) => tell(flavor, database, id),
})

function* sessions(database: ForeignDatabase): Generator<Marked> {
  const marks = new Map<unknown, unknown[]>()
  for (const table of ['message', 'part', 'session_message'])
    if (database.has(table, 'session_id', 'time_updated', 'data'))
      for (const { id, ...rest } of database.rows(
        `SELECT session_id AS id, count(*) AS count, max(time_updated) AS at, sum(octet_length(data)) AS size FROM ${table} GROUP BY session_id`,
      ))
        marks.set(id, [...(marks.get(id) ?? []), rest])
  for (const row of database.rows('SELECT * FROM session')) {
    // Sums over messages that are marked already.
    const { cost: _cost, summary_diffs: _diffs, ...own } = row
    yield { id: String(row['id']), updatedAt: time(row['time_updated']), mark: [own, marks.get(row['id'])] }
  }
}

function* tell(flavor: string, database: ForeignDatabase, id: string): Generator<Item> {
  const [row] = database.rows('SELECT * FROM session WHERE id = ?', id)
  if (!row) return
  let count = 0
  const counted = function* (): Generator<Message | { gap: Item }> {
    for (const message of messages(database, id)) {
      count++
      yield message
    }
  }
  yield* tellSession(flavor, sessionOf(database, row), counted())
  if (count === 0) yield* otherMessages(database, id)
}

function sessionOf(database: ForeignDatabase, row: Row): Session {
  const id = String(row['id'])
  const createdAt = time(row['time_created'])
  const parentId = str(row['parent_id']) ?? forkedFrom(database, row)
  const kind = str(row['parent_id']) ? 'subagent' : 'interactive_fork'
  return {
    id,
    createdAt,
    directory: str(row['directory']),
    title: str(row['title']),
    version: str(row['version']),
    branch: branchOf(database, str(row['workspace_id'])),
    parent: parentId === undefined ? undefined : { id: parentId, kind },
    revertedFrom: str(fieldsIn(row['revert'])['messageID']),
  }
}

function branchOf(database: ForeignDatabase, workspace: string | undefined): string | undefined {
  if (workspace === undefined || !database.has('workspace', 'branch')) return undefined
  const [row] = database.rows('SELECT branch FROM workspace WHERE id = ?', workspace)
  return str(row?.['branch'])
}

/**
 * A fork names nobody, but holds messages that are older than itself. It comes from an older session with the latest of
 * them; of several, from the one whose title it carries on.
 */
function forkedFrom(database: ForeignDatabase, { id, title, time_created: at }: Row): string | undefined {
  const [copied] = database.rows(
    'SELECT max(time_created) AS at FROM message WHERE session_id = ? AND time_created < ?',
    String(id),
    Number(at),
  )
  if (typeof copied?.['at'] !== 'number') return undefined
  const found = [
    ...database.rows(
      `SELECT DISTINCT s.id, s.title FROM message m JOIN session s ON s.id = m.session_id
       WHERE m.time_created = ? AND s.id <> ? AND s.time_created < ? ORDER BY s.time_created, s.id`,
      copied['at'],
      String(id),
      Number(at),
    ),
  ]
  const [, base, number] = /^(.*) \(fork #(\d+)\)$/s.exec(String(title)) ?? []
  const before = Number(number) > 1 ? `${base} (fork #${Number(number) - 1})` : base
  return str((found.find((one) => one['title'] === before) ?? found[0])?.['id'])
}

function* messages(database: ForeignDatabase, session: string): Generator<Message | { gap: Item }> {
  const rows = database.rows(
    `SELECT id, ${bounded('data')} FROM message WHERE session_id = ? ORDER BY time_created, id`,
    session,
  )
  for (const row of rows) {
    const id = String(row['id'])
    const data = jsonIn(row, 'data', `message/${id}`)
    if ('gap' in data) yield data
    yield { id, data: 'gap' in data ? {} : data.value, parts: parts(database, id) }
  }
}

function* parts(
  database: ForeignDatabase,
  message: string,
): Generator<{ id: string; data: Message['data'] } | { gap: Item }> {
  const rows = database.rows(
    `SELECT id, ${bounded('data')} FROM part WHERE message_id = ? ORDER BY id`,
    message,
  )
  for (const row of rows) {
    const id = String(row['id'])
    const data = jsonIn(row, 'data', `part/${id}`)
    yield 'gap' in data ? data : { id, data: data.value }
  }
}

/** What newer versions may keep instead, in a vocabulary that no client has been seen to write: kept, and counted. */
function* otherMessages(database: ForeignDatabase, session: string): Generator<Item> {
  if (!database.has('session_message', 'type', 'seq')) return
  const thread = newThread(session)
  const rows = database.rows(
    `SELECT id, type, time_created, ${bounded('data')} FROM session_message WHERE session_id = ? ORDER BY seq`,
    session,
  )
  for (const row of rows) {
    const name = String(row['id'])
    const data = jsonIn(row, 'data', `session_message/${name}`)
    if ('gap' in data) yield data.gap
    else {
      const ts = time(row['time_created'])
      const summary = `(not known: ${row['type']})`
      yield noteEvent(thread, { name, ts, kind: 'lifecycle', summary, payload: data.value })
      yield { type: 'unknown', name: `session_message ${row['type']}` }
    }
  }
}
