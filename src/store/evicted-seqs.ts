// Keys of evicted events, as they are kept in Tier 2: which event of a session one was that comes again, and what a
// session held of which only a part is here.
import { type Database, prepared } from './database.ts'

export const KEY_BYTES = 8

export const nameOf = (key: Uint8Array): string => Buffer.from(key).toString('latin1', 0, KEY_BYTES)

/** Seqs of a session's evicted events, by `nameOf` their keys: kept in the order of events, which are numbered from 1 on. */
export function keptSeqs(
  memory: Database,
  uid: string,
  untilSeq = Number.POSITIVE_INFINITY,
): Map<string, number> {
  const kept = prepared(memory, 'SELECT keys FROM kept_keys WHERE session_uid = ?').get(uid)
  const { keys } = (kept ?? { keys: new Uint8Array() }) as { keys: Uint8Array }
  const end = Math.min(keys.length, untilSeq * KEY_BYTES)
  const seqs = new Map<string, number>()
  for (let at = 0; at < end; at += KEY_BYTES) seqs.set(nameOf(keys.subarray(at)), at / KEY_BYTES + 1)
  return seqs
}

/** Numbers of events, first and last of an unbroken row. */
export type Range = [first: number, last: number]

/** `[first, last]` of each unbroken row of numbers. */
export function rangesOf(numbers: readonly number[]): Range[] {
  const ranges: Range[] = []
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const range = ranges.at(-1)
    if (range?.[1] === number - 1) range[1] = number
    else ranges.push([number, number])
  }
  return ranges
}

/** Whether session ?2 holds the event of a row of `events`, or held it until it was evicted. */
export const IS_HELD = `(EXISTS (SELECT 1 FROM keys k WHERE k.key = events.key AND k.session = ?2)
  OR EXISTS (SELECT 1 FROM temp.gone g WHERE g.session = ?2 AND g.name = substr(events.key, 1, ${KEY_BYTES})))`

/** Puts the kept keys where statements over the cache find them, while sessions are compared. */
export class EvictedSeqs {
  readonly #cache: Database
  readonly #memory: Database

  constructor(cache: Database, memory: Database) {
    this.#cache = cache
    this.#memory = memory
    cache.exec(
      'CREATE TEMP TABLE IF NOT EXISTS gone (session INTEGER, name BLOB, PRIMARY KEY (session, name)) WITHOUT ROWID',
    )
  }

  /** Nothing where nothing of it was evicted. */
  load(session: number): void {
    const row = prepared(
      this.#cache,
      'SELECT session_uid, evicted_seq FROM cached WHERE id = ? AND evicted_seq > 0',
    ).get(session) as { session_uid: string; evicted_seq: number } | undefined
    if (!row) return
    const add = prepared(this.#cache, 'INSERT OR IGNORE INTO temp.gone VALUES (?, ?)')
    for (const name of keptSeqs(this.#memory, row.session_uid, row.evicted_seq).keys())
      add.run(session, Buffer.from(name, 'latin1'))
  }

  clear(): void {
    this.#cache.exec('DELETE FROM temp.gone')
  }
}
