// Forgetting one session, raw and Tier 2: what would go, and then its going.
import type { Reader } from '../store/reader/index.ts'
import type { SessionName } from '../store/reader/sessions.ts'
import type { Forgettable } from '../store/reader/storage.ts'
import type { EvictReport } from '../store/store.ts'
import { compactQuietly, noteFreed, type RetentionOptions } from './apply.ts'
import { holdingOf } from './sessions.ts'
import { allocatedBytes } from './usage.ts'

export interface ForgetPlan extends SessionName, Forgettable {
  uid: string
  /** Of its events and bodies in the cache, without what the index takes. */
  rawBytes: number
  isPinned: boolean
  isSoleCopy: boolean
}

/** What would go. Changes nothing. */
export function planForget(handle: Reader, uid: string): ForgetPlan {
  return {
    uid,
    ...handle.sessions.nameOf(uid),
    ...(handle.storage.forgettable(uid) ?? {
      eventCount: 0,
      sourcePath: null,
      decisionCount: 0,
      noteCount: 0,
    }),
    ...holdingOf(handle, uid),
  }
}

export function forget(options: Pick<RetentionOptions, 'store' | 'paths' | 'now'>, uid: string): EvictReport {
  const { store, paths, now = Date.now() } = options
  store.archive.evict([], now)
  compactQuietly(store)
  const before = allocatedBytes(paths.cacheDirectory)
  const done = store.archive.evict([{ uid, reason: 'forgotten', bytes: 1 }], now)
  noteFreed(store, done.receipts, Math.max(0, before - allocatedBytes(paths.cacheDirectory)))
  return done
}
