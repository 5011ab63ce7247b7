// Which sessions are gone on purpose: asked for one at a time, because there may be a million of them.
import { type Database, prepared } from './database.ts'

/** How much of a session's raw was evicted. */
export function evictedPart(cache: Database, uid: string): 'all' | 'some' | 'none' {
  const row = prepared(
    cache,
    'SELECT next_seq - 1 = evicted_seq AS isAll FROM cached WHERE session_uid = ? AND evicted_seq > 0',
  ).get(uid) as { isAll: number } | undefined
  return row === undefined ? 'none' : row.isAll === 1 ? 'all' : 'some'
}

export const hasEvicted = (cache: Database): boolean =>
  cache.prepare('SELECT 1 FROM cached WHERE evicted_seq > 0 LIMIT 1').get() !== undefined

/** Whether no sweep may bring it back. */
export const isForgotten = (memory: Database, uid: string): boolean =>
  prepared(memory, "SELECT 1 FROM receipts WHERE session_uid = ? AND reason = 'forgotten' LIMIT 1").get(
    uid,
  ) !== undefined

export const hasForgotten = (memory: Database): boolean =>
  memory.prepare("SELECT 1 FROM receipts WHERE reason = 'forgotten' LIMIT 1").get() !== undefined
