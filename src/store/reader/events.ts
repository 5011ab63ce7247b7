// Questions about the events of one session.
import {
  DEEDS,
  END_STATES,
  EVENT_KINDS,
  type EventKind,
  isoTime,
  MARKS,
  type Mark,
  type SessionEvent,
} from '../../model.ts'
import { row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { type Order, orderOf } from '../order.ts'
import { FLAG, NO_TURN, ROLES, wordOf } from '../rows.ts'
import { eventPages } from './event-pages.ts'

export interface EventFilter {
  kinds?: readonly EventKind[]
  /** First and last place in the order of the conversation (`store/order.ts`), both included. */
  fromPlace?: number
  toPlace?: number
  /** Only these. */
  seqs?: readonly number[]
}

export interface EventWithCall {
  event: SessionEvent
  /** Joins a call with its result. */
  call: string | null
}

/** Page by page: a reader that pauses (a pager, a browser) must hold no statement, and with it no old state, open. */
const PAGE = 256
const OF_SESSION = 'FROM cached c JOIN events e ON e.session = c.id WHERE c.session_uid = ?'
const numbersOf = (kinds: readonly EventKind[]): string =>
  kinds.map((kind) => EVENT_KINDS.indexOf(kind)).join(',')

/** Streams what the transcript has, in the order of the conversation. */
function* transcript(databases: Databases, uid: string, filter: EventFilter = {}): Generator<EventWithCall> {
  if (filter.seqs) return yield* picked(databases, uid, filter.seqs)
  const { fromPlace = 0, toPlace = Number.MAX_SAFE_INTEGER } = filter
  const order = orderOf(databases.cache, uid)
  const isWanted = `e.kind IN (${numbersOf(filter.kinds ?? EVENT_KINDS)})`
  const pages = order.isByNumber
    ? pagesByNumber(databases, uid, fromPlace, toPlace, isWanted)
    : pagesOf(databases, uid, order.seqs(fromPlace, toPlace), isWanted)
  const tokens = tokensBySeq(databases, uid)
  for (const page of pages) for (const one of page) yield withCall(uid, one, tokens)
}

type Row = Record<string, unknown>

function* pagesByNumber(
  { cache }: Databases,
  uid: string,
  first: number,
  last: number,
  isWanted: string,
): Generator<Row[]> {
  const sql = `SELECT e.* ${OF_SESSION} AND e.seq BETWEEN ? AND ? AND ${isWanted} ORDER BY e.seq LIMIT ${PAGE}`
  for (let fromSeq = first; ; ) {
    const page = rows<Row>(cache, sql, uid, fromSeq, last)
    yield page
    if (page.length < PAGE) return
    fromSeq = ((page.at(-1) as Row)['seq'] as number) + 1
  }
}

/** The events with these numbers, in this order. */
function* pagesOf(
  { cache }: Databases,
  uid: string,
  seqs: readonly number[],
  isWanted: string,
): Generator<Row[]> {
  const sql = `SELECT e.* FROM json_each(?) j CROSS JOIN events e ON e.session = (SELECT id FROM cached WHERE session_uid = ?)
     AND e.seq = j.value WHERE ${isWanted} ORDER BY j.key`
  for (let at = 0; at < seqs.length; at += PAGE)
    yield rows<Row>(cache, sql, JSON.stringify(seqs.slice(at, at + PAGE)), uid)
}

/** A few out of many: neither the other events nor what the others spent are read. */
function picked(databases: Databases, uid: string, seqs: readonly number[]): EventWithCall[] {
  const order = orderOf(databases.cache, uid)
  const inOrder = seqs.toSorted((a, b) => order.placeOf(a) - order.placeOf(b))
  const found = [...pagesOf(databases, uid, inOrder, '1')].flat()
  const tokens = tokensBySeq(databases, uid, seqs)
  return found.map((one) => withCall(uid, one, tokens))
}

/** Output tokens by the event that shows them; a display aid, the ledger is the truth. */
function tokensBySeq(
  { cache, memory }: Databases,
  uid: string,
  seqs?: readonly number[],
): Map<number, number> {
  const shown = rows<{ response_id: string; seq: number }>(
    cache,
    `SELECT s.response_id, s.seq FROM cached c JOIN spent s ON s.session = c.id WHERE c.session_uid = ?
     ${seqs ? 'AND s.seq IN (SELECT value FROM json_each(?))' : ''}`,
    uid,
    ...(seqs ? [JSON.stringify(seqs)] : []),
  )
  const ids = JSON.stringify(shown.map((one) => one.response_id))
  const outputs = rows<{ response_id: string; output: number }>(
    memory,
    `SELECT response_id, output FROM usage WHERE session_uid = ? AND is_counted AND NOT is_nested
     ${seqs ? 'AND response_id IN (SELECT value FROM json_each(?))' : ''}`,
    uid,
    ...(seqs ? [ids] : []),
  )
  const spent = new Map(outputs.map((one) => [one.response_id, one.output]))
  const tokens = new Map<number, number>()
  for (const { response_id, seq } of shown)
    tokens.set(seq, (tokens.get(seq) ?? 0) + (spent.get(response_id) ?? 0))
  return tokens
}

function withCall(uid: string, found: Row, tokens: ReadonlyMap<number, number>): EventWithCall {
  const call = found['call'] as Uint8Array | null
  return { event: toEvent(uid, found, tokens), call: call && Buffer.from(call).toString('latin1') }
}

export const blobRef = (payload: Uint8Array): string => `blob://${Buffer.from(payload).toString('hex')}`

function toEvent(uid: string, found: Row, tokens: ReadonlyMap<number, number>): SessionEvent {
  const flags = found['flags'] as number
  const ts = found['ts'] as number | null
  return {
    session_uid: uid,
    seq: found['seq'] as number,
    parent_seq: found['parent_seq'] as number | null,
    ts: isoTime(ts),
    kind: EVENT_KINDS[found['kind'] as number] as EventKind,
    role: ROLES[found['role'] as number] ?? 'system',
    tool: found['tool'] as string | null,
    summary: found['summary'] as string,
    payload_ref: blobRef(found['payload'] as Uint8Array),
    tokens: tokens.get(found['seq'] as number) ?? 0,
    is_sidechain: (flags & FLAG.sidechain) !== 0,
    is_inherited: (flags & (FLAG.inherited | FLAG.copied)) !== 0,
    is_superseded: (flags & FLAG.superseded) !== 0,
    agent: found['agent'] as string | null,
    exit_code: found['exit_code'] as number | null,
    duration_ms: found['duration_ms'] as number | null,
    does: wordOf(DEEDS, found['does'] as number | null),
    state: wordOf(END_STATES, found['state'] as number | null),
    mark: wordOf(MARKS, found['mark'] as number | null),
  }
}

const order = ({ cache }: Databases, uid: string): Order => orderOf(cache, uid)

/** An event without its body. Kind and role are numbers, the flags as they are stored. */
export interface EventHead {
  seq: number
  kind: number
  tool: string | null
  agent: string | null
  ts: number | null
  duration_ms: number | null
  exit_code: number | null
  call: string | null
  parent_seq: number | null
  role: number
  flags: number
  does: number | null
}

/** All of them, by number. */
const heads = ({ cache }: Databases, uid: string): EventHead[] =>
  rows(
    cache,
    `SELECT e.seq, e.kind, e.tool, e.agent, e.ts, e.duration_ms, e.exit_code, hex(e.call) AS call, e.parent_seq,
       e.role, e.flags, e.does ${OF_SESSION} ORDER BY e.seq`,
    uid,
  )

/** A call that changed files, or an answer to one. */
export interface EditRow {
  kind: EventKind
  seq: number
  ts: number | null
  tool: string | null
  /** Joins a call with its answer. */
  call: string
  mark: Mark | null
  payloadRef: string
}

type StoredEdit = Omit<EditRow, 'kind' | 'mark' | 'payloadRef'> & {
  kind: number
  mark: number | null
  payload: Uint8Array
}

const toEdit = ({ kind, mark, payload, ...found }: StoredEdit): EditRow => ({
  ...found,
  kind: EVENT_KINDS[kind] as EventKind,
  mark: wordOf(MARKS, mark),
  payloadRef: blobRef(payload),
})

const EDIT_COLUMNS = 'e.kind, e.seq, e.ts, e.tool, hex(e.call) AS call, e.mark, e.payload'
const NOT_OWN = FLAG.inherited | FLAG.copied | FLAG.superseded

/** The session's own, as they stand in the order of the conversation. */
function edits({ cache }: Databases, uid: string, limit: number): EditRow[] {
  const found = rows<StoredEdit>(
    cache,
    `SELECT ${EDIT_COLUMNS} ${OF_SESSION} AND e.kind IN (${numbersOf(['edit', 'retry'])}) AND e.flags & ${NOT_OWN} = 0
     ORDER BY e.seq LIMIT ?`,
    uid,
    limit,
  )
  const { placeOf } = orderOf(cache, uid)
  return found.sort((a, b) => placeOf(a.seq) - placeOf(b.seq)).map(toEdit)
}

/** What tools answered, by number. */
const answers = ({ cache }: Databases, uid: string): EditRow[] =>
  rows<StoredEdit>(
    cache,
    `SELECT ${EDIT_COLUMNS} ${OF_SESSION} AND e.role = ${ROLES.indexOf('tool')} AND e.call IS NOT NULL ORDER BY e.seq`,
    uid,
  ).map(toEdit)

const NO_PROMPT = NO_TURN | FLAG.inherited | FLAG.superseded

export interface Prompt {
  seq: number
  ts: number
  summary: string
}

/** What the person asked, by time. */
const prompts = ({ cache }: Databases, uid: string): Prompt[] =>
  rows(
    cache,
    `SELECT e.seq, e.ts, e.summary ${OF_SESSION} AND e.kind = ${EVENT_KINDS.indexOf('user_msg')}
     AND e.flags & ${NO_PROMPT} = 0 AND e.ts IS NOT NULL ORDER BY e.ts, e.seq`,
    uid,
  )

const timeOf = ({ cache }: Databases, uid: string, seq: number): number | null =>
  row<{ ts: number | null }>(cache, `SELECT e.ts ${OF_SESSION} AND e.seq = ?`, uid, seq)?.ts ?? null

const lastSeq = ({ cache }: Databases, uid: string): number | null =>
  row<{ last: number | null }>(cache, `SELECT max(e.seq) AS last ${OF_SESSION}`, uid)?.last ?? null

const seqsOf = ({ cache }: Databases, uid: string, kinds: readonly EventKind[]): number[] =>
  rows<{ seq: number }>(cache, `SELECT e.seq ${OF_SESSION} AND e.kind IN (${numbersOf(kinds)})`, uid).map(
    (one) => one.seq,
  )

export interface SidechainEvent {
  /** Null where the log does not name it. */
  agent: string | null
  seq: number
  ts: number | null
  parentSeq: number | null
}

/** Events of sub-agents that are the session's own, by agent. */
const sidechains = ({ cache }: Databases, uid: string): SidechainEvent[] =>
  rows(
    cache,
    `SELECT e.agent, e.seq, e.ts, e.parent_seq AS parentSeq ${OF_SESSION} AND e.flags & ${FLAG.sidechain}
     ORDER BY e.agent, e.seq`,
    uid,
  )

const MAX_FOUND = 5000

/** Events whose summary has the text, and those that match `words`; in the order of the conversation. */
function holding({ cache }: Databases, uid: string, text: string, words: string | undefined): number[] {
  const literal = rows<{ seq: number }>(
    cache,
    `SELECT e.seq FROM cached c JOIN events e ON e.session = c.id
     WHERE c.session_uid = ?1 AND instr(lower(e.summary), lower(?2)) > 0 LIMIT ${MAX_FOUND}`,
    uid,
    text,
  )
  const indexed =
    words === undefined
      ? []
      : rows<{ seq: number }>(
          cache,
          `SELECT e.seq FROM words JOIN events e ON e.id = words.rowid JOIN cached c ON c.id = e.session
           WHERE words MATCH ?2 AND c.session_uid = ?1 LIMIT ${MAX_FOUND}`,
          uid,
          words,
        )
  const { placeOf } = orderOf(cache, uid)
  const seqs = new Set([...literal, ...indexed].map((one) => one.seq))
  return [...seqs].sort((a, b) => placeOf(a) - placeOf(b))
}

/** The first event with this call or this key. */
const showing = ({ cache }: Databases, uid: string, call: Uint8Array, key: Uint8Array): number | null =>
  row<{ seq: number | null }>(
    cache,
    `SELECT min(seq) AS seq FROM events WHERE session = (SELECT id FROM cached WHERE session_uid = ?1)
     AND (call = ?2 OR key = ?3)`,
    uid,
    call,
    key,
  )?.seq ?? null

export const eventQuestions = {
  transcript,
  order,
  pages: eventPages,
  heads,
  edits,
  answers,
  prompts,
  timeOf,
  lastSeq,
  seqsOf,
  sidechains,
  holding,
  showing,
}
