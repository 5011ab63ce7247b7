// The shortest beginning of each session's id that still means that session, for lines that people read and type from.
import type { Reader } from '../store/reader/index.ts'

const SHORTEST = 8
const STEP = 4
/** From so many on, all of them are looked at. */
const MANY = 500

/** By uid. One that shares its id with another flavor's session keeps its whole uid. */
export function shortIds(handle: Reader, uids: Iterable<string>): Map<string, string> {
  const wanted = [...uids]
  if (wanted.length > MANY) return shortenMany(handle, wanted)
  const shorten = (uid: string): string => {
    const native = uid.slice(uid.indexOf(':') + 1)
    for (let length = SHORTEST; ; length += STEP) {
      const start = native.slice(0, length)
      const found = handle.sessions.sharingBeginning(start)
      if (found.length === 1 && found[0] === uid) return start
      if (length >= native.length) return uid
    }
  }
  return new Map(wanted.map((uid) => [uid, shorten(uid)]))
}

/** All ids in order, once: what an id shares with any other it shares with one beside it. */
function shortenMany(handle: Reader, wanted: readonly string[]): Map<string, string> {
  const rows = handle.sessions.nativeIds()
  const short = new Map<string, string>()
  let before = 0
  for (const [at, { uid, native }] of rows.entries()) {
    const after = commonLength(native, rows[at + 1]?.native ?? '')
    const needed = Math.max(before, after) + 1
    const length = SHORTEST + Math.max(0, Math.ceil((needed - SHORTEST) / STEP)) * STEP
    short.set(uid, needed > native.length ? uid : native.slice(0, length))
    before = after
  }
  return new Map(wanted.map((uid) => [uid, short.get(uid) ?? uid]))
}

function commonLength(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}
