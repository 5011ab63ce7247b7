// Raw that is gone although nobody evicted it: the cache was deleted, or did not come along when the memory was moved. What
// the agents still have is read again by the next sweep; of the rest the digests are left.
import { existsSync } from 'node:fs'
import type { Reader } from '../store/reader/index.ts'

export interface RawLost {
  /** Where it was read from. */
  source_path: string | null
  /** The agent's own file is still there: a sweep reads it again. */
  source_exists: boolean
  /** What happened, and what can be done, in words. */
  text: string
}

/** Null where the events are in the cache, or were evicted: receipts tell of that. */
export function rawLost(handle: Reader, uid: string): RawLost | null {
  const absent = handle.storage.absent(uid)
  return absent ? lostFrom(absent.path) : null
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

export function countLost(handle: Reader): LostCounts {
  const lost: LostCounts = { again: 0, gone: 0, example: null }
  for (const { uid, path } of handle.storage.allAbsent()) {
    if (lostFrom(path).source_exists) lost.again++
    else {
      lost.gone++
      lost.example ??= uid
    }
  }
  return lost
}
