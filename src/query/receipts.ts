// What is gone of a session, from its receipts.
import type { ReadHandle } from '../store/store.ts'

export interface Receipt {
  session_uid: string
  evicted_at: string
  /** `evicting` and `erasing` while it is under way. */
  state: 'evicting' | 'erasing' | 'evicted'
  reason: 'age' | 'soft_cap' | 'hard_cap' | 'forgotten'
  /** What left the disk. */
  bytes: number
  hash: string
  event_count: number
  first_seq: number
  last_seq: number
}

/** Oldest first. */
export function receiptsOf(handle: ReadHandle, uid: string): Receipt[] {
  const rows = handle.memory.prepare('SELECT * FROM receipts WHERE session_uid = ? ORDER BY at').all(uid)
  return (rows as unknown as (Receipt & { at: number })[]).map(({ at, ...row }) => ({
    ...row,
    evicted_at: new Date(at).toISOString(),
  }))
}
