// Events of one session, in order, and their full bodies.
import { EVENT_KINDS, type EventKind, type SessionEvent } from '../model.ts'
import { FLAG, ROLES } from '../store/rows.ts'
import type { ReadHandle } from '../store/store.ts'
import { decisionEvents } from './decisions.ts'

export interface EventFilter {
  kinds?: readonly EventKind[]
  /** First and last seq, both included. */
  fromSeq?: number
  toSeq?: number
  /** Only these. */
  seqs?: readonly number[]
}

/** Page by page: a reader that pauses (a pager, a browser) must hold no statement, and with it no old state, open. */
const PAGE = 256

/** Streams a session's events: those of its transcript by number, decisions among them by time. */
export function* sessionEvents(
  handle: ReadHandle,
  uid: string,
  filter: EventFilter = {},
): Generator<SessionEvent> {
  const waiting = decisionEvents(handle, uid, filter)
  for (const event of transcriptEvents(handle, uid, filter)) {
    while (event.ts !== null && waiting[0]?.ts && waiting[0].ts < event.ts)
      yield waiting.shift() as SessionEvent
    yield event
  }
  yield* waiting
}

function* transcriptEvents(handle: ReadHandle, uid: string, filter: EventFilter): Generator<SessionEvent> {
  if (filter.seqs) return yield* pickedEvents(handle, uid, filter.seqs)
  const kinds = (filter.kinds ?? EVENT_KINDS).map((kind) => EVENT_KINDS.indexOf(kind))
  const read = handle.cache.prepare(
    `SELECT e.* FROM cached c JOIN events e ON e.session = c.id
     WHERE c.session_uid = ? AND e.seq BETWEEN ? AND ? AND e.kind IN (${kinds.join(',')}) ORDER BY e.seq LIMIT ${PAGE}`,
  )
  const toSeq = filter.toSeq ?? Number.MAX_SAFE_INTEGER
  const tokens = tokensByTime(handle, uid)
  for (let fromSeq = filter.fromSeq ?? 0; ; ) {
    const rows = read.all(uid, fromSeq, toSeq) as unknown as Record<string, unknown>[]
    for (const row of rows) yield toEvent(uid, row, tokens)
    if (rows.length < PAGE) return
    fromSeq = ((rows.at(-1) as Record<string, unknown>)['seq'] as number) + 1
  }
}

/** A few out of many: neither the other events nor what the others spent are read. */
function pickedEvents(handle: ReadHandle, uid: string, seqs: readonly number[]): SessionEvent[] {
  const rows = handle.cache
    .prepare(
      `SELECT e.* FROM cached c JOIN events e ON e.session = c.id
       WHERE c.session_uid = ? AND e.seq IN (SELECT value FROM json_each(?)) ORDER BY e.seq`,
    )
    .all(uid, JSON.stringify(seqs)) as unknown as Record<string, unknown>[]
  const tokens = tokensByTime(
    handle,
    uid,
    rows.map((row) => row['ts'] as number | null),
  )
  return rows.map((row) => toEvent(uid, row, tokens))
}

/** Output tokens of a response, shown on the one event that carries its time; a display aid, the ledger is the truth. */
function tokensByTime(handle: ReadHandle, uid: string, times?: (number | null)[]): Map<number, number> {
  const isAsked = times ? 'AND ts IN (SELECT value FROM json_each(?))' : ''
  const rows = handle.memory
    .prepare(
      `SELECT ts, output FROM usage WHERE session_uid = ? AND ts IS NOT NULL AND is_counted AND NOT is_nested ${isAsked}`,
    )
    .all(uid, ...(times ? [JSON.stringify(times)] : []))
  return new Map((rows as unknown as { ts: number; output: number }[]).map((row) => [row.ts, row.output]))
}

const WITH_TOKENS = new Set<EventKind>([
  'assistant_msg',
  'thinking',
  'tool_call',
  'edit',
  'test_run',
  'retry',
])

function toEvent(uid: string, row: Record<string, unknown>, tokens: Map<number, number>): SessionEvent {
  const flags = row['flags'] as number
  const ts = row['ts'] as number | null
  const kind = EVENT_KINDS[row['kind'] as number] as EventKind
  let spent = 0
  if (ts !== null && WITH_TOKENS.has(kind)) {
    spent = tokens.get(ts) ?? 0
    tokens.delete(ts)
  }
  return {
    session_uid: uid,
    seq: row['seq'] as number,
    parent_seq: row['parent_seq'] as number | null,
    ts: ts === null ? null : new Date(ts).toISOString(),
    kind,
    role: ROLES[row['role'] as number] ?? 'system',
    tool: row['tool'] as string | null,
    summary: row['summary'] as string,
    payload_ref: `blob://${Buffer.from(row['payload'] as Uint8Array).toString('hex')}`,
    tokens: spent,
    is_sidechain: (flags & FLAG.sidechain) !== 0,
    is_inherited: (flags & (FLAG.inherited | FLAG.copied)) !== 0,
    is_superseded: (flags & FLAG.superseded) !== 0,
    agent: row['agent'] as string | null,
    exit_code: row['exit_code'] as number | null,
    duration_ms: row['duration_ms'] as number | null,
  }
}
