// Sub-agents that were started in a part of the conversation which was taken back: what they did is taken back with it,
// in whichever order their files and the rewind are read. What they spent was spent: the ledger does not look at this.

import type { Database } from './database.ts'
import { FLAG } from './rows.ts'
import type { CachedSession } from './session-row.ts'

interface Aside {
  seq: number
  parent: number | null
  flags: number
}

/** What is told again elsewhere was not taken back. */
const isTaken = (flags: number): boolean => (flags & (FLAG.superseded | FLAG.repeated)) === FLAG.superseded

export class Superseded {
  readonly #sql: ReturnType<typeof statements>

  constructor(cache: Database) {
    this.#sql = statements(cache)
  }

  /** Flags of the next event, beside the conversation, that hangs on this one. */
  flagsBelow({ id, nextSeq, lastFlags }: CachedSession, parentSeq: number | null): number {
    if (parentSeq === null) return 0
    // Almost always on the one before.
    const flags = parentSeq === nextSeq - 2 && lastFlags !== null ? lastFlags : this.#flagsOf(id, parentSeq)
    return isTaken(flags) ? FLAG.superseded : 0
  }

  #flagsOf(session: number, seq: number): number {
    const row = this.#sql.flags.get(session, seq) as { flags: number } | undefined
    return row?.flags ?? 0
  }

  /** After something was taken back, or after events found the call they hang on. */
  settle(session: number): void {
    if (!this.#sql.any.get(session)) return
    const rows = this.#sql.aside.all(session) as unknown as Aside[]
    const taken = new Set(rows.flatMap((row) => (isTaken(row.flags) ? [row.seq] : [])))
    const found: number[] = []
    // A sub-agent may be numbered before the call that started it.
    for (let before = -1; before !== taken.size; ) {
      before = taken.size
      for (const { seq, parent } of rows) {
        if (parent === null || taken.has(seq) || !taken.has(parent)) continue
        taken.add(seq)
        found.push(seq)
      }
    }
    for (const seq of found) {
      this.#sql.take.run(session, seq)
      this.#sql.unfold.run(session, seq)
    }
  }
}

function statements(cache: Database) {
  const { sidechain, superseded } = FLAG
  return {
    flags: cache.prepare('SELECT flags FROM events WHERE session = ? AND seq = ?'),
    any: cache.prepare(`SELECT 1 FROM events WHERE session = ? AND flags & ${superseded} LIMIT 1`),
    // What hangs on a call by guess only may turn out to belong to another.
    aside: cache.prepare(
      `SELECT seq, iif(parent_key IS NULL AND flags & ${sidechain}, parent_seq, NULL) AS parent, flags FROM events
       WHERE session = ? AND flags & ${sidechain | superseded} ORDER BY seq`,
    ),
    take: cache.prepare(`UPDATE events SET flags = flags | ${superseded} WHERE session = ? AND seq = ?`),
    unfold: cache.prepare('DELETE FROM folds WHERE session = ? AND last_seq >= ?'),
  }
}
