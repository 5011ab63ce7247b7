// The events a query might mean, newest first and bounded: a word that stands in every second event must not cost a look
// at all of them. Filters on sessions are kept off the index: a small set of sessions is handed to it, a large one is
// checked on what it found.
import { EVENT_KINDS, type EventKind } from '../model.ts'
import { prepared } from '../store/database.ts'
import type { ReadHandle } from '../store/store.ts'
import { type Conditions, isFiltering, type SessionFilter, sessionConditions } from './filters.ts'

export interface Candidate {
  id: number
  session: number
  seq: number
  ts: number | null
  kind: number
  flags: number
  key: Uint8Array
  /** Of bm25: smaller is better. */
  rank: number
}

export interface EventConditions {
  kinds?: readonly EventKind[]
  /** The tool of the event, in any case. */
  tool?: string
  sinceAt?: number
  untilAt?: number
}

/** So many matches are ranked; more of them are all alike, and the newest are the ones meant. */
const WANTED = 600
/** So many are looked at to find them among sessions that do not count. */
const LOOKED_AT = 10_000
/** Of more matches than this none is better by its words, and to weigh words costs a look at all matches: they count alike. */
const COMMON = 5000
const WINDOW = 1500
/** Sets up to this size are handed to the index. */
const SMALL_SET = 1000
/** Among sessions that are filtered, so many are enough to rank. */
const ENOUGH = 200
/** With fewer than this, what is older than all that was looked at is looked for as well. */
const FEW = 50

const PROMPT_KINDS: readonly EventKind[] = ['user_msg', 'human_intervention', 'decision']
const ANSWER_KINDS: readonly EventKind[] = ['assistant_msg', 'completion']
const TALK = [...PROMPT_KINDS, ...ANSWER_KINDS]

/** What was said first; what tools printed only if that is not enough. */
export function findCandidates(
  handle: ReadHandle,
  match: string,
  events: EventConditions,
  sessions: SessionFilter,
): Candidate[] {
  const search = new CandidateSearch(handle, events, sessions)
  const kinds = events.kinds ?? EVENT_KINDS
  const talk = kinds.some((kind) => TALK.includes(kind)) && events.tool === undefined
  const work = kinds.some((kind) => !TALK.includes(kind))
  const said = talk ? search.find(`{prompt answer} : (${match})`) : []
  if (!work || said.length >= WANTED) return said
  return [...said, ...search.find(`{work} : (${match})`)]
}

interface Found {
  id: number
  session: number
}

class CandidateSearch {
  readonly #handle: ReadHandle
  readonly #events: Conditions
  readonly #sessions: Conditions | undefined
  /** The sessions that count, when they are few. */
  readonly #small: number[] | undefined
  readonly #verdicts = new Map<number, boolean>()

  constructor(handle: ReadHandle, events: EventConditions, sessions: SessionFilter) {
    this.#handle = handle
    this.#events = eventConditions(events)
    if (!isFiltering(sessions) && sessions.withSubagents !== false) return
    this.#sessions = sessionConditions(sessions)
    this.#small = this.#cachedIds(SMALL_SET)
  }

  find(match: string): Candidate[] {
    if (this.#small?.length === 0) return []
    const isCommon = this.#floor(match, COMMON) > 0
    if (this.#sessions === undefined) return this.#ranked(match, isCommon, { limit: WANTED })
    const found = isCommon ? undefined : this.#amongRanked(match)
    if (found) return found
    const floor = this.#floor(match, LOOKED_AT)
    const ids = this.#small ? this.#amongFew(match, this.#small, floor) : this.#judged(match)
    if (ids.length === 0) return []
    return this.#ranked(match, isCommon, { ids, limit: ids.length })
  }

  /** The id of the match after the newest so many; 0 when there are not so many. */
  #floor(match: string, count: number): number {
    const row = prepared(
      this.#handle.cache,
      'SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?',
    ).get(match, count) as { rowid: number } | undefined
    return row?.rowid ?? 0
  }

  /** Words that are not everywhere are asked for once, and what counts is picked; undefined when that is not enough. */
  #amongRanked(match: string): Candidate[] | undefined {
    const rows = this.#ranked(match, false, { limit: WINDOW })
    if (this.#small) {
      const wanted = new Set(this.#small)
      for (const { session } of rows) this.#verdicts.set(session, wanted.has(session))
    } else this.#judge(rows)
    const passed = rows.filter((row) => this.#verdicts.get(row.session))
    return rows.length < WINDOW || passed.length >= FEW ? passed : undefined
  }

  #amongFew(match: string, sessions: readonly number[], floor: number): number[] {
    const ids = this.#scan(match, { floor, sessions, limit: WANTED })
    if (floor === 0 || ids.length >= FEW) return ids
    return [...ids, ...this.#inRanges(match, sessions, floor, ENOUGH)]
  }

  /** Matches newest first; their sessions are asked about as they come up. */
  #judged(match: string): number[] {
    const passed: number[] = []
    let below = Number.MAX_SAFE_INTEGER
    for (let seen = 0; seen < LOOKED_AT; seen += WINDOW) {
      const rows = this.#window(match, below)
      this.#judge(rows)
      for (const row of rows) if (this.#verdicts.get(row.session)) passed.push(row.id)
      if (rows.length < WINDOW || passed.length >= ENOUGH) return passed
      below = (rows.at(-1) as Found).id
    }
    if (passed.length >= FEW) return passed
    // Rare among many: now the whole set is worth its price.
    const all = this.#cachedIds() ?? []
    return [...passed, ...this.#scan(match, { below, sessions: all, limit: ENOUGH })]
  }

  #judge(rows: readonly Found[]): void {
    const unknown = [...new Set(rows.map((row) => row.session))].filter((id) => !this.#verdicts.has(id))
    if (unknown.length === 0) return
    const { where, values } = this.#sessions as Conditions
    const named = prepared(
      this.#handle.cache,
      'SELECT c.id, c.session_uid AS uid FROM json_each(?) j JOIN cached c ON c.id = j.value',
    ).all(JSON.stringify(unknown)) as unknown as { id: number; uid: string }[]
    const passing = prepared(
      this.#handle.memory,
      `SELECT s.session_uid AS uid FROM json_each(?) j CROSS JOIN sessions s ON s.session_uid = j.value WHERE ${where}`,
    ).all(JSON.stringify(named.map((one) => one.uid)), ...values) as unknown as { uid: string }[]
    const uids = new Set(passing.map((one) => one.uid))
    for (const { id, uid } of named) this.#verdicts.set(id, uids.has(uid))
  }

  /** Ids in the cache of the sessions that count; undefined when they are more than `most`. */
  #cachedIds(most = -1): number[] | undefined {
    const { where, values } = this.#sessions as Conditions
    const rows = prepared(
      this.#handle.memory,
      `SELECT s.session_uid AS uid FROM sessions s WHERE ${where} LIMIT ?`,
    ).all(...values, most === -1 ? -1 : most + 1) as unknown as { uid: string }[]
    if (most !== -1 && rows.length > most) return undefined
    const found = prepared(
      this.#handle.cache,
      'SELECT c.id FROM json_each(?) j CROSS JOIN cached c ON c.session_uid = j.value',
    ).all(JSON.stringify(rows.map((row) => row.uid))) as unknown as { id: number }[]
    return found.map((row) => row.id)
  }

  #window(match: string, below: number): Found[] {
    return prepared(
      this.#handle.cache,
      `SELECT words.rowid AS id, e.session FROM words CROSS JOIN events e ON e.id = words.rowid
         WHERE words MATCH ? AND words.rowid < ? AND ${this.#events.where} ORDER BY words.rowid DESC LIMIT ${WINDOW}`,
    ).all(match, below, ...this.#events.values) as unknown as Found[]
  }

  #scan(
    match: string,
    range: { floor?: number; below?: number; sessions: readonly number[]; limit: number },
  ): number[] {
    const rows = prepared(
      this.#handle.cache,
      `SELECT words.rowid AS id FROM words CROSS JOIN events e ON e.id = words.rowid
         WHERE words MATCH ? AND words.rowid >= ? AND words.rowid < ?
         AND e.session IN (SELECT value FROM json_each(?)) AND ${this.#events.where}
         ORDER BY words.rowid DESC LIMIT ?`,
    ).all(
      match,
      range.floor ?? 0,
      range.below ?? Number.MAX_SAFE_INTEGER,
      JSON.stringify(range.sessions),
      ...this.#events.values,
      range.limit,
    ) as unknown as { id: number }[]
    return rows.map((row) => row.id)
  }

  /** A session's events lie close together: a word that is everywhere is looked up where they are. */
  #inRanges(match: string, sessions: readonly number[], below: number, limit: number): number[] {
    const rows = prepared(
      this.#handle.cache,
      `WITH ranges AS MATERIALIZED (SELECT j.value AS session,
           (SELECT id FROM events WHERE session = j.value ORDER BY seq LIMIT 1) AS low,
           (SELECT id FROM events WHERE session = j.value ORDER BY seq DESC LIMIT 1) AS high
           FROM json_each(?) j ORDER BY high DESC)
         SELECT words.rowid AS id FROM ranges r CROSS JOIN words CROSS JOIN events e ON e.id = words.rowid
         WHERE words MATCH ? AND words.rowid >= r.low AND words.rowid <= min(r.high, ?) AND e.session = r.session
         AND ${this.#events.where} LIMIT ?`,
    ).all(JSON.stringify(sessions), match, below - 1, ...this.#events.values, limit) as unknown as {
      id: number
    }[]
    return rows.map((row) => row.id)
  }

  #ranked(match: string, isCommon: boolean, pick: { ids?: readonly number[]; limit: number }): Candidate[] {
    const { ids, limit } = pick
    if (isCommon && ids) return this.#unranked(ids)
    // `+`: the index is asked once, not once for each id.
    const among = ids
      ? 'AND words.rowid BETWEEN ? AND ? AND +words.rowid IN (SELECT value FROM json_each(?))'
      : ''
    const picked = ids ? [Math.min(...ids), Math.max(...ids), JSON.stringify(ids)] : []
    return prepared(
      this.#handle.cache,
      `SELECT ${COLUMNS}, ${isCommon ? '-1.0' : 'bm25(words)'} AS rank
       FROM words CROSS JOIN events e ON e.id = words.rowid
       WHERE words MATCH ? ${among} AND ${this.#events.where} ORDER BY words.rowid DESC LIMIT ?`,
    ).all(match, ...picked, ...this.#events.values, limit) as unknown as Candidate[]
  }

  #unranked(ids: readonly number[]): Candidate[] {
    return prepared(
      this.#handle.cache,
      `SELECT ${COLUMNS}, -1.0 AS rank FROM json_each(?) j CROSS JOIN events e ON e.id = j.value`,
    ).all(JSON.stringify(ids)) as unknown as Candidate[]
  }
}

const COLUMNS = 'e.id, e.session, e.seq, e.ts, e.kind, e.flags, e.key'

function eventConditions({ kinds, tool, sinceAt, untilAt }: EventConditions): Conditions {
  const where: string[] = ['1']
  const values: (string | number)[] = []
  if (kinds) where.push(`e.kind IN (${kinds.map((kind) => EVENT_KINDS.indexOf(kind)).join(', ')})`)
  if (tool !== undefined) {
    where.push('e.tool = ? COLLATE NOCASE')
    values.push(tool)
  }
  if (sinceAt !== undefined) {
    where.push('(e.ts >= ? OR e.ts IS NULL)')
    values.push(sinceAt)
  }
  if (untilAt !== undefined) {
    where.push('(e.ts <= ? OR e.ts IS NULL)')
    values.push(untilAt)
  }
  return { where: where.join(' AND '), values }
}
