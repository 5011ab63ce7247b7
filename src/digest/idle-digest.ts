// Gathers the facts of long sessions while the sweep that brought them in still reads others: its writer has time then.
// What is kept is what a later digest goes on from, so nothing depends on it: where a session changes afterwards, the
// store throws it away.
import { fromSqlite, RecollectError } from '../errors.ts'
import type { Store } from '../store/store.ts'
import { factsOf, KEEP_FROM } from './index.ts'
import { type SessionReader, sessionReader } from './reader.ts'

export class IdleDigest {
  readonly #store: Store
  readonly #reader: SessionReader
  readonly #waiting = new Set<string>()

  constructor(store: Store) {
    this.#store = store
    this.#reader = sessionReader(store.reader)
  }

  /** Sessions that were written to and committed. */
  add(uids: Iterable<string>): void {
    for (const uid of uids) {
      if (this.#store.reader.digests.countUnfolded(uid) >= KEEP_FROM) this.#waiting.add(uid)
    }
  }

  /** Of these payloads are still to be written; they come again when they are. */
  withdraw(uids: { has(uid: string): boolean }): void {
    for (const uid of this.#waiting) if (uids.has(uid)) this.#waiting.delete(uid)
  }

  /** Gathers one session; false when none is left. */
  next(): boolean {
    const [uid] = this.#waiting
    if (uid === undefined) return false
    this.#waiting.delete(uid)
    try {
      const { fold } = factsOf(this.#reader, uid, KEEP_FROM)
      if (fold) this.#store.ingest.keepFold(uid, fold)
    } catch (error) {
      // Whatever is wrong is named when its digest is made. After an error of SQLite's the transaction may be gone.
      if (!(error instanceof RecollectError))
        throw fromSqlite(error, 'cannot write to the memory', this.#store.path)
    }
    return true
  }
}
