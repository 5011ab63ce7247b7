// The events a query might mean, newest first and bounded: a word that stands in every second event must not cost a look
// at all of them. With a filter the ids of the newest matches are taken from the index, which is cheap, and what counts is
// picked among them part by part; where it is rare, the sessions that count are found first, and where they lie.
import { EVENT_KINDS, type EventKind } from '../../model.ts'
import { firstColumn, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { type Conditions, fulfilling, isFiltering, type SessionFilter, sessionConditions } from './filters.ts'
import { idsOf, uidsOf } from './numbers.ts'

export interface Candidate {
  id: number
  session: number
  seq: number
  ts: number | null
  kind: number
  flags: number
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
/** Of more matches than this none is better by its words, and to weigh words costs a look at all matches: they count alike. */
const COMMON = 5000
/** So many of the newest matches are looked at to find the ones that count. */
const LOOKED_AT = 10_000
/** They are asked about in parts of this size: at first so many… */
const PART = 400
/** …and with so many found after so many looked at, that is enough to rank. */
const ENOUGH = 200
const MOST_LOOKED_UP = 1800
/** With fewer than this, what is older than all that was looked at is looked for as well. */
const FEW = 50
/** Where less than this share counts, the sessions that do are asked for, and if they are so few, looked into one by one. */
const RARE = 0.05
const SMALL_SET = 1000

/** Whether so many candidates can only be all there are. */
export const areAll = (count: number, isFiltered: boolean): boolean => count < (isFiltered ? FEW : WANTED)

const PROMPT_KINDS: readonly EventKind[] = ['user_msg', 'human_intervention', 'decision']
const ANSWER_KINDS: readonly EventKind[] = ['assistant_msg', 'completion']
const TALK = [...PROMPT_KINDS, ...ANSWER_KINDS]

/** What was said first; what tools printed only if that is not enough. */
export function findCandidates(
  databases: Databases,
  match: string,
  events: EventConditions,
  sessions: SessionFilter,
): Candidate[] {
  const search = new CandidateSearch(databases, events, sessions)
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

/** Where the events of a session lie among all: a session is written in few runs. */
interface Range {
  session: number
  low: number
  high: number
}

class CandidateSearch {
  readonly #databases: Databases
  readonly #events: Conditions
  readonly #sessions: SessionFilter | undefined
  /** Nothing is left out, or hardly anything. */
  readonly #isWide: boolean
  readonly #isNamed: boolean
  readonly #verdicts = new Map<number, boolean>()
  #ranges: readonly Range[] | null | undefined

  constructor(databases: Databases, events: EventConditions, filter: SessionFilter) {
    const { excludeSession, ...sessions } = filter
    this.#databases = databases
    this.#events = eventConditions(events, excludeSession)
    this.#isNamed = sessions.session !== undefined || sessions.uids !== undefined
    if (isFiltering(sessions) || sessions.withSubagents === false) this.#sessions = sessions
    this.#isWide = this.#sessions === undefined && Object.keys(events).length === 0
  }

  find(match: string): Candidate[] {
    if (this.#isWide) return this.#ranked(match, this.#isCommon(match))
    const newest = this.#newest(match)
    const ids = this.#counting(match, newest)
    if (ids.length === 0) return []
    return newest.length > COMMON ? this.#unranked(ids) : this.#ranked(match, false, ids)
  }

  #isCommon(match: string): boolean {
    const beyond = 'SELECT 1 FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT 1 OFFSET ?'
    return row(this.#databases.cache, beyond, match, COMMON) !== undefined
  }

  /** Ids only, newest first: as one text, since ten thousand rows cost three times as much. */
  #newest(match: string): number[] {
    const found = row<{ ids: string }>(
      this.#databases.cache,
      `SELECT json_group_array(id) AS ids FROM
         (SELECT rowid AS id FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ${LOOKED_AT})`,
      match,
    )
    return JSON.parse(found?.ids ?? '[]') as number[]
  }

  /** Which of the newest matches count, and where they are too few, of older ones. */
  #counting(match: string, newest: readonly number[]): number[] {
    if (this.#isNamed && this.#smallSet()) return this.#inSmallSet(match, newest)
    const passed: number[] = []
    for (let at = 0; at < newest.length; at += PART) {
      passed.push(...this.#check(newest.slice(at, at + PART)))
      const seen = at + PART
      if (passed.length >= (seen < MOST_LOOKED_UP ? WANTED : ENOUGH)) return passed.slice(0, WANTED)
      if (passed.length < seen * RARE && this.#smallSet()) return this.#inSmallSet(match, newest)
    }
    if (newest.length < LOOKED_AT || passed.length >= FEW) return passed
    return [...passed, ...this.#older(match, newest.at(-1) as number)]
  }

  #inSmallSet(match: string, newest: readonly number[]): number[] {
    const ranges = this.#smallSet() as readonly Range[]
    const near = newest.filter(within(ranges))
    const passed: number[] = []
    for (let at = 0; at < near.length && passed.length < WANTED; at += WANTED)
      passed.push(...this.#check(near.slice(at, at + WANTED)))
    if (newest.length < LOOKED_AT || passed.length >= FEW) return passed
    return [...passed, ...this.#inRanges(match, ranges, newest.at(-1) as number)]
  }

  /** Those of some events that count. */
  #check(ids: readonly number[]): number[] {
    const found = rows<Found>(
      this.#databases.cache,
      `SELECT e.id, e.session FROM json_each(?) j CROSS JOIN events e ON e.id = j.value WHERE ${this.#events.where}`,
      JSON.stringify(ids),
      ...this.#events.values,
    )
    this.#judge(found)
    return found.filter((one) => this.#verdicts.get(one.session) ?? true).map((one) => one.id)
  }

  /** Asks about sessions as they come up. */
  #judge(found: readonly Found[]): void {
    if (this.#sessions === undefined) return
    const unknown = [...new Set(found.map((one) => one.session))].filter((id) => !this.#verdicts.has(id))
    if (unknown.length === 0) return
    const named = uidsOf(this.#databases, unknown)
    const passing = fulfilling(this.#databases, [...named.values()], this.#sessions)
    for (const [id, uid] of named) this.#verdicts.set(id, passing.has(uid))
  }

  /** The sessions that count, by where their events lie, the last first; null when they are many. */
  #smallSet(): readonly Range[] | null {
    if (this.#ranges === undefined) {
      const ids = this.#sessions === undefined ? undefined : this.#cachedIds(SMALL_SET)
      this.#ranges = ids === undefined ? null : this.#rangesOf(ids)
    }
    return this.#ranges
  }

  #rangesOf(sessions: readonly number[]): Range[] {
    const found = rows<Range>(
      this.#databases.cache,
      `SELECT j.value AS session,
         (SELECT id FROM events WHERE session = j.value ORDER BY seq LIMIT 1) AS low,
         (SELECT id FROM events WHERE session = j.value ORDER BY seq DESC LIMIT 1) AS high
       FROM json_each(?) j`,
      JSON.stringify(sessions),
    )
    return found.filter((one) => one.high !== null).sort((a, b) => b.high - a.high)
  }

  /** Ids in the cache of the sessions that count; undefined when they are more than `most`. */
  #cachedIds(most = -1): number[] | undefined {
    const { where, values } = sessionConditions(this.#sessions as SessionFilter)
    const found = rows<{ uid: string }>(
      this.#databases.memory,
      `SELECT s.session_uid AS uid FROM sessions s WHERE ${where} LIMIT ?`,
      ...values,
      most === -1 ? -1 : most + 1,
    )
    if (most !== -1 && found.length > most) return undefined
    const uids = found.map((one) => one.uid)
    return [...idsOf(this.#databases, uids).values()]
  }

  /** Rare among many: now a look at all matches is worth its price. */
  #older(match: string, below: number): number[] {
    const sessions = this.#sessions === undefined ? undefined : this.#cachedIds()
    return firstColumn<number>(
      this.#databases.cache,
      `SELECT words.rowid AS id FROM words CROSS JOIN events e ON e.id = words.rowid
         WHERE words MATCH ? AND words.rowid < ? AND (? OR e.session IN (SELECT value FROM json_each(?)))
         AND ${this.#events.where} ORDER BY words.rowid DESC LIMIT ${ENOUGH}`,
      match,
      below,
      sessions ? 0 : 1,
      JSON.stringify(sessions ?? []),
      ...this.#events.values,
    )
  }

  /** A word that is everywhere is looked up where the events of few sessions are. */
  #inRanges(match: string, ranges: readonly Range[], below: number): number[] {
    return firstColumn<number>(
      this.#databases.cache,
      `SELECT words.rowid AS id FROM json_each(?) r CROSS JOIN words CROSS JOIN events e ON e.id = words.rowid
         WHERE words MATCH ? AND words.rowid >= r.value ->> 'low' AND words.rowid <= min(r.value ->> 'high', ?)
         AND e.session = r.value ->> 'session' AND ${this.#events.where} LIMIT ${ENOUGH}`,
      JSON.stringify(ranges),
      match,
      below - 1,
      ...this.#events.values,
    )
  }

  #ranked(match: string, isCommon: boolean, ids?: readonly number[]): Candidate[] {
    // `+`: the index is asked once, not once for each id.
    const among = ids
      ? 'AND words.rowid BETWEEN ? AND ? AND +words.rowid IN (SELECT value FROM json_each(?))'
      : `AND ${this.#events.where}`
    const values = ids ? [Math.min(...ids), Math.max(...ids), JSON.stringify(ids)] : this.#events.values
    return rows<Candidate>(
      this.#databases.cache,
      `SELECT ${COLUMNS}, ${isCommon ? '-1.0' : 'bm25(words)'} AS rank
       FROM words CROSS JOIN events e ON e.id = words.rowid
       WHERE words MATCH ? ${among} ORDER BY words.rowid DESC LIMIT ${WANTED}`,
      match,
      ...values,
    )
  }

  #unranked(ids: readonly number[]): Candidate[] {
    return rows<Candidate>(
      this.#databases.cache,
      `SELECT ${COLUMNS}, -1.0 AS rank FROM json_each(?) j CROSS JOIN events e ON e.id = j.value LIMIT ${WANTED}`,
      JSON.stringify(ids),
    )
  }
}

/** Whether an id lies in one of some ranges, which are sorted by their ends, the last first. */
function within(ranges: readonly Range[]): (id: number) => boolean {
  // Sessions that were written at the same time overlap: what lies between them counts as well, and is checked later.
  const joined: { low: number; high: number }[] = []
  for (const { low, high } of ranges) {
    const last = joined.at(-1)
    if (last && high >= last.low) last.low = Math.min(last.low, low)
    else joined.push({ low, high })
  }
  let at = 0
  // Ids come newest first as well: both lists are walked once.
  return (id) => {
    while (at < joined.length && (joined[at] as { low: number }).low > id) at++
    return at < joined.length && id <= (joined[at] as { high: number }).high
  }
}

const COLUMNS = 'e.id, e.session, e.seq, e.ts, e.kind, e.flags'

export function eventConditions(
  { kinds, tool, sinceAt, untilAt }: EventConditions,
  excludeSession: string | undefined,
): Conditions {
  const where: string[] = ['1']
  const values: (string | number)[] = []
  if (kinds) where.push(`e.kind IN (${kinds.map((kind) => EVENT_KINDS.indexOf(kind)).join(', ')})`)
  if (tool !== undefined) {
    where.push('e.tool = ? COLLATE NOCASE')
    values.push(tool)
  }
  if (excludeSession !== undefined) {
    where.push('e.session IS NOT (SELECT id FROM cached WHERE session_uid = ?)')
    values.push(excludeSession)
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
