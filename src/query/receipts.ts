// What was evicted of sessions, and whether it is still gone.
import type { Reader } from '../store/reader/index.ts'
import type { Receipt } from '../store/reader/storage.ts'

export type { Receipt } from '../store/reader/storage.ts'

/** Oldest first. */
export const receiptsOf = (handle: Reader, uid: string): Receipt[] => handle.storage.receiptsOf([uid])

/** The last receipt of each session for events that are not here. */
export function goneOf(handle: Reader, uids: readonly string[]): Map<string, Receipt> {
  const gone = handle.storage.receiptsOf(uids).filter((receipt) => !receipt.is_restored)
  return new Map(gone.map((receipt) => [receipt.session_uid, receipt]))
}
