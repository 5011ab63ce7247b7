// From what a person types to a session or an event of it. The one place that knows the ways to name a session.
import { RecollectError } from '../errors.ts'
import type { ReadHandle } from '../store/store.ts'

type Memory = Pick<ReadHandle, 'memory'>

interface Candidate {
  session_uid: string
  started_at: number | null
  title: string | null
  /** What was typed is all of its name: behind an `@` an id says which of several of one name it is. */
  is_whole?: 0 | 1
}

/** A lineage log names sessions that other flavors tell: by its id such a session is meant, not the log's name for it. */
export const IS_NO_ALIAS = `(flavor <> 'lineage' OR NOT EXISTS (SELECT 1 FROM sessions o
  WHERE o.native_session_id = sessions.native_session_id AND o.flavor <> 'lineage'))`

/** How many sessions are named when what was typed fits several. */
const SHOWN = 8

/** How a session can be named; for the help of every command that takes one. */
export const ID_HELP = 'session uid, id, unique prefix, @last or @last~N'

/** `<flavor>:<id>`, an id, any unique prefix of either, `@last`, `@last~2`; a `#SEQ` behind it is passed over. */
export function resolveSession(handle: Memory, typed: string): string {
  return resolveEvent(handle, typed).uid
}

/** The same with `#SEQ`: one event of the session. */
export function resolveEvent(handle: Memory, typed: string): { uid: string; seq?: number } {
  if (typed.trim() === '')
    throw new RecollectError('USAGE', 'an empty id names no session', { where: 'id', hint: ID_HELP })
  // To SQLite a text ends there: what stands before it, nothing perhaps, would be taken for a beginning.
  if (typed.includes('\0')) throw notThere(typed)
  const known = exactly(handle, typed)
  if (known !== undefined) return { uid: known }
  const [, id, seq] = /^(.*?)(?:#(\d{1,15}))?$/s.exec(typed) as unknown as [string, string, string?]
  const uid = nth(handle, id) ?? exactly(handle, id) ?? byPrefix(handle, id)
  return seq === undefined ? { uid } : { uid, seq: Number(seq) }
}

function exactly(handle: Memory, id: string): string | undefined {
  const found = handle.memory
    .prepare(
      `SELECT session_uid FROM sessions WHERE session_uid = ?1 OR (native_session_id = ?1 AND ${IS_NO_ALIAS}) LIMIT 2`,
    )
    .all(id) as unknown as Candidate[]
  return found.length === 1 ? found[0]?.session_uid : undefined
}

/** `@last` and the ones before it, by their last sign of life. */
function nth(handle: Memory, id: string): string | undefined {
  if (!id.startsWith('@')) return undefined
  const match = /^@last(?:~(\d{1,9}))?$/.exec(id)
  if (!match)
    throw new RecollectError('USAGE', `${id} names no session`, {
      where: id,
      hint: '@last is the newest session, @last~1 the one before it',
    })
  const row = handle.memory
    .prepare(
      `SELECT session_uid FROM sessions WHERE relation <> 'subagent' AND (event_count > 0 OR evicted_at IS NOT NULL)
       ORDER BY ended_at DESC, session_uid LIMIT 1 OFFSET ?`,
    )
    .get(Number(match[1] ?? 0)) as Candidate | undefined
  if (row) return row.session_uid
  throw new RecollectError(
    'NOT_FOUND',
    match[1] ? `there are not so many sessions` : 'no session is remembered yet',
    {
      where: id,
      hint: match[1] ? 'recollect sessions lists them' : 'run: recollect sweep',
    },
  )
}

function byPrefix(handle: Memory, id: string): string {
  const near =
    id === ''
      ? []
      : (handle.memory
          .prepare(
            `SELECT session_uid, started_at, title,
             ?1 || '@' IN (substr(session_uid, 1, length(?1) + 1), substr(native_session_id, 1, length(?1) + 1)) AS is_whole
             FROM sessions WHERE substr(session_uid, 1, length(?1)) = ?1
             OR (substr(native_session_id, 1, length(?1)) = ?1 AND ${IS_NO_ALIAS})
             ORDER BY is_whole DESC, started_at DESC LIMIT ${SHOWN + 1}`,
          )
          .all(id) as unknown as Candidate[])
  const [first, second] = near
  if (first && (!second || (first.is_whole && !second.is_whole))) return first.session_uid
  if (near.length > 1)
    throw new RecollectError('AMBIGUOUS', `several sessions begin with ${id}`, {
      where: id,
      hint: `one of\n${near.slice(0, SHOWN).map(candidateLine).join('\n')}${near.length > SHOWN ? '\n  and more' : ''}`,
    })
  throw notThere(id)
}

const notThere = (id: string): RecollectError =>
  new RecollectError('NOT_FOUND', `no session ${id}`, { where: id, hint: 'recollect sessions lists them' })

function candidateLine({ session_uid, started_at, title }: Candidate): string {
  const when =
    started_at === null ? '' : `${new Date(started_at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  // Recorded words stay on the line: a second one would look like another session.
  const words = [session_uid, when, title ?? ''].map((one) => one.replace(/[\s\p{Cc}]+/gu, ' '))
  return `  ${words.join('  ')}`.trimEnd()
}
