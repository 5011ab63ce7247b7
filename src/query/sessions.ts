// Sessions as readers see them: listing, and one by its uid.
import type { Session } from '../model.ts'
import type { SessionFilter } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import type { ListOptions } from '../store/reader/sessions.ts'
import { meant } from './meant.ts'

export type { ListOptions, SessionSort } from '../store/reader/sessions.ts'
export { resolveSession } from './ids.ts'

export const listSessions = (handle: Reader, options: ListOptions = {}): Session[] =>
  handle.sessions.of(handle.sessions.uids(meant(handle, options)))

export const countSessions = (handle: Reader, filter: SessionFilter): number =>
  handle.sessions.count(meant(handle, filter))

export const getSession = (handle: Reader, uid: string): Session | undefined => handle.sessions.of([uid])[0]

/** What sessions are called, by uid: their title, else what was asked first. */
export function sessionNames(handle: Reader, uids: readonly string[]): Map<string, string> {
  const titles = handle.sessions.titles(uids)
  const prompts = handle.sessions.firstPrompts(uids.filter((uid) => !titles.has(uid)))
  return new Map(uids.map((uid) => [uid, titles.get(uid) ?? prompts.get(uid) ?? '']))
}
