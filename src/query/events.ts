// Events of one session, in order, and their full bodies.
import { DEEDS, END_STATES, EVENT_KINDS, type EventKind, MARKS, type SessionEvent } from '../model.ts'
import { orderOf } from '../store/order.ts'
import { FLAG, ROLES, wordOf } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'
import { decisionEvents } from './decisions.ts'

export interface EventFilter {
  kinds?: readonly EventKind[]
  /** First and last place in the order of the conversation (`store/order.ts`), both included. */
  fromPlace?: number
  toPlace?: number
  /** Only these. */
  seqs?: readonly number[]
}

/** Page by page: a reader that pauses (a pager, a browser) must hold no statement, and with it no old state, open. */
const PAGE = 256

/** Streams a session's events in the order of the conversation, decisions among them by time. */
export function* sessionEvents(
  handle: ReadHandle,
  uid: string,
  filter: EventFilter = {},
): Generator<SessionEvent> {
  for (const { event } of eventsWithCalls(handle, uid, filter)) yield event
}

export interface EventWithCall {
  event: SessionEvent
  /** Joins a call with its result. */
  call: string | null
}

/** The same, each with the id of its call. */
export function* eventsWithCalls(
  handle: ReadHandle,
  uid: string,
  filter: EventFilter = {},
): Generator<EventWithCall> {
  const waiting = decisionEvents(handle, uid, filter)
  for (const one of transcriptEvents(handle, uid, filter)) {
    const { ts } = one.event
    while (ts !== null && waiting[0]?.ts && waiting[0].ts < ts)
      yield { event: waiting.shift() as SessionEvent, call: null }
    yield one
  }
  for (const event of waiting) yield { event, call: null }
}

function* transcriptEvents(handle: ReadHandle, uid: string, filter: EventFilter): Generator<EventWithCall> {
  if (filter.seqs) return yield* pickedEvents(handle, uid, filter.seqs)
  const kinds = (filter.kinds ?? EVENT_KINDS).map((kind) => EVENT_KINDS.indexOf(kind))
  const { fromPlace = 0, toPlace = Number.MAX_SAFE_INTEGER } = filter
  const order = orderOf(handle.cache, uid)
  const isWanted = `e.kind IN (${kinds.join(',')})`
  const pages = order.isByNumber
    ? pagesByNumber(handle, uid, fromPlace, toPlace, isWanted)
    : pagesOf(handle, uid, order.seqs(fromPlace, toPlace), isWanted)
  const tokens = tokensBySeq(handle, uid)
  for (const rows of pages) for (const row of rows) yield withCall(uid, row, tokens)
}

function* pagesByNumber(
  handle: ReadHandle,
  uid: string,
  first: number,
  last: number,
  isWanted: string,
): Generator<Row[]> {
  const read = handle.cache.prepare(
    `SELECT e.* FROM cached c JOIN events e ON e.session = c.id
     WHERE c.session_uid = ? AND e.seq BETWEEN ? AND ? AND ${isWanted} ORDER BY e.seq LIMIT ${PAGE}`,
  )
  for (let fromSeq = first; ; ) {
    const rows = read.all(uid, fromSeq, last) as unknown as Row[]
    yield rows
    if (rows.length < PAGE) return
    fromSeq = ((rows.at(-1) as Row)['seq'] as number) + 1
  }
}

/** The events with these numbers, in this order. */
function* pagesOf(
  handle: ReadHandle,
  uid: string,
  seqs: readonly number[],
  isWanted: string,
): Generator<Row[]> {
  const read = handle.cache.prepare(
    `SELECT e.* FROM json_each(?) j CROSS JOIN events e ON e.session = (SELECT id FROM cached WHERE session_uid = ?)
     AND e.seq = j.value WHERE ${isWanted} ORDER BY j.key`,
  )
  for (let at = 0; at < seqs.length; at += PAGE)
    yield read.all(JSON.stringify(seqs.slice(at, at + PAGE)), uid) as unknown as Row[]
}

type Row = Record<string, unknown>

/** A few out of many: neither the other events nor what the others spent are read. */
function pickedEvents(handle: ReadHandle, uid: string, seqs: readonly number[]): EventWithCall[] {
  const order = orderOf(handle.cache, uid)
  const inOrder = seqs.toSorted((a, b) => order.placeOf(a) - order.placeOf(b))
  const rows = [...pagesOf(handle, uid, inOrder, '1')].flat()
  const tokens = tokensBySeq(handle, uid, seqs)
  return rows.map((row) => withCall(uid, row, tokens))
}

/** Output tokens by the event that shows them; a display aid, the ledger is the truth. */
function tokensBySeq(handle: ReadHandle, uid: string, seqs?: readonly number[]): Map<number, number> {
  const shown = handle.cache
    .prepare(
      `SELECT s.response_id, s.seq FROM cached c JOIN spent s ON s.session = c.id WHERE c.session_uid = ?
       ${seqs ? 'AND s.seq IN (SELECT value FROM json_each(?))' : ''}`,
    )
    .all(uid, ...(seqs ? [JSON.stringify(seqs)] : [])) as unknown as { response_id: string; seq: number }[]
  const ids = JSON.stringify(shown.map((one) => one.response_id))
  const outputs = handle.memory
    .prepare(
      `SELECT response_id, output FROM usage WHERE session_uid = ? AND is_counted AND NOT is_nested
       ${seqs ? 'AND response_id IN (SELECT value FROM json_each(?))' : ''}`,
    )
    .all(uid, ...(seqs ? [ids] : [])) as unknown as { response_id: string; output: number }[]
  const spent = new Map(outputs.map((one) => [one.response_id, one.output]))
  const tokens = new Map<number, number>()
  for (const { response_id, seq } of shown)
    tokens.set(seq, (tokens.get(seq) ?? 0) + (spent.get(response_id) ?? 0))
  return tokens
}

function withCall(uid: string, row: Row, tokens: ReadonlyMap<number, number>): EventWithCall {
  const call = row['call'] as Uint8Array | null
  return { event: toEvent(uid, row, tokens), call: call && Buffer.from(call).toString('latin1') }
}

function toEvent(uid: string, row: Row, tokens: ReadonlyMap<number, number>): SessionEvent {
  const flags = row['flags'] as number
  const ts = row['ts'] as number | null
  return {
    session_uid: uid,
    seq: row['seq'] as number,
    parent_seq: row['parent_seq'] as number | null,
    ts: ts === null ? null : new Date(ts).toISOString(),
    kind: EVENT_KINDS[row['kind'] as number] as EventKind,
    role: ROLES[row['role'] as number] ?? 'system',
    tool: row['tool'] as string | null,
    summary: row['summary'] as string,
    payload_ref: `blob://${Buffer.from(row['payload'] as Uint8Array).toString('hex')}`,
    tokens: tokens.get(row['seq'] as number) ?? 0,
    is_sidechain: (flags & FLAG.sidechain) !== 0,
    is_inherited: (flags & (FLAG.inherited | FLAG.copied)) !== 0,
    is_superseded: (flags & FLAG.superseded) !== 0,
    agent: row['agent'] as string | null,
    exit_code: row['exit_code'] as number | null,
    duration_ms: row['duration_ms'] as number | null,
    does: wordOf(DEEDS, row['does'] as number | null),
    state: wordOf(END_STATES, row['state'] as number | null),
    mark: wordOf(MARKS, row['mark'] as number | null),
  }
}
