// One session being told, and how its records are named. The carry-over is plain, bounded JSON, so that it can live in a cursor.
import type { SessionItem } from '../adapter.ts'
import { numbered } from './bounded.ts'
import { type CallBook, newCallBook } from './calls.ts'
import { hashOf } from './text.ts'

export interface Thread {
  /** Native id of the session. */
  session: string
  calls: CallBook
  /** Key of the latest event: the parent of the next where the format has no links. */
  last: string | null
  /** [name of a record, index of its last event], of the latest records that gave more than one. */
  wide: [string, number][]
  /** [name, times seen] of the latest records without an id. */
  seen: [string, number][]
  /** Name of the latest record that had neither an id nor a time. */
  chain: string
  /** What was told of the session. */
  told: Omit<SessionItem, 'type' | 'session'>
}

export const newThread = (session: string): Thread => ({
  session,
  calls: newCallBook(),
  last: null,
  wide: [],
  seen: [],
  chain: '',
  told: {},
})

/** The record's id; else its content with its time; else its content in its place, so that no repetition is lost. */
export function recordName(
  thread: Pick<Thread, 'chain' | 'seen'>,
  record: unknown,
  id: string | undefined,
  ts: number | null,
): string {
  if (id) return id
  if (ts !== null) return numbered(thread.seen, hashOf(record))
  thread.chain = hashOf([thread.chain, record])
  return thread.chain
}

/**
 * A name for a record that is the same event in every session that holds a copy of it. In the form of a uuid: of keys in any
 * other form each holds only within its session.
 */
export function sharedName(value: unknown): string {
  const digits = `${hashOf(value)}${hashOf([value])}`
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
