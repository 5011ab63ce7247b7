// From what a person types to a session or an event of it. The one place that knows the ways to name a session.
import { RecollectError } from '../errors.ts'
import type { Reader } from '../store/reader/index.ts'
import type { NearSession } from '../store/reader/session-names.ts'

/** How many sessions are named when what was typed fits several. */
const SHOWN = 8

/** How a session can be named; for the help of every command that takes one. */
export const ID_HELP = 'session uid, id, unique prefix, @last or @last~N'

/** `<flavor>:<id>`, an id, any unique prefix of either, `@last`, `@last~2`; a `#SEQ` behind it is passed over. */
export function resolveSession(handle: Reader, typed: string): string {
  return resolveEvent(handle, typed).uid
}

export interface NamedEvents {
  uid: string
  seq?: number
  /** Of a range. */
  lastSeq?: number
}

/** The same with `#SEQ`, one event of the session, or `#SEQ-SEQ`, those from one to another. */
export function resolveEvent(handle: Reader, typed: string): NamedEvents {
  if (typed.trim() === '')
    throw new RecollectError('USAGE', 'an empty id names no session', { where: 'id', hint: ID_HELP })
  // To SQLite a text ends there: what stands before it, nothing perhaps, would be taken for a beginning.
  if (typed.includes('\0')) throw notThere(typed)
  const known = handle.sessions.exactly(typed)
  if (known !== undefined) return { uid: known }
  const [, id, seq, last] = /^(.*?)(?:#(\d{1,15})(?:-#?(\d{1,15}))?)?$/s.exec(typed) as unknown as [
    string,
    string,
    string?,
    string?,
  ]
  const uid = nth(handle, id) ?? handle.sessions.exactly(id) ?? byPrefix(handle, id)
  if (seq === undefined) return { uid }
  if (last === undefined) return { uid, seq: Number(seq) }
  if (Number(last) >= Number(seq)) return { uid, seq: Number(seq), lastSeq: Number(last) }
  throw new RecollectError('USAGE', `#${seq}-${last} ends before it begins`, {
    where: typed,
    hint: `the smaller number first: ${id}#${last}-${seq}`,
  })
}

/** `@last` and the ones before it, by their last sign of life. */
function nth(handle: Reader, id: string): string | undefined {
  if (!id.startsWith('@')) return undefined
  const match = /^@last(?:~(\d{1,9}))?$/.exec(id)
  if (!match)
    throw new RecollectError('USAGE', `${id} names no session`, {
      where: id,
      hint: '@last is the newest session, @last~1 the one before it',
    })
  const uid = handle.sessions.nthNewest(Number(match[1] ?? 0))
  if (uid !== undefined) return uid
  throw new RecollectError(
    'NOT_FOUND',
    match[1] ? `there are not so many sessions` : 'no session is remembered yet',
    {
      where: id,
      hint: match[1] ? 'recollect sessions lists them' : 'run: recollect sweep',
    },
  )
}

function byPrefix(handle: Reader, id: string): string {
  const near = id === '' ? [] : handle.sessions.beginningWith(id, SHOWN + 1)
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

function candidateLine({ session_uid, started_at, title }: NearSession): string {
  const when =
    started_at === null ? '' : `${new Date(started_at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
  // Recorded words stay on the line: a second one would look like another session.
  const words = [session_uid, when, title ?? ''].map((one) => one.replace(/[\s\p{Cc}]+/gu, ' '))
  return `  ${words.join('  ')}`.trimEnd()
}
