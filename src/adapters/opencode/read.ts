// The database of opencode and its forks: rows of sessions, messages and parts, which change in place.
import type { Item, Position, Read } from '../adapter.ts'
import {
  bounded,
  type ForeignDatabase,
  jsonIn,
  jsonRows,
  type Row,
  readSessionTables,
} from '../kit/database.ts'
import { fieldsIn, str, time } from '../kit/guards.ts'
import { noteEvent } from '../kit/messages.ts'
import { newThread } from '../kit/thread.ts'
import { type Message, type Session, type StoredPart, tellSession } from './tell.ts'
import { readTree } from './tree.ts'

const FLAVOR = 'opencode'

export const read: Read = ({ path }, from) =>
  path.endsWith('.json') ? readTree(FLAVOR, path, from) : readFork(FLAVOR, path, from)

const STORES = ['message', 'part', 'session_message']
const SUMS = 'count(*) AS count, max(time_updated) AS at, sum(octet_length(data)) AS size'

/** The database of opencode, or of a fork of it. */
export const readFork = (flavor: string, path: string, from: Position | null): Iterable<Item> =>
  readSessionTables(path, from, {
    tables: ['session', 'message', 'part'],
    updatedAt: (row) => time(row['time_updated']),
    sums: (database) =>
      STORES.filter((table) => database.has(table, 'session_id', 'time_updated', 'data')).map((table) => [
        table,
        SUMS,
      ]),
    // Sums over messages that are marked already.
    without: ['cost', 'summary_diffs'],
    tell: (database, row) => tell(flavor, database, row),
  })

function* tell(flavor: string, database: ForeignDatabase, row: Row): Generator<Item> {
  const id = String(row['id'])
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
  const parentId = str(row['parent_id']) ?? forkedFrom(database, row)
  const kind = str(row['parent_id']) ? 'subagent' : 'interactive_fork'
  return {
    id: String(row['id']),
    createdAt: time(row['time_created']),
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
  for (const one of jsonRows(rows, 'message', 'data', jsonIn)) {
    const id = String(one.row['id'])
    if ('gap' in one) yield one
    yield { id, data: 'gap' in one ? {} : one.value, parts: parts(database, id) }
  }
}

function* parts(database: ForeignDatabase, message: string): Generator<StoredPart> {
  const sql = `SELECT id, ${bounded('data')} FROM part WHERE message_id = ? ORDER BY id`
  for (const one of jsonRows(database.rows(sql, message), 'part', 'data', jsonIn))
    yield 'gap' in one ? one : { id: String(one.row['id']), data: one.value }
}

/** What newer versions may keep instead, in a vocabulary that no client has been seen to write: kept, and counted. */
function* otherMessages(database: ForeignDatabase, session: string): Generator<Item> {
  if (!database.has('session_message', 'type', 'seq')) return
  const thread = newThread(session)
  const rows = database.rows(
    `SELECT id, type, time_created, ${bounded('data')} FROM session_message WHERE session_id = ? ORDER BY seq`,
    session,
  )
  for (const one of jsonRows(rows, 'session_message', 'data', jsonIn)) {
    const { id, type, time_created } = one.row
    if ('gap' in one) yield one.gap
    else {
      const about = { name: String(id), ts: time(time_created), summary: `(not known: ${type})` }
      yield noteEvent(thread, { ...about, payload: one.value })
      yield { type: 'unknown', name: `session_message ${type}` }
    }
  }
}
