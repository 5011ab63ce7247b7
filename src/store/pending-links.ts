// Events whose parent was not there yet when they were written: known by its key, by its call, or only by a name that
// stands for a call in another source. What a name leads to for want of better is looked up again until it is sure, so
// that the order in which sources are read changes nothing.
import type { Batch } from './batch.ts'
import type { Database, Statement } from './database.ts'
import { ROLES } from './rows.ts'
import { Superseded } from './superseded.ts'

/** A sure one stays; a guess gives way to whatever comes after it. */
const NAME = `INSERT INTO names (session, name, target, is_guess) VALUES (?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET target = excluded.target, is_guess = excluded.is_guess WHERE is_guess`

export const nameStatement = (cache: Database): Statement => cache.prepare(NAME)

export function writeNames(names: Batch['names'], insert: Statement, idOf: (uid: string) => number): void {
  for (const { sessionUid, name, target, isGuess } of names)
    insert.run(idOf(sessionUid), name, target, isGuess ? 1 : 0)
}

export function linkPending(cache: Database, sessions: readonly { id: number }[]): void {
  const link = cache.prepare(
    `UPDATE events SET (parent_seq, parent_key) =
       (SELECT k.seq, NULL FROM keys k WHERE k.key = events.parent_key AND k.session = events.session)
     WHERE session = ? AND parent_key IS NOT NULL
       AND EXISTS (SELECT 1 FROM keys k WHERE k.key = events.parent_key AND k.session = events.session)`,
  )
  const byCall = linkerByCall(cache)
  const superseded = new Superseded(cache)
  for (const { id } of sessions) {
    const isLinked = link.run(id).changes > 0
    if (byCall(id) || isLinked) superseded.settle(id)
  }
}

interface Waiting {
  id: number
  name: Uint8Array
}

/** Returns whether anything hangs otherwise than before. */
function linkerByCall(cache: Database): (session: number) => boolean {
  const waiting = cache.prepare(
    `SELECT id, substr(parent_key, 1, 8) AS name FROM events
     WHERE session = ? AND parent_key IS NOT NULL AND substr(parent_key, 9) = x'00000000'`,
  )
  const named = cache.prepare('SELECT target, is_guess FROM names WHERE session = ? AND name = ?')
  const seqOf = cache.prepare(
    `SELECT seq FROM events WHERE session = ? AND call = ? AND role <> ${ROLES.indexOf('tool')} ORDER BY seq LIMIT 1`,
  )
  const hang = cache.prepare(
    `UPDATE events SET parent_seq = ?1, parent_key = iif(?2, parent_key, NULL)
     WHERE id = ?3 AND (parent_seq IS NOT ?1 OR NOT ?2)`,
  )
  const lookUp = (session: number, name: Uint8Array) =>
    named.get(session, name) as { target: Uint8Array; is_guess: number } | undefined
  return (session) => {
    let isLinked = false
    for (const { id, name } of waiting.all(session) as unknown as Waiting[]) {
      const first = lookUp(session, name)
      const call = first?.is_guess ? lookUp(session, first.target)?.target : (first?.target ?? name)
      const found = call && (seqOf.get(session, call) as { seq: number } | undefined)
      if (found && hang.run(found.seq, first?.is_guess ?? 0, id).changes > 0) isLinked = true
    }
    return isLinked
  }
}
