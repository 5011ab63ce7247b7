// The shortest beginning of each session's id that still means that session, for lines that people read and type from.
import type { ReadHandle } from '../store/store.ts'
import { IS_NO_ALIAS } from './ids.ts'

const SHORTEST = 8
const STEP = 4
const AFTER_ALL = '\u{10ffff}'

/** By uid. One that shares its id with another flavor's session keeps its whole uid. */
export function shortIds(
  { memory }: Pick<ReadHandle, 'memory'>,
  uids: Iterable<string>,
): Map<string, string> {
  const same = memory.prepare(
    `SELECT session_uid FROM sessions WHERE native_session_id >= ? AND native_session_id < ? AND ${IS_NO_ALIAS} LIMIT 2`,
  )
  const shorten = (uid: string): string => {
    const native = uid.slice(uid.indexOf(':') + 1)
    for (let length = SHORTEST; ; length += STEP) {
      const start = native.slice(0, length)
      const found = same.all(start, start + AFTER_ALL) as unknown as { session_uid: string }[]
      if (found.length === 1 && found[0]?.session_uid === uid) return start
      if (length >= native.length) return uid
    }
  }
  return new Map([...uids].map((uid) => [uid, shorten(uid)]))
}
