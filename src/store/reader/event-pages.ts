// The events of a session as the digest goes through them: as lists, many at a time.

import { addTo } from '../../lists.ts'
import { prepared, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import type { Order } from '../order.ts'

export type EventCells = [
  seq: number,
  ts: number | null,
  kind: number,
  role: number,
  tool: string | null,
  call: string,
  summary: string,
  flags: number,
  agent: string | null,
  exitCode: number | null,
  durationMs: number | null,
  payload: string,
  does: number | null,
  state: number | null,
  mark: number | null,
]

export interface EventPage {
  events: EventCells[]
  /** Files that they touched, by seq. */
  files: Map<number, string[]>
}

/** So many events are held at a time. */
const AT_ONCE = 4096
// Lists, and hashes as text: named columns and buffers take twice as long to make.
const COLUMNS =
  'e.seq, ts, kind, role, tool, hex(call), summary, flags, agent, exit_code, duration_ms, hex(payload), does, state, mark'
const ID = 'SELECT id FROM cached WHERE session_uid = ?1'
const BY_NUMBER = `SELECT ${COLUMNS} FROM events e WHERE session = (${ID}) AND e.seq > ?2 ORDER BY e.seq LIMIT ${AT_ONCE}`
const PICKED = `SELECT ${COLUMNS} FROM json_each(?2) j CROSS JOIN events e ON e.session = (${ID}) AND e.seq = j.value ORDER BY j.key`
const TOUCHED = `SELECT seq, path FROM touched WHERE session = (${ID}) AND seq BETWEEN ?2 AND ?3`

/** Those behind a place in the order of the conversation. */
export function* eventPages(
  { cache }: Databases,
  uid: string,
  order: Order,
  afterPlace: number,
): Generator<EventPage> {
  const read = (sql: string, value: string | number): EventCells[] => {
    const statement = prepared(cache, sql)
    statement.setReturnArrays(true)
    return statement.all(uid, value) as unknown as EventCells[]
  }
  const pageOf = (events: EventCells[]): EventPage => {
    const files = new Map<number, string[]>()
    const [first, last] = events.reduce(
      ([low, high], [seq]) => [Math.min(low, seq), Math.max(high, seq)],
      [Number.MAX_SAFE_INTEGER, 0],
    )
    for (const { seq, path } of rows<{ seq: number; path: string }>(cache, TOUCHED, uid, first, last))
      addTo(files, seq, path)
    return { events, files }
  }
  if (order.isByNumber) {
    for (let after = afterPlace; ; ) {
      const events = read(BY_NUMBER, after)
      const last = events.at(-1)
      if (!last) return
      yield pageOf(events)
      after = last[0]
    }
  }
  const seqs = order.seqs(afterPlace + 1, Number.MAX_SAFE_INTEGER)
  for (let at = 0; at < seqs.length; at += AT_ONCE)
    yield pageOf(read(PICKED, JSON.stringify(seqs.slice(at, at + AT_ONCE))))
}
