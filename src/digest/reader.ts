// What the digest reads of a session: its rows that are new, and what was told of it before. Owns the statements, prepared
// once for all sessions of a sweep.

import { createHash } from 'node:crypto'
import { parseStored } from '../errors.ts'
import type { Body } from '../event/body.ts'
import {
  DEEDS,
  END_STATES,
  EVENT_KINDS,
  type EventKind,
  MARKS,
  type Outcome,
  type Session,
} from '../model.ts'
import { getSession } from '../query/sessions.ts'
import { ID_LAYOUT } from '../store/batch.ts'
import { Bodies } from '../store/bodies.ts'
import type { Database } from '../store/database.ts'
import { foldOf, knowingMore } from '../store/digests.ts'
import { conversationOrder, type Order } from '../store/order.ts'
import { FLAG, ROLES, wordOf } from '../store/rows.ts'
import { OWN_SOURCES } from '../store/settle.ts'
import type { Fold, ReadHandle } from '../store/store.ts'
import { entryOf } from './bounded.ts'
import { type Coverage, RULES } from './digest.ts'
import type { DigestEvent } from './event.ts'

export interface SessionReader {
  session(uid: string): Session | undefined
  /** How it ended, where the program that ran it says so itself. */
  toldOutcome(uid: string): Outcome | null
  /** Bodies that were asked for so far and could not be read. */
  unreadCount(): number
  hasDigest(uid: string): boolean
  /** Where the last digest stopped; undefined to begin at the beginning. */
  fold(uid: string, order: Order): Fold | undefined
  order(uid: string): Order
  /** In the order of the conversation, those behind a place. */
  events(uid: string, order: Order, afterPlace: number): Iterable<DigestEvent>
  coverage(uid: string): Coverage
  /** Sub-agents with a session of their own, and the event that started each. */
  children(uid: string): Child[]
  /** The digest of a session none of whose events are here, or fewer than it knows. */
  frozen(uid: string): StoredDigest | undefined
  /** Whether that counts what turned out to be copied, or tokens that are told anew. */
  isMiscounted(uid: string): boolean
  /** What it copied, as far as that was found out after its events had gone. */
  copied(uid: string): { originUid: string; seqs: Range[]; originSeqs: Range[] } | undefined
  /** Of the events up to this one, which are gone: those that turned out to count nowhere, as what they were counted. */
  repeated(uid: string, untilSeq: number): EventKind[]
  /** The digest of events that are no longer here, and the last of them; undefined while all are here. */
  earlier(uid: string): { seq: number; digest: string } | undefined
}

export interface Child {
  uid: string
  seqs: number[]
}

/** As the store keeps them: the hash of a call, and of an event of the session. */
function namesOf(uid: string, evidence: string): [call: Uint8Array, key: Uint8Array] {
  const sha1 = (text: string, [from, to]: readonly [number, number]): Uint8Array =>
    createHash('sha1')
      .update(text)
      .digest()
      .subarray(0, to - from)
  return [sha1(evidence, ID_LAYOUT.call), sha1(`${uid}\0${evidence}`, ID_LAYOUT.key)]
}

export type Range = [first: number, last: number]

interface StoredDigest {
  digest: string
  earlier: string | null
  earlier_seq: number
}

/** Prepared once for all sessions of a sweep. */
export function sessionReader(handle: ReadHandle): SessionReader {
  const { cache, memory } = handle
  const cached = cache.prepare('SELECT id FROM cached WHERE session_uid = ?')
  const idOf = (uid: string): number => (cached.get(uid) as { id: number } | undefined)?.id ?? -1
  const rowsAfter = rowReader(cache)
  const understood = cache.prepare(
    `SELECT coalesce(sum(size), 0) AS size, coalesce(sum((SELECT sum(length) FROM gaps g WHERE g.path = s.path)), 0) AS gaps
     FROM (${OWN_SOURCES}) s`,
  )
  const children = memory.prepare(
    "SELECT session_uid, evidence FROM edges WHERE parent_uid = ? AND kind = 'subagent' ORDER BY session_uid",
  )
  // Adapters name the call or the event that shows it.
  const shown = cache.prepare(
    `SELECT min(seq) AS seq FROM events WHERE session = ?1 AND (call = ?2 OR key = ?3)`,
  )
  const told = memory.prepare('SELECT told_outcome AS outcome FROM sessions WHERE session_uid = ?')
  const { bodyOf, unreadCount } = bodies(handle)
  return {
    unreadCount,
    session: (uid) => getSession(handle, uid),
    toldOutcome: (uid) => (told.get(uid) as { outcome: Outcome | null } | undefined)?.outcome ?? null,
    fold(uid, order) {
      const fold = foldOf(cache, idOf(uid))
      if (fold?.rules !== RULES) return undefined
      // What came later may stand before what was gone through.
      return order.seqs(0, fold.lastSeq).every((seq) => seq <= fold.lastSeq) ? fold : undefined
    },
    order: (uid) => conversationOrder(cache, idOf(uid)),
    *events(uid, order, afterPlace) {
      for (const { rows, files } of rowsAfter(idOf(uid), order, afterPlace))
        for (const row of rows) yield toEvent(row, files.get(row[0]) ?? [], bodyOf)
    },
    coverage(uid) {
      const { size, gaps } = understood.get(uid) as { size: number; gaps: number }
      const share = size === 0 ? 1 : Math.round((1 - Math.min(gaps, size) / size) * 10_000) / 10_000
      return { source_bytes: size, gap_bytes: gaps, share }
    },
    children: (uid) =>
      (children.all(uid) as unknown as { session_uid: string; evidence: string | null }[]).map((row) => {
        const { evidence } = row
        const found = evidence === null ? null : shown.get(idOf(uid), ...namesOf(uid, evidence))
        const { seq } = (found ?? { seq: null }) as { seq: number | null }
        return { uid: row.session_uid, seqs: seq === null ? [] : [seq] }
      }),
    ...storedDigests(handle, idOf),
  }
}

interface Page {
  rows: Row[]
  /** By seq. */
  files: Map<number, string[]>
}

function rowReader(cache: Database): (id: number, order: Order, afterPlace: number) => Generator<Page> {
  const columns =
    'e.seq, ts, kind, role, tool, hex(call), summary, flags, agent, exit_code, duration_ms, hex(payload), does, state, mark'
  const byNumber = cache.prepare(
    `SELECT ${columns} FROM events e WHERE session = ? AND e.seq > ? ORDER BY e.seq LIMIT ${AT_ONCE}`,
  )
  const picked = cache.prepare(
    `SELECT ${columns} FROM json_each(?2) j CROSS JOIN events e ON e.session = ?1 AND e.seq = j.value ORDER BY j.key`,
  )
  // Lists, and hashes as text: named columns and buffers take twice as long to make.
  for (const statement of [byNumber, picked]) statement.setReturnArrays(true)
  const touched = cache.prepare('SELECT seq, path FROM touched WHERE session = ? AND seq BETWEEN ? AND ?')
  const pageOf = (id: number, rows: Row[]): Page => {
    const files = new Map<number, string[]>()
    const [first, last] = rows.reduce(
      ([low, high], [seq]) => [Math.min(low, seq), Math.max(high, seq)],
      [Number.MAX_SAFE_INTEGER, 0],
    )
    for (const { seq, path } of touched.all(id, first, last) as unknown as Touched[])
      entryOf(files, seq, () => [] as string[]).push(path)
    return { rows, files }
  }
  return function* (id, order, afterPlace) {
    if (order.isByNumber) {
      for (let after = afterPlace; ; ) {
        const rows = byNumber.all(id, after) as unknown as Row[]
        const last = rows.at(-1)
        if (!last) return
        yield pageOf(id, rows)
        after = last[0]
      }
    }
    const seqs = order.seqs(afterPlace + 1, Number.MAX_SAFE_INTEGER)
    for (let at = 0; at < seqs.length; at += AT_ONCE)
      yield pageOf(id, picked.all(id, JSON.stringify(seqs.slice(at, at + AT_ONCE))) as unknown as Row[])
  }
}

function bodies(
  handle: ReadHandle,
): Pick<SessionReader, 'unreadCount'> & { bodyOf: (hash: string) => Body | undefined } {
  const all = new Bodies(handle)
  // Not how many there are: forks share bodies, and each has a digest.
  let count = 0
  const bodyOf = (hash: string): Body | undefined => {
    const body = all.body(`blob://${hash.toLowerCase()}`)
    if (body === undefined) count++
    return body
  }
  return { bodyOf, unreadCount: () => count }
}

/** What was told before, of events that are gone. */
function storedDigests(
  { cache, memory }: ReadHandle,
  idOf: (uid: string) => number,
): Pick<SessionReader, 'hasDigest' | 'frozen' | 'isMiscounted' | 'copied' | 'repeated' | 'earlier'> {
  const firstSeq = cache.prepare('SELECT min(seq) AS seq FROM events WHERE session = ?')
  const stored = memory.prepare('SELECT digest, earlier, earlier_seq FROM digests WHERE session_uid = ?')
  const copied = memory.prepare(
    "SELECT origin_uid, seqs, origin_seqs FROM copied WHERE session_uid = ? AND origin_uid <> ''",
  )
  const counted = cache.prepare('SELECT event_count FROM cached WHERE session_uid = ?')
  const knowsMore = knowingMore(cache, memory)
  // Once the digest of later events was frozen in its turn, it was frozen without them.
  const repeated = memory.prepare('SELECT kind FROM repeated WHERE session_uid = ? AND evicted_seq = ?')
  const untold = memory.prepare('SELECT 1 FROM copied WHERE session_uid = ? AND NOT is_told')
  return {
    hasDigest: (uid) => stored.get(uid) !== undefined,
    isMiscounted: (uid) => untold.get(uid) !== undefined,
    frozen(uid) {
      const { event_count: count } = (counted.get(uid) ?? { event_count: 0 }) as { event_count: number }
      const { seq } = firstSeq.get(idOf(uid)) as { seq: number | null }
      const isAll = seq === null || knowsMore(uid, count)
      return isAll ? (stored.get(uid) as StoredDigest | undefined) : undefined
    },
    copied(uid) {
      const row = copied.get(uid) as { origin_uid: string; seqs: string; origin_seqs: string } | undefined
      return (
        row && {
          originUid: row.origin_uid,
          seqs: parseStored<Range[]>(row.seqs),
          originSeqs: parseStored<Range[]>(row.origin_seqs),
        }
      )
    },
    repeated: (uid, untilSeq) =>
      (repeated.all(uid, untilSeq) as unknown as { kind: EventKind }[]).map(({ kind }) => kind),
    earlier(uid) {
      const { seq: first } = firstSeq.get(idOf(uid)) as { seq: number | null }
      if (first === null || first <= 1) return undefined
      const row = stored.get(uid) as StoredDigest | undefined
      if (!row) return undefined
      // Once kept, the same part is added to every later digest; only a further eviction makes the digest so far the base.
      return row.earlier !== null && row.earlier_seq >= first - 1
        ? { seq: row.earlier_seq, digest: row.earlier }
        : { seq: first - 1, digest: row.digest }
    },
  }
}

/** So many events are held at a time. */
const AT_ONCE = 4096

interface Touched {
  seq: number
  path: string
}

type Row = [
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

function toEvent(
  row: Row,
  files: readonly string[],
  bodyOf: (hash: string) => Body | undefined,
): DigestEvent {
  const [seq, ts, kind, role, tool, call, summary, flags, agent, exitCode, durationMs, hash, ...told] = row
  const [does, state, mark] = told
  return {
    seq,
    ts,
    kind: EVENT_KINDS[kind] as EventKind,
    role: ROLES[role] ?? 'system',
    tool,
    call: call === '' ? null : Buffer.from(call, 'hex').toString('latin1'),
    summary,
    does: wordOf(DEEDS, does),
    state: wordOf(END_STATES, state),
    mark: wordOf(MARKS, mark),
    isSidechain: (flags & FLAG.sidechain) !== 0,
    isInherited: (flags & (FLAG.inherited | FLAG.copied)) !== 0,
    isSuperseded: (flags & FLAG.superseded) !== 0,
    isPart: (flags & FLAG.part) !== 0,
    hasMore: (flags & FLAG.more) !== 0,
    agent,
    exitCode,
    durationMs,
    files,
    body: () => bodyOf(hash),
  }
}
