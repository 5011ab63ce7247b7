// Decisions in Tier 2: rows of their own, which no re-reading and no eviction touches; forgetting the session takes them
// along. The digest that tells them is changed in the same transaction, because there may be no raw to make it from again.
import { parseStored } from '../errors.ts'
import { crypto } from '../files/builtin.ts'
import { type Decision, FIRST_DECISION_SEQ } from '../model.ts'
import { type Database, prepared } from './database.ts'

interface Row {
  session_uid: string
  id: string
  seq: number
  at: number
  text: string
  tags: string
  author: string
}

const toDecision = ({ at, tags, ...row }: Row): Decision => ({
  ...row,
  ts: new Date(at).toISOString(),
  tags: parseStored<string[]>(tags),
})

/** Those of the given sessions, by session, oldest first. */
export function decisionsIn(memory: Database, uids: readonly string[]): Decision[] {
  const rows = prepared(
    memory,
    `SELECT d.* FROM json_each(?) j CROSS JOIN decisions d ON d.session_uid = j.value
     ORDER BY d.session_uid, d.at, d.seq`,
  ).all(JSON.stringify(uids))
  return (rows as unknown as Row[]).map(toDecision)
}

/** Those of the sessions (`s`) a condition holds for. */
export function allDecisions(
  memory: Database,
  where: string,
  values: readonly (string | number)[],
): Decision[] {
  const rows = memory
    .prepare(
      `SELECT d.* FROM decisions d CROSS JOIN sessions s ON s.session_uid = d.session_uid WHERE ${where}`,
    )
    .all(...values)
  return (rows as unknown as Row[]).map(toDecision)
}

export interface NewDecision {
  sessionUid: string
  at: number
  text: string
  tags: readonly string[]
  author: string
}

/** Runs inside the caller's transaction. */
export function insertDecision(memory: Database, decision: NewDecision): Decision {
  const { sessionUid, at, text, tags, author } = decision
  const { seq } = memory
    .prepare(
      `SELECT coalesce(max(seq) + 1, ${FIRST_DECISION_SEQ}) AS seq FROM decisions WHERE session_uid = ?`,
    )
    .get(sessionUid) as { seq: number }
  const row = { session_uid: sessionUid, id: timeId(at), seq, at, text, tags: JSON.stringify(tags), author }
  memory
    .prepare(
      'INSERT INTO decisions (session_uid, id, seq, at, text, tags, author) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    .run(...(Object.values(row) as [string, string, number, number, string, string, string]))
  return toDecision(row)
}

/** Runs inside the caller's transaction; false where there is none of this number. */
export const dropDecision = (memory: Database, uid: string, seq: number): boolean =>
  memory.prepare('DELETE FROM decisions WHERE session_uid = ? AND seq = ?').run(uid, seq).changes !== 0

/** A UUID of version 7: begins with the time, the rest is random. */
function timeId(at: number): string {
  const bytes = crypto().randomBytes(16)
  bytes.writeUIntBE(Math.max(0, at), 0, 6)
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

const SCHEME = 'decision://'

export const decisionRef = ({ session_uid, id }: Decision): string => `${SCHEME}${id}/${session_uid}`

/** The body behind a decision's `payload_ref`; undefined for any other ref, and when it is gone. */
export function decisionBody(memory: Database, ref: string): string | undefined {
  if (!ref.startsWith(SCHEME)) return undefined
  const slash = ref.indexOf('/', SCHEME.length)
  const row = memory
    .prepare('SELECT * FROM decisions WHERE session_uid = ? AND id = ?')
    .get(ref.slice(slash + 1), ref.slice(SCHEME.length, slash)) as unknown as Row | undefined
  if (!row) return undefined
  const { text, tags, author } = toDecision(row)
  return JSON.stringify({ text, tags, author })
}
