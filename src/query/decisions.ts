// Decisions as readers see them: with their session, and as events among the others.
import { type Decision, EVENT_KINDS, type EventKind, type Session, type SessionEvent } from '../model.ts'
import { decisionRef, decisionsIn } from '../store/decisions.ts'
import type { ReadHandle } from '../store/store.ts'

type Memory = Pick<ReadHandle, 'memory'>

/** Of one session, oldest first. */
export const decisionsOf = ({ memory }: Memory, uid: string): Decision[] => decisionsIn(memory, [uid])

export function withDecisions(handle: Memory, sessions: Session[]): Session[] {
  const uids = sessions.map((session) => session.session_uid)
  const found = decisionsIn(handle.memory, uids)
  if (found.length === 0) return sessions
  const of = (uid: string): Decision[] => found.filter((one) => one.session_uid === uid)
  return sessions.map((session) => ({ ...session, decisions: of(session.session_uid) }))
}

interface Filter {
  kinds?: readonly EventKind[]
  fromPlace?: number
  toPlace?: number
  seqs?: readonly number[]
}

const SUMMARY_LENGTH = 140

export function decisionEvents(handle: Memory, uid: string, filter: Filter): SessionEvent[] {
  if (!(filter.kinds ?? EVENT_KINDS).includes('decision')) return []
  // Their numbers are their places: nothing of a transcript reaches them.
  const { fromPlace = 0, toPlace = Number.MAX_SAFE_INTEGER } = filter
  return decisionsOf(handle, uid)
    .filter(({ seq }) => (filter.seqs ? filter.seqs.includes(seq) : seq >= fromPlace && seq <= toPlace))
    .map(toEvent)
}

function toEvent(decision: Decision): SessionEvent {
  const line = decision.text.replace(/\s+/gu, ' ')
  return {
    session_uid: decision.session_uid,
    seq: decision.seq,
    parent_seq: null,
    ts: decision.ts,
    kind: 'decision',
    role: 'user',
    tool: null,
    summary: line.length > SUMMARY_LENGTH ? `${line.slice(0, SUMMARY_LENGTH - 1).toWellFormed()}…` : line,
    payload_ref: decisionRef(decision),
    tokens: 0,
    is_sidechain: false,
    is_inherited: false,
    is_superseded: false,
    agent: null,
    exit_code: null,
    duration_ms: null,
    does: null,
    state: null,
    mark: null,
  }
}
