// What the digest reads of a session: its events that are new, and what was told of it before.
import { createHash } from 'node:crypto'
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
import type { Order } from '../store/order.ts'
import type { Copied, StoredDigest } from '../store/reader/digests.ts'
import type { EventCells } from '../store/reader/event-pages.ts'
import type { Reader } from '../store/reader/index.ts'
import { FLAG, ROLES, wordOf } from '../store/rows.ts'
import type { Fold } from '../store/store.ts'
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
  copied(uid: string): Copied | undefined
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

/** Goes through many sessions, and counts the bodies it could not read. */
export function sessionReader(handle: Reader): SessionReader {
  const { bodyOf, unreadCount } = bodies(handle)
  const { digests, events, sessions } = handle
  return {
    unreadCount,
    session: (uid) => getSession(handle, uid),
    toldOutcome: sessions.toldOutcome,
    hasDigest: (uid) => digests.of(uid) !== undefined,
    frozen: digests.frozen,
    isMiscounted: digests.isMiscounted,
    copied: digests.copied,
    repeated: digests.repeated,
    order: events.order,
    fold(uid, order) {
      const fold = digests.fold(uid)
      if (fold?.rules !== RULES) return undefined
      // What came later may stand before what was gone through.
      return order.seqs(0, fold.lastSeq).every((seq) => seq <= fold.lastSeq) ? fold : undefined
    },
    *events(uid, order, afterPlace) {
      for (const page of events.pages(uid, order, afterPlace))
        for (const cells of page.events) yield toEvent(cells, page.files.get(cells[0]) ?? [], bodyOf)
    },
    coverage(uid) {
      const { size, gaps } = handle.coverage.understood(uid)
      const share = size === 0 ? 1 : Math.round((1 - Math.min(gaps, size) / size) * 10_000) / 10_000
      return { source_bytes: size, gap_bytes: gaps, share }
    },
    children: (uid) =>
      handle.lineage.subagents(uid).map(({ uid: child, evidence }) => {
        const seq = evidence === null ? null : events.showing(uid, ...namesOf(uid, evidence))
        return { uid: child, seqs: seq === null ? [] : [seq] }
      }),
    earlier(uid) {
      const first = digests.firstSeq(uid)
      if (first === null || first <= 1) return undefined
      const stored = digests.stored(uid)
      if (!stored) return undefined
      // Once kept, the same part is added to every later digest; only a further eviction makes the digest so far the base.
      return stored.earlier !== null && stored.earlier_seq >= first - 1
        ? { seq: stored.earlier_seq, digest: stored.earlier }
        : { seq: first - 1, digest: stored.digest }
    },
  }
}

function bodies(
  handle: Reader,
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

function toEvent(
  cells: EventCells,
  files: readonly string[],
  bodyOf: (hash: string) => Body | undefined,
): DigestEvent {
  const [seq, ts, kind, role, tool, call, summary, flags, agent, exitCode, durationMs, hash, ...told] = cells
  const [does, state, mark] = told
  // Asked for by several rules, one after the other.
  let known: { body: Body | undefined } | undefined
  return {
    seq,
    ts,
    kind: EVENT_KINDS[kind] as EventKind,
    role: ROLES[role] ?? 'system',
    tool,
    call: call === '' ? null : call,
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
    body: () => {
      known ??= { body: bodyOf(hash) }
      return known.body
    },
  }
}
