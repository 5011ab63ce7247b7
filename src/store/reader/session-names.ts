// Questions by which people name sessions, and what they may narrow lists by.
import { firstColumn, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { TITLE } from '../titles.ts'

interface Named {
  uid: string
}

/** A lineage log names sessions that other flavors tell: by its id such a session is meant, not the log's name for it. */
export const IS_NO_ALIAS = `(flavor <> 'lineage' OR NOT EXISTS (SELECT 1 FROM sessions o
  WHERE o.native_session_id = sessions.native_session_id AND o.flavor <> 'lineage'))`

/** The session with this uid or id; undefined where there is none, or more than one. */
function exactly({ memory }: Databases, id: string): string | undefined {
  const found = rows<Named>(
    memory,
    `SELECT session_uid AS uid FROM sessions WHERE session_uid = ?1 OR (native_session_id = ?1 AND ${IS_NO_ALIAS}) LIMIT 2`,
    id,
  )
  return found.length === 1 ? found[0]?.uid : undefined
}

/** By their last sign of life, the newest being 0. */
const nthNewest = ({ memory }: Databases, n: number): string | undefined =>
  row<Named>(
    memory,
    `SELECT session_uid AS uid FROM sessions WHERE relation <> 'subagent' AND helper IS NULL AND (event_count > 0 OR evicted_at IS NOT NULL)
     ORDER BY ended_at DESC, session_uid LIMIT 1 OFFSET ?`,
    n,
  )?.uid

export interface NearSession {
  session_uid: string
  started_at: number | null
  title: string | null
  /** What was typed is all of its name: behind an `@` an id says which of several of one name it is. */
  is_whole: 0 | 1
}

/** Whose uid or id begins so. */
const beginningWith = ({ memory }: Databases, start: string, limit: number): NearSession[] =>
  rows<NearSession>(
    memory,
    `SELECT session_uid, started_at, coalesce(own_title, nullif(title, ''), made_title) AS title,
     ?1 || '@' IN (substr(session_uid, 1, length(?1) + 1), substr(native_session_id, 1, length(?1) + 1)) AS is_whole
     FROM sessions WHERE substr(session_uid, 1, length(?1)) = ?1
     OR (substr(native_session_id, 1, length(?1)) = ?1 AND ${IS_NO_ALIAS})
     ORDER BY is_whole DESC, started_at DESC LIMIT ?2`,
    start,
    limit,
  )

const AFTER_ALL = '\u{10ffff}'

/** Whose id begins so, two of them at most. */
const sharingBeginning = ({ memory }: Databases, start: string): string[] =>
  firstColumn<string>(
    memory,
    `SELECT session_uid AS uid FROM sessions WHERE native_session_id >= ? AND native_session_id < ? AND ${IS_NO_ALIAS} LIMIT 2`,
    start,
    start + AFTER_ALL,
  )

/** All ids, in order. */
const nativeIds = ({ memory }: Databases): { uid: string; native: string }[] =>
  rows(
    memory,
    `SELECT session_uid AS uid, native_session_id AS native FROM sessions WHERE ${IS_NO_ALIAS} ORDER BY 2`,
  )

const COLUMNS = { repo: 'repo', domain: 'domain', model: 'model', branch: 'git_branch' } as const
type Column = keyof typeof COLUMNS

/** A session may have used more models than the one it is listed with. */
const otherModels = (column: Column): string =>
  column === 'model' ? 'UNION SELECT model FROM ledger_models' : ''

/** All there are. */
const values = ({ memory }: Databases, column: Column): string[] =>
  firstColumn<string>(
    memory,
    `SELECT ${COLUMNS[column]} AS value FROM sessions WHERE ${COLUMNS[column]} IS NOT NULL GROUP BY 1 ${otherModels(column)}`,
  )

/** The machines that sessions were on. */
const hosts = ({ memory }: Databases): { name: string; id: string; sessions: number }[] =>
  rows(
    memory,
    'SELECT h.name, h.id, count(*) AS sessions FROM hosts h JOIN sessions s USING (host) GROUP BY h.id ORDER BY sessions DESC',
  )

/** Matches what holds anything but these signs: the inside of a bracket of GLOB. */
const otherThan = (signs: string): string => `*[^${signs}]*`

/** Those made of these signs alone, most frequent first. */
const frequentValues = (
  { memory }: Databases,
  column: Column,
  signs: string,
  limit: number,
): { name: string; n: number }[] =>
  rows(
    memory,
    `SELECT ${COLUMNS[column]} AS name, count(*) AS n FROM sessions WHERE ${COLUMNS[column]} NOT GLOB ? GROUP BY 1 ORDER BY n DESC LIMIT ?`,
    otherThan(signs),
    limit,
  )

/** The newest whose id is made of these signs alone, with a title or what was asked first. */
const newestNamed = ({ memory }: Databases, signs: string, limit: number): { uid: string; title: string }[] =>
  rows(
    memory,
    `SELECT s.session_uid AS uid, coalesce(${TITLE}, d.digest ->> '$.first_prompt', '') AS title FROM sessions s
     LEFT JOIN digests d ON d.session_uid = s.session_uid
     WHERE s.native_session_id NOT GLOB ? AND s.relation <> 'subagent' AND s.helper IS NULL AND (s.event_count > 0 OR s.evicted_at IS NOT NULL)
     ORDER BY s.ended_at DESC LIMIT ?`,
    otherThan(signs),
    limit,
  )

/** Every tool that a digest names. */
const tools = ({ memory }: Databases): string[] =>
  firstColumn<string>(
    memory,
    "SELECT j.key AS name FROM digests d, json_each(d.digest, '$.tool_histogram') j GROUP BY j.key",
  )

/** Those in the newest digests, made of these signs alone. */
const recentTools = ({ memory }: Databases, signs: string, limit: number): string[] =>
  firstColumn<string>(
    memory,
    `SELECT DISTINCT j.key AS name FROM (SELECT digest FROM digests ORDER BY made_at DESC LIMIT ?2) d,
     json_each(d.digest, '$.tool_histogram') j WHERE j.key NOT GLOB ?1 LIMIT ?2`,
    otherThan(signs),
    limit,
  )

const hasValue = ({ memory }: Databases, column: Column, value: string): boolean =>
  row(memory, `SELECT 1 FROM sessions WHERE ${COLUMNS[column]} = ? LIMIT 1`, value) !== undefined ||
  (column === 'model' && row(memory, 'SELECT 1 FROM ledger_models WHERE model = ?', value) !== undefined)

/** Where sessions were that lie in one of some directories or below, and what their repositories are called. */
const placesBelow = (
  { memory }: Databases,
  directories: readonly string[],
): { cwd: string; repo: string }[] =>
  // Compared here: within the statement it takes six times as long.
  rows<{ cwd: string | null; repo: string }>(
    memory,
    'SELECT DISTINCT cwd, repo FROM sessions WHERE repo IS NOT NULL',
  ).filter((place): place is { cwd: string; repo: string } =>
    directories.some((directory) => `${place.cwd}/`.startsWith(`${directory}/`)),
  )

export const nameQuestions = {
  exactly,
  nthNewest,
  beginningWith,
  sharingBeginning,
  nativeIds,
  values,
  hosts,
  frequentValues,
  newestNamed,
  tools,
  recentTools,
  hasValue,
  placesBelow,
}
