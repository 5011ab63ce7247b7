// Which sessions a question is about: the same filters for listing, searching and exporting, as conditions on the table
// `sessions s` of memory.db. Files and tools are found through the index over digests, so they are known of evicted
// sessions too.
import type { Outcome } from '../model.ts'
import { toolWord } from '../store/digest-words.ts'
import type { ReadHandle } from '../store/store.ts'
import { queryTerm } from '../store/words.ts'

type Memory = Pick<ReadHandle, 'memory'>

export interface SessionFilter {
  flavor?: string
  repo?: string
  domain?: string
  model?: string
  outcome?: Outcome
  /** A file the session read or changed: its path, or the end of it. */
  touched?: string
  /** A tool the session called. */
  tool?: string
  /** With (or without) an error in it. */
  hasError?: boolean
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
  /** Sub-agents' sessions too (default false in listings, true in searches). */
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
  add('s.repo = ?', filter.repo)
  add('s.domain = ?', filter.domain)
  add('s.model = ?', filter.model)
  add('s.outcome = ?', filter.outcome)
  add('s.ended_at >= ?', filter.sinceAt)
  add('s.started_at <= ?', filter.untilAt)
  add('s.session_uid = ?', filter.session)
  add('s.session_uid <> ?', filter.excludeSession)
  if (filter.hasError !== undefined) where.push(`s.error_count ${filter.hasError ? '>' : '='} 0`)
  if (filter.evicted !== undefined) where.push(`s.evicted_at IS ${filter.evicted ? 'NOT ' : ''}NULL`)
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
  if (!filter.withSubagents) where.push(`s.relation <> 'subagent' AND ${HAS_CONTENT}`)
  return { where: where.length === 0 ? '1' : where.join(' AND '), values }
}

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
 * The same filter for callers that ask more than one question, or stop at so many: with the sessions that touched the file
 * looked up, if they can only be few.
 */
export function narrowed<F extends SessionFilter>(handle: Memory, filter: F): F & NarrowedFilter {
  if (filter.touched === undefined) return filter
  const { match, directories } = touchedCondition(filter.touched)
  if (match !== undefined && !directories && isOften(handle, match))
    return { ...filter, isTouchedOften: true }
  return lookedUp(handle, filter)
}

/** With the sessions that touched the file instead of its name, however many they are. */
export function lookedUp<F extends NarrowedFilter>(handle: Memory, filter: F): F {
  const { touched, isTouchedOften: _, ...rest } = filter
  if (touched === undefined) return filter
  const { where, values } = sessionConditions({
    touched,
    ...(filter.uids ? { uids: filter.uids } : {}),
    withSubagents: true,
  })
  const rows = handle.memory
    .prepare(`SELECT s.session_uid AS uid FROM sessions s WHERE ${where}`)
    .all(...values) as unknown as { uid: string }[]
  return { ...(rest as F), uids: rows.map((row) => row.uid) }
}

const isOften = ({ memory }: Memory, match: string): boolean =>
  memory.prepare('SELECT 1 FROM digest_words WHERE digest_words MATCH ? LIMIT 1 OFFSET ?').get(match, FEW) !==
  undefined

/** Whether a filter leaves out anything at all, besides sub-agents. */
export function isFiltering(filter: NarrowedFilter): boolean {
  const { withSubagents: _, ...rest } = filter
  return Object.values(rest).some((value) => value !== undefined)
}
