// What a person writes beside a session: a title, a star, tags and notes. Rows and columns of Tier 2 that no re-reading and
// no eviction touches; forgetting the session takes them along.

import { addTo } from '../lists.ts'
import type { Note } from '../model.ts'
import { type Database, prepared, row, rows } from './database.ts'
import { Titles } from './titles.ts'

/** What is to be otherwise; what is not named stays as it is. */
export interface LabelChange {
  /** Null for the name it has without ours. */
  title?: string | null
  isStarred?: boolean
  addTags?: readonly string[]
  removeTags?: readonly string[]
  addNote?: { text: string; author: string }
  /** By its number. */
  removeNote?: number
}

/** Runs inside the caller's transaction. False where what is to be removed is not there: nothing else is changed then. */
export function changeLabels(memory: Database, uid: string, change: LabelChange, now: number): boolean {
  const run = (sql: string, ...values: (string | number | null)[]): number =>
    Number(prepared(memory, sql).run(...values).changes)
  const drops = [
    ...(change.removeTags ?? []).map((tag) => ['DELETE FROM tags WHERE session_uid = ? AND tag = ?', tag]),
    ...(change.removeNote === undefined
      ? []
      : [['DELETE FROM notes WHERE session_uid = ? AND number = ?', change.removeNote]]),
  ] as [string, string | number][]
  for (const [sql, name] of drops) if (run(sql, uid, name) === 0) return false
  for (const tag of change.addTags ?? [])
    run('INSERT OR IGNORE INTO tags (session_uid, tag) VALUES (?, ?)', uid, tag)
  if (change.addNote)
    run(
      `INSERT INTO notes (session_uid, number, at, text, author)
       SELECT ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4 FROM notes WHERE session_uid = ?1`,
      uid,
      now,
      change.addNote.text,
      change.addNote.author,
    )
  if (change.isStarred === true)
    run('UPDATE sessions SET starred_at = coalesce(starred_at, ?) WHERE session_uid = ?', now, uid)
  if (change.isStarred === false) run('UPDATE sessions SET starred_at = NULL WHERE session_uid = ?', uid)
  if (change.title !== undefined) new Titles(memory).writeOwn(uid, change.title)
  run('UPDATE sessions SET labelled_at = ? WHERE session_uid = ?', now, uid)
  return true
}

/** By session, each by the alphabet. */
export function tagsIn(memory: Database, uids: readonly string[]): Map<string, string[]> {
  const found = rows<{ uid: string; tag: string }>(
    memory,
    'SELECT t.session_uid AS uid, t.tag FROM json_each(?) j CROSS JOIN tags t ON t.session_uid = j.value ORDER BY t.tag',
    JSON.stringify(uids),
  )
  return listed(found, (one) => one.tag)
}

interface NoteRow extends Omit<Note, 'ts'> {
  uid: string
  at: number
}

/** By session, oldest first. */
export function notesIn(memory: Database, uids: readonly string[]): Map<string, Note[]> {
  const found = rows<NoteRow>(
    memory,
    `SELECT n.session_uid AS uid, n.number, n.at, n.text, n.author FROM json_each(?) j
     CROSS JOIN notes n ON n.session_uid = j.value ORDER BY n.number`,
    JSON.stringify(uids),
  )
  return listed(found, ({ number, at, text, author }) => ({
    number,
    ts: new Date(at).toISOString(),
    text,
    author,
  }))
}

function listed<R extends { uid: string }, T>(found: readonly R[], of: (row: R) => T): Map<string, T[]> {
  const lists = new Map<string, T[]>()
  for (const one of found) addTo(lists, one.uid, of(one))
  return lists
}

export interface NotedSession extends Note {
  session_uid: string
}

/** Every note there is, newest first. */
export const allNotes = (memory: Database): NotedSession[] =>
  rows<NoteRow>(
    memory,
    'SELECT session_uid AS uid, number, at, text, author FROM notes ORDER BY at DESC, session_uid, number DESC',
  ).map(({ uid, at, ...note }) => ({ session_uid: uid, ...note, ts: new Date(at).toISOString() }))

export interface Tag {
  tag: string
  /** Sessions under it. */
  sessions: number
}

/** Every tag there is, the most used first. */
export const allTags = (memory: Database): Tag[] =>
  rows(memory, 'SELECT tag, count(*) AS sessions FROM tags GROUP BY tag ORDER BY sessions DESC, tag')

/** One of these words was written beside a session. */
export interface Written {
  session_uid: string
  label: 'title' | 'tag' | 'note'
  at: number
  text: string
}

/** Names, tags and notes of the sessions (`s`) that a condition holds for. */
export const allWritten = (
  memory: Database,
  where: string,
  values: readonly (string | number)[],
): Written[] =>
  row(memory, 'SELECT 1 FROM sessions WHERE labelled_at IS NOT NULL LIMIT 1') === undefined
    ? []
    : rows(
        memory,
        `SELECT s.session_uid, 'title' AS label, s.labelled_at AS at, s.own_title AS text FROM sessions s
           WHERE s.own_title IS NOT NULL AND (${where})
         UNION ALL SELECT s.session_uid, 'tag', s.labelled_at, t.tag FROM tags t JOIN sessions s USING (session_uid) WHERE ${where}
         UNION ALL SELECT s.session_uid, 'note', n.at, n.text FROM notes n JOIN sessions s USING (session_uid) WHERE ${where}`,
        ...values,
        ...values,
        ...values,
      )
