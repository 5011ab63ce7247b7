// Forgetting one session, raw and Tier 2: what would go, and then its going.
import type { EvictReport, ReadHandle } from '../store/store.ts'
import { compactQuietly, noteFreed, type RetentionOptions } from './apply.ts'
import { type Named, namesOf } from './json.ts'
import { holdingOf } from './sessions.ts'
import { allocatedBytes } from './usage.ts'

export interface ForgetPlan extends Named {
  uid: string
  eventCount: number
  /** Of its events and bodies in the cache, without what the index takes. */
  rawBytes: number
  decisionCount: number
  isPinned: boolean
  isSoleCopy: boolean
  /** The agent's own file, which stays. */
  sourcePath: string | null
}

/** What would go. Changes nothing. */
export function planForget(handle: ReadHandle, uid: string): ForgetPlan {
  const session = handle.memory
    .prepare(
      `SELECT event_count AS eventCount, source_path AS sourcePath,
         (SELECT count(*) FROM decisions d WHERE d.session_uid = s.session_uid) AS decisionCount
       FROM sessions s WHERE session_uid = ?`,
    )
    .get(uid) as Pick<ForgetPlan, 'eventCount' | 'sourcePath' | 'decisionCount'> | undefined
  return {
    uid,
    ...namesOf(handle)(uid),
    ...(session ?? { eventCount: 0, sourcePath: null, decisionCount: 0 }),
    ...holdingOf(handle, uid),
  }
}

export function forget(options: Pick<RetentionOptions, 'store' | 'paths' | 'now'>, uid: string): EvictReport {
  const { store, paths, now = Date.now() } = options
  store.evict([], now)
  compactQuietly(store)
  const before = allocatedBytes(paths.cacheDirectory)
  const done = store.evict([{ uid, reason: 'forgotten', bytes: 1 }], now)
  noteFreed(store, done.receipts, Math.max(0, before - allocatedBytes(paths.cacheDirectory)))
  return done
}
