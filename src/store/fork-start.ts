// When a session began that copied its first part from others: with its own part, not with theirs. What it copied may
// turn out long after it was written, so the time is kept in `own_at`, which no later writing undoes: 0 while nothing of
// it is its own. Until then it begins where it ends (`settle.ts`).
import type { Database } from './database.ts'
import { IS_HELD } from './evicted-seqs.ts'
import { FLAG } from './rows.ts'

export class ForkStarts {
  readonly #sql: ReturnType<typeof statements>

  constructor(cache: Database, memory: Database) {
    this.#sql = statements(cache, memory)
  }

  /** `parents`: those it copied from; none if it turned out to be nobody's copy. */
  settle(id: number, uid: string, parents: readonly number[]): void {
    if (parents.length === 0) this.#clear(id, uid)
    else this.note(id, uid, this.#latestOwn(id, parents))
  }

  /** `at`: when the first event happened that is its own; null for none. */
  note(id: number, uid: string, at: number | null): void {
    // Of one that was evicted in part, what was its own first may be gone.
    const { isPart } = this.#sql.evicted.get(id) as { isPart: number }
    this.#sql.note.run({ uid, at: at ?? 0, isPart })
  }

  /** What is in none of them is also not in the one that it shares most with. */
  #latestOwn(id: number, parents: readonly number[]): number | null {
    let latest = 0
    for (const parent of parents) {
      const { at } = this.#sql.own.get(id, parent) as { at: number | null }
      if (at === null) return null
      latest = Math.max(latest, at)
    }
    return latest
  }

  /**
   * Also where it was taken for a copy until what came now: that moved its beginning, and left no mark (`memory.ts`).
   * It began with its first event, or when its files say that it did.
   */
  #clear(id: number, uid: string): void {
    const { at } = this.#sql.first.get(id) as { at: number | null }
    this.#sql.clear.run({ uid, at })
  }
}

function statements(cache: Database, memory: Database) {
  const events = `SELECT min(ts) AS at FROM events WHERE session = ?1 AND NOT flags & ${FLAG.inherited}`
  return {
    evicted: cache.prepare('SELECT evicted_seq > 0 AS isPart FROM cached WHERE id = ?'),
    // What was only noted again under a new name is not its own either.
    own: cache.prepare(
      `${events} AND NOT ${IS_HELD}
       AND payload NOT IN (SELECT payload FROM events WHERE session = ?2)`,
    ),
    first: cache.prepare(
      `SELECT min(at) AS at FROM (${events}
       UNION ALL SELECT facts ->> '$.startedAt' FROM source_sessions WHERE session = ?1)`,
    ),
    note: memory.prepare(
      `UPDATE sessions SET own_at = iif(:isPart AND own_at > 0 AND (own_at < :at OR :at = 0), own_at, :at),
       started_at = iif(:isPart AND own_at > 0 AND (own_at < :at OR :at = 0), own_at, iif(:at = 0, ended_at, :at))
       WHERE session_uid = :uid`,
    ),
    clear: memory.prepare(
      `UPDATE sessions SET own_at = NULL, started_at = min(coalesce(:at, started_at), started_at)
       WHERE session_uid = :uid`,
    ),
  }
}
