// What was evicted of sessions, from their receipts, and whether it is still gone: a session that was read in again has
// its receipts still.
import { prepared } from '../store/database.ts'
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
  /** The events were read in again since. */
  is_restored: boolean
}

/** Oldest first. */
export const receiptsOf = (handle: ReadHandle, uid: string): Receipt[] => receiptsOfAll(handle, [uid])

/** The last receipt of each session for events that are not here. */
export function goneOf(handle: ReadHandle, uids: readonly string[]): Map<string, Receipt> {
  const gone = receiptsOfAll(handle, uids).filter((receipt) => !receipt.is_restored)
  return new Map(gone.map((receipt) => [receipt.session_uid, receipt]))
}

function receiptsOfAll(handle: ReadHandle, uids: readonly string[]): Receipt[] {
  const list = JSON.stringify(uids)
  const rows = prepared(
    handle.memory,
    'SELECT r.* FROM json_each(?) j CROSS JOIN receipts r ON r.session_uid = j.value ORDER BY r.at',
  ).all(list) as unknown as (Receipt & { at: number })[]
  if (rows.length === 0) return []
  const cached = prepared(
    handle.cache,
    'SELECT c.session_uid AS uid, c.evicted_seq AS seq FROM json_each(?) j CROSS JOIN cached c ON c.session_uid = j.value',
  ).all(list) as unknown as { uid: string; seq: number }[]
  const goneUntil = new Map(cached.map(({ uid, seq }) => [uid, seq]))
  return rows.map(({ at, ...row }) => ({
    ...row,
    evicted_at: new Date(at).toISOString(),
    is_restored: row.state === 'evicted' && row.last_seq > (goneUntil.get(row.session_uid) ?? row.last_seq),
  }))
}
