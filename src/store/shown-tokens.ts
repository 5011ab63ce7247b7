// Which event shows the tokens of a response. Only the place stands here: how many they are, and whether they count in this
// session at all, the ledger knows.
import type { PreparedUsage } from './batch.ts'
import type { Database, Statement } from './database.ts'

/** A response is told on several lines, or by a second file: the earliest event holds, whichever is read first. */
const SPENT = `INSERT INTO spent (session, response_id, seq) VALUES (?, ?, ?)
  ON CONFLICT DO UPDATE SET seq = excluded.seq WHERE excluded.seq < seq`

export const spentStatement = (cache: Database): Statement => cache.prepare(SPENT)

/** Behind the events of their batch. */
export function writeSpent(
  usage: readonly PreparedUsage[],
  insert: Statement,
  seqOf: (uid: string, key: Uint8Array) => [session: number, seq: number | null],
): void {
  for (const { sessionUid, responseId, event } of usage) {
    if (event === null) continue
    const [session, seq] = seqOf(sessionUid, event)
    if (seq !== null) insert.run(session, responseId, seq)
  }
}
