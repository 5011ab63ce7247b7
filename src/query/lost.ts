// Raw that is gone although nobody evicted it: the cache was deleted, or did not come along when the memory was moved. What
// the agents still have is read again by the next sweep; of the rest the digests are left.
import { existsSync } from 'node:fs'
import type { ReadHandle } from '../store/store.ts'

export interface RawLost {
  /** Where it was read from. */
  source_path: string | null
  /** The agent's own file is still there: a sweep reads it again. */
  source_exists: boolean
  /** What happened, and what can be done, in words. */
  text: string
}

const IN_CACHE = 'next_seq - 1 > evicted_seq'
/** An eviction that was cut off has taken the rows, and not said so yet. */
const EXPECTED = `event_count > 0 AND evicted_at IS NULL
  AND session_uid NOT IN (SELECT session_uid FROM receipts WHERE state <> 'evicted')`

/** Null where the events are in the cache, or were evicted: receipts tell of that. */
export function rawLost({ memory, cache }: ReadHandle, uid: string): RawLost | null {
  const isHere = cache.prepare(`SELECT 1 FROM cached WHERE session_uid = ? AND ${IN_CACHE}`)
  if (isHere.get(uid) !== undefined) return null
  const session = memory
    .prepare(`SELECT source_path AS path FROM sessions WHERE session_uid = ? AND ${EXPECTED}`)
    .get(uid) as { path: string | null } | undefined
  return session ? lostFrom(session.path) : null
}

function lostFrom(path: string | null): RawLost {
  const exists = path !== null && existsSync(path)
  const text = exists
    ? "its events are not in the cache, which was deleted outside of Recollect; recollect sweep reads them again from the agent's own file"
    : "its events are gone: the cache was deleted outside of Recollect, and so was the agent's own file; its digest is what is left"
  return { source_path: path, source_exists: exists, text }
}

/** How many sessions, by whether a sweep can bring them back. */
export interface LostCounts {
  again: number
  gone: number
  /** One of the latter. */
  example: string | null
}

export function countLost({ memory, cache }: ReadHandle): LostCounts {
  const lost: LostCounts = { again: 0, gone: 0, example: null }
  const count = (database: ReadHandle['memory'], table: string): number =>
    (database.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n
  // As good as always all are there: then nothing is compared one by one.
  if (count(cache, `cached WHERE ${IN_CACHE}`) >= count(memory, `sessions WHERE ${EXPECTED}`)) return lost
  const here = cache.prepare(`SELECT session_uid AS uid FROM cached WHERE ${IN_CACHE}`).all()
  const present = new Set((here as unknown as { uid: string }[]).map((row) => row.uid))
  const rows = memory
    .prepare(`SELECT session_uid AS uid, source_path AS path FROM sessions WHERE ${EXPECTED}`)
    .all() as unknown as { uid: string; path: string | null }[]
  for (const { uid, path } of rows) {
    if (present.has(uid)) continue
    if (lostFrom(path).source_exists) lost.again++
    else {
      lost.gone++
      lost.example ??= uid
    }
  }
  return lost
}
