// Which sessions a question is about: the same filters for listing, searching and exporting, as conditions on the table
// `sessions s` of memory.db. Files and tools are found through the index over digests, so they are known of evicted
// sessions too.
import type { Outcome } from '../../model.ts'
import { firstColumn, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { toolWord } from '../digest-words.ts'
import { queryTerm } from '../words.ts'

type Memory = Pick<Databases, 'memory'>

/** One name, or any of several. */
export type FilterNames = string | readonly string[]

/** `repo`, `model`, `branch` and `host` are exact names here; whoever asks in `query/` may give parts and patterns (`query/meant.ts`). */
export interface SessionFilter {
  flavor?: string
  repo?: FilterNames
  domain?: string
  model?: FilterNames
  branch?: FilterNames
  /** A machine, by its name or its id. */
  host?: FilterNames
  outcome?: Outcome
  /** A file the session read or changed: its path, or the end of it. */
  touched?: string
  /** A tool the session called. */
  tool?: string
  /** With (or without) an error in it. */
  hasError?: boolean
  /** Filed under all of these. */
  tags?: readonly string[]
  /** That somebody marked (or nobody did). */
  starred?: boolean
  /** Whose raw events are gone (or here). */
  evicted?: boolean
  /** Epoch milliseconds: active since. */
  sinceAt?: number
  /** Begun until. */
  untilAt?: number
  /** This one only, by its uid. */
  session?: string
  /** These only. */
  uids?: readonly string[]
  /** All but this one: an agent leaves out the session it is in. */
  excludeSession?: string
  /** Sub-agents' sessions and helper conversations too (default false in listings, true in searches). */
  withSubagents?: boolean
}

/** A filter that was looked at beforehand. */
export interface NarrowedFilter extends SessionFilter {
  /** The file is one that many sessions touched: whoever has a session at hand asks its digest. */
  isTouchedOften?: boolean
}

export interface Conditions {
  /** For WHERE; `1` when there are none. */
  where: string
  values: (string | number)[]
}

/** A session known only as an end of a lineage edge has nothing to show. */
const HAS_CONTENT = '(s.event_count > 0 OR s.evicted_at IS NOT NULL)'

export function sessionConditions(filter: NarrowedFilter): Conditions {
  const where: string[] = []
  const values: (string | number)[] = []
  const add = (condition: string, ...given: (string | number | undefined)[]): void => {
    if (given.includes(undefined)) return
    where.push(condition)
    values.push(...(given as (string | number)[]))
  }
  add('s.flavor = ?', filter.flavor)
  add(...named('s.repo', filter.repo))
  add('s.domain = ?', filter.domain)
  add(...named('s.model', filter.model))
  add(...named('s.git_branch', filter.branch))
  add(...onHost(filter.host))
  add('s.outcome = ?', filter.outcome)
  add('coalesce(s.ended_at, s.started_at) >= ?', filter.sinceAt)
  add('s.started_at <= ?', filter.untilAt)
  add('s.session_uid = ?', filter.session)
  add('s.session_uid <> ?', filter.excludeSession)
  if (filter.hasError !== undefined) where.push(`s.error_count ${filter.hasError ? '>' : '='} 0`)
  if (filter.evicted !== undefined) where.push(`s.evicted_at IS ${filter.evicted ? 'NOT ' : ''}NULL`)
  if (filter.starred !== undefined) where.push(`s.starred_at IS ${filter.starred ? 'NOT ' : ''}NULL`)
  for (const tag of filter.tags ?? [])
    add('s.session_uid IN (SELECT session_uid FROM tags WHERE tag = ?)', tag)
  if (filter.tool !== undefined) add(`${BY_WORDS})`, `{tools} : "${toolWord(filter.tool)}"`)
  if (filter.uids !== undefined)
    add('s.session_uid IN (SELECT value FROM json_each(?))', JSON.stringify(filter.uids))
  if (filter.touched !== undefined) {
    const { match, directories, inDigest, values } = touchedCondition(filter.touched)
    if (match === undefined) where.push('0')
    else if (directories)
      add(`(s.cwd IN (SELECT value FROM json_each(?)) OR ${BY_WORDS}))`, directories, match)
    else if (!filter.isTouchedOften) add(`${BY_WORDS})`, match)
    if (match !== undefined) add(`EXISTS (${inDigest} AND d.session_uid = s.session_uid)`, ...values)
  }
  if (!filter.withSubagents) where.push(`s.relation <> 'subagent' AND s.helper IS NULL AND ${HAS_CONTENT}`)
  return { where: where.length === 0 ? '1' : where.join(' AND '), values }
}

/** A condition on a column, and its value. */
export const named = (column: string, names: FilterNames | undefined): [string, string | undefined] =>
  names === undefined || typeof names === 'string'
    ? [`${column} = ?`, names]
    : [`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(names)]

/** The session was on one of these machines. */
export const onHost = (names: FilterNames | undefined): [string, string | undefined] => [
  's.host IN (SELECT h.host FROM json_each(?) j JOIN hosts h ON j.value IN (h.name, h.id))',
  names === undefined ? undefined : JSON.stringify([names].flat()),
]

const BY_WORDS = `s.session_uid IN (SELECT t.session_uid FROM digest_words JOIN digest_texts t ON t.id = digest_words.rowid
  WHERE digest_words MATCH ?`

/** The path itself or the end of one, as the digest has it in its list of files. */
const TOUCHED = 'SELECT 1 FROM digests d WHERE (instr(d.digest, ?) OR instr(d.digest, ?))'

/** A whole path may also have been written down from where the session was. */
const TOUCHED_WHOLE = `SELECT 1 FROM digests d, json_each(d.digest, '$.files') f
  WHERE ? IN (f.value ->> 'path', (d.digest ->> 'cwd') || '/' || (f.value ->> 'path'))`

interface Touched {
  /** Narrows it down to digests with these words; undefined when there are none. */
  match?: string
  /** Where a session may have been that wrote only the rest of the path down, as JSON. */
  directories?: string
  /** Whether a digest has the file; goes on with AND. */
  inDigest: string
  values: string[]
}

function touchedCondition(typed: string): Touched {
  const path = typed.replace(/^(?:\.\/)+/, '').replace(/(?<!\/)\/+$/, '')
  const term = queryTerm(path, false)
  const match = term === undefined ? {} : { match: `{files} : ${term}` }
  if (path.startsWith('/')) {
    const directories = [...path.matchAll(/(?<=[^/])\//g)].map(({ index }) => path.slice(0, index))
    return { ...match, directories: JSON.stringify(directories), inDigest: TOUCHED_WHOLE, values: [path] }
  }
  const end = `${JSON.stringify(path).slice(1)},"edits":`
  return { ...match, inDigest: TOUCHED, values: [`"path":"${end}`, `/${end}`] }
}

/** To look into the digests of more sessions than this takes longer than a search. */
const FEW = 500

/**
 * The sessions that touched the file of a filter, for callers that ask more than one question, or stop at so many; `many`
 * where they need not be few and only few are worth being looked up.
 */
export function touching(
  databases: Memory,
  { touched, uids }: NarrowedFilter,
  howMany: 'few' | 'all',
): string[] | 'many' {
  if (touched === undefined) return []
  const { match, directories } = touchedCondition(touched)
  if (howMany === 'few' && match !== undefined && !directories && isOften(databases, match)) return 'many'
  const { where, values } = sessionConditions({ touched, ...(uids ? { uids } : {}), withSubagents: true })
  return firstColumn<string>(
    databases.memory,
    `SELECT s.session_uid AS uid FROM sessions s WHERE ${where}`,
    ...values,
  )
}

/** The same filter, with the sessions instead of the file that they touched. */
export function narrowed<F extends NarrowedFilter>(filter: F, found: string[] | 'many'): F & NarrowedFilter {
  if (filter.touched === undefined) return filter
  if (found === 'many') return { ...filter, isTouchedOften: true }
  const { touched: _, isTouchedOften: __, ...rest } = filter
  return { ...(rest as F), uids: found }
}

const isOften = ({ memory }: Memory, match: string): boolean =>
  row(memory, 'SELECT 1 FROM digest_words WHERE digest_words MATCH ? LIMIT 1 OFFSET ?', match, FEW) !==
  undefined

/** Whether a filter leaves out anything at all, besides sub-agents. */
export function isFiltering(filter: NarrowedFilter): boolean {
  const { withSubagents: _, ...rest } = filter
  return Object.values(rest).some((value) => value !== undefined)
}

/** Those of some sessions that a filter lets through. */
export function fulfilling({ memory }: Memory, uids: readonly string[], filter: NarrowedFilter): Set<string> {
  const { where, values } = sessionConditions(filter)
  const found = rows<{ uid: string }>(
    memory,
    `SELECT s.session_uid AS uid FROM json_each(?) j CROSS JOIN sessions s ON s.session_uid = j.value WHERE ${where}`,
    JSON.stringify(uids),
    ...values,
  )
  return new Set(found.map((one) => one.uid))
}
