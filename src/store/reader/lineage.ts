// Questions about which session came from which.
import type { EdgeKind, Outcome } from '../../model.ts'
import { firstColumn, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { TITLE } from '../titles.ts'
import { IS_NO_ALIAS } from './session-names.ts'

export interface Edge {
  session_uid: string
  kind: EdgeKind
  /** Empty for a birth or death that names nobody else. */
  parent_uid: string
  at: number | null
  evidence: string | null
}

/** Those that a session is at either end of. */
const edges = ({ memory }: Databases, uid: string): Edge[] =>
  rows(
    memory,
    `SELECT session_uid, kind, parent_uid, at, evidence FROM edges WHERE session_uid = ?1
     UNION SELECT session_uid, kind, parent_uid, at, evidence FROM edges WHERE parent_uid = ?1 AND ?1 <> ''`,
    uid,
  )

/** Sessions of agents' own files that a lineage log may mean by a name. */
const toldAs = ({ memory }: Databases, name: string): string[] =>
  firstColumn<string>(
    memory,
    `SELECT session_uid AS uid FROM sessions WHERE flavor <> 'lineage' AND native_session_id = ?1
       UNION SELECT session_uid FROM sessions WHERE flavor <> 'lineage' AND session_uid = ?1`,
    name,
  )

const isRemembered = ({ memory }: Databases, uid: string): boolean =>
  row(memory, 'SELECT 1 FROM sessions WHERE session_uid = ?', uid) !== undefined

/** Whether tokens of it count. */
const isCounted = ({ memory }: Databases, uid: string): boolean =>
  row(memory, 'SELECT 1 FROM usage WHERE session_uid = ? AND is_counted LIMIT 1', uid) !== undefined

/** Sessions that came from another one or led to one, newest first. */
const related = ({ memory }: Databases, limit: number): string[] =>
  firstColumn<string>(
    memory,
    `SELECT u.uid FROM (SELECT session_uid AS uid FROM edges WHERE parent_uid <> ''
         UNION SELECT parent_uid FROM edges WHERE parent_uid <> '') u
       LEFT JOIN sessions s ON s.session_uid = u.uid ORDER BY s.started_at DESC, u.uid LIMIT ?`,
    limit,
  )

/** Sessions that lineage logs name and nothing else tells of, newest first. */
const onlyLogged = ({ memory }: Databases, limit: number, sinceAt: number): string[] =>
  firstColumn<string>(
    memory,
    `SELECT session_uid AS uid FROM sessions WHERE flavor = 'lineage' AND event_count = 0 AND ${IS_NO_ALIAS}
       AND coalesce(started_at, ?1) >= ?1 ORDER BY started_at DESC, session_uid LIMIT ?2`,
    sinceAt,
    limit,
  )

/** What a tree shows of a session; `subagents` and `commits` are JSON. */
export interface NodeRow {
  flavor: string
  title: string | null
  first_prompt: string | null
  repo: string | null
  model: string | null
  started_at: number | null
  ended_at: number | null
  outcome: Outcome
  event_count: number
  evicted_at: number | null
  compactions: number | null
  subagents: string | null
  commits: string | null
}

const node = ({ memory }: Databases, uid: string): NodeRow | undefined =>
  row(
    memory,
    `SELECT s.flavor, ${TITLE} AS title, s.repo, s.model, s.started_at, s.ended_at, s.outcome, s.event_count, s.evicted_at,
       json_extract(d.digest, '$.first_prompt') AS first_prompt, json_array_length(d.digest, '$.compactions') AS compactions, json_extract(d.digest, '$.subagents') AS subagents,
       json_extract(d.digest, '$.commits') AS commits
     FROM sessions s LEFT JOIN digests d USING (session_uid) WHERE s.session_uid = ?`,
    uid,
  )

export interface Subagent {
  uid: string
  /** What its birth rests on: the call or the event that shows it. */
  evidence: string | null
  at: number | null
  /** `at`, else when it began; null where it is not remembered. */
  beganAt: number | null
  /** Null where it is not remembered. */
  eventCount: number | null
}

/** Sub-agents that are sessions of their own, by uid. */
const subagents = ({ memory }: Databases, uid: string): Subagent[] =>
  rows(
    memory,
    `SELECT e.session_uid AS uid, e.evidence, e.at, coalesce(e.at, s.started_at) AS beganAt, s.event_count AS eventCount
     FROM edges e LEFT JOIN sessions s ON s.session_uid = e.session_uid
     WHERE e.parent_uid = ? AND e.kind = 'subagent' ORDER BY e.session_uid`,
    uid,
  )

/** Every sub-agent that is a session of its own, and who started it. */
const subagentLinks = ({ memory }: Databases): { uid: string; parent: string }[] =>
  rows(
    memory,
    "SELECT session_uid AS uid, parent_uid AS parent FROM edges WHERE kind = 'subagent' AND parent_uid <> ''",
  )

/** The session that each of some was started from in the end, through sub-agents; the others are their own. */
function roots({ memory }: Databases, uids: readonly string[]): Map<string, string> {
  const found = rows<{ uid: string; root: string }>(
    memory,
    `WITH RECURSIVE above (uid, root, depth) AS (
       SELECT value, value, 0 FROM json_each(?)
       UNION SELECT a.uid, e.parent_uid, a.depth + 1 FROM above a
         CROSS JOIN edges e ON e.session_uid = a.root AND e.kind = 'subagent' AND e.parent_uid <> ''
         CROSS JOIN sessions s ON s.session_uid = e.parent_uid WHERE a.depth < ${MOST_LEVELS}
     ) SELECT uid, root, max(depth) FROM above GROUP BY uid`,
    JSON.stringify(uids),
  )
  return new Map(found.map(({ uid, root }) => [uid, root]))
}

/** Deeper than any agent starts others; a ring ends here as well. */
const MOST_LEVELS = 12

export const lineageQuestions = {
  roots,
  edges,
  toldAs,
  isRemembered,
  isCounted,
  related,
  onlyLogged,
  node,
  subagents,
  subagentLinks,
}
