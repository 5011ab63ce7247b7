// Decisions as readers see them: with their session, and as events among the others.
import { type Decision, EVENT_KINDS, type EventKind, type SessionEvent } from '../model.ts'
import { decisionRef } from '../store/decisions.ts'
import type { Reader } from '../store/reader/index.ts'

/** Of one session, oldest first. */
export const decisionsOf = (handle: Reader, uid: string): Decision[] => handle.sessions.decisions([uid])

interface Filter {
  kinds?: readonly EventKind[]
  fromPlace?: number
  toPlace?: number
  seqs?: readonly number[]
}

const SUMMARY_LENGTH = 140

export function decisionEvents(handle: Reader, uid: string, filter: Filter): SessionEvent[] {
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
