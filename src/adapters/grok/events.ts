// events.jsonl: when turns began and ended, what was asked for and allowed, how tools fared. It is read beside the spine
// in order of time, with an offset of its own in the state. Its many small rows (phases, first tokens, starts) become one
// event per turn that counts them.

import { closeSync, existsSync, fstatSync } from 'node:fs'
import { type JsonlItem, readJsonlFrom } from '../../files/jsonl.ts'
import { openForReading } from '../../files/reading.ts'
import type { EndState, Mark } from '../../model.ts'
import type { EventItem, GapItem, Item, PositionItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { unreadable } from '../kit/companions.ts'
import { num, str, time } from '../kit/guards.ts'
import { MAX_LINE_BYTES, MAX_VALUES } from '../kit/lines.ts'
import type { Session } from './facts.ts'
import { interjectedRow } from './interjections.ts'
import type { State } from './state.ts'
import { withoutCopyFields } from './text.ts'
import type { CallEnd } from './tools.ts'

type Row = Record<string, unknown>

/** Called when a row says that a call did not end well. */
export type OnEnd = (callId: string, how: CallEnd) => Iterable<Item>

/** The rows after the state's offset, given out up to a moment or to the end. */
export interface EventRows {
  until(moment: number): Generator<Item>
  /** After each row `mark` tells where reading could stop: there may be any number of them. */
  rest(mark: () => PositionItem): Iterable<Item>
  close(): void
}

/** Within a step of the spine reading cannot stop: what is more than these comes a step later. */
const MAX_ROWS = 2000

const NO_ROWS: EventRows = { *until() {}, *rest() {}, close() {} }

export function openEvents(session: Session, state: State, onEnd: OnEnd): EventRows {
  const path = session.files.events
  if (!existsSync(path)) return NO_ROWS
  let fd: number
  try {
    fd = openForReading(path)
  } catch (error) {
    const gap = unreadable(path, error)
    return { ...NO_ROWS, rest: () => [gap] }
  }
  const size = fstatSync(fd).size
  // A shorter file is another file: its keys hold times, so they will not meet the old ones.
  if (size < state.eventsOffset) {
    state.eventsOffset = 0
    state.eventsOrdinal = 0
  }
  const lines = readJsonlFrom(fd, path, {
    fromOffset: state.eventsOffset,
    endOffset: size,
    maxLineBytes: MAX_LINE_BYTES,
    maxValues: MAX_VALUES,
    splitJoined: true,
  })
  let held: JsonlItem | undefined
  const take = function* (moment: number, limit: number, mark?: () => PositionItem): Generator<Item> {
    for (let count = 0; count < limit; count++) {
      held ??= lines.next().value as JsonlItem | undefined
      if (!held) return
      const at = 'gap' in held ? null : time(held.record['ts'])
      if (at !== null && at > moment) return
      const item = held
      held = undefined
      const end = item.offset + item.length
      if ('gap' in item) {
        const pending = end === size
        yield gapOf(item, pending)
        if (pending) continue
      } else {
        yield* eventRow(session, state, item.record, onEnd)
      }
      state.eventsOffset = end
      if (mark) yield mark()
    }
  }
  return {
    until: (moment) => take(moment, MAX_ROWS),
    rest: (mark) => take(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, mark),
    close: () => closeSync(fd),
  }
}

function gapOf(
  item: { gap: string; detail: string; offset: number; length: number },
  pending: boolean,
): GapItem {
  const { gap, detail, offset, length } = item
  return { type: 'gap', reason: `events-${gap}`, detail, file: 'events.jsonl', offset, length, pending }
}

/** Answered this fast, a permission came from a rule and not from a person. */
const PERSON_MS = 100
const COUNTED = new Set(['phase_changed', 'first_token', 'tool_started', 'permission_requested'])
const KNOWN = /^(?:loop_started|yolo_toggled|todo_gate_|laziness_|goal_|mcp_)/

function* eventRow(session: Session, state: State, row: Row, onEnd: OnEnd): Generator<Item> {
  const type = str(row['type']) ?? ''
  const ts = time(row['ts'])
  const key = `e${state.eventsOrdinal++}@${ts ?? 0}`
  const counted = countable(type, row)
  if (counted !== undefined) {
    count(state, key, ts, counted)
    return
  }
  const payload = withoutCopyFields(row)
  const make = (kind: EventItem['kind'], summary: string): EventItem => ({
    type: 'event',
    session: session.id,
    key,
    ts,
    kind,
    role: kind === 'human_intervention' ? 'user' : 'system',
    summary,
    payload,
  })
  if (type === 'turn_started') {
    yield* activity(session, state)
    state.activity = null
    yield make('lifecycle', `turn ${num(row['turn_number']) ?? ''} started`)
    yield* modelOf(session, state, str(row['model_id']))
  } else if (type === 'turn_ended') {
    yield* activity(session, state)
    state.activity = null
    if (!state.hasTurnCompleted && isSmall(payload)) remember(state.turnEnds, [key, ts, payload], 64)
    yield turnEnd(session, key, ts, payload, state.hasTurnCompleted)
  } else if (type === 'tool_completed') {
    yield make('lifecycle', `${str(row['tool_name']) ?? 'tool'}: ${str(row['outcome']) ?? 'unknown'}`)
    const callId = str(row['tool_call_id'])
    const how = endOf(row['outcome'])
    if (callId && how.state !== 'ok') yield* onEnd(callId, how)
  } else if (type === 'permission_resolved') {
    const decision = str(row['decision']) ?? ''
    // Whoever agrees does not interfere.
    const kind = decision === 'allow' ? 'lifecycle' : 'human_intervention'
    const event = make(kind, `permission for ${str(row['tool_name']) ?? 'a tool'}: ${decision}`)
    const mark = decision === 'cancelled' ? 'interrupt' : 'denied'
    yield decision === 'allow' ? event : { ...event, mark }
  } else if (type === 'interjected') {
    yield interjectedRow(session, state, key, ts, payload, isSmall(payload))
  } else {
    yield make(/_(?:failed|error)$/.test(type) ? 'error' : 'lifecycle', type.replaceAll('_', ' ') || 'event')
    if (!KNOWN.test(type)) yield { type: 'unknown', name: `events:${type}` }
  }
}

/** The model that a turn begins with; a summary that names one knows better. */
function* modelOf(session: Session, state: State, model: string | undefined): Generator<Item> {
  if (!model) return
  state.model = model
  if (model === state.toldModel) return
  state.toldModel = model
  yield { type: 'session', session: session.id, model, isGuess: true }
}

const TOOL_ENDS = new Map<unknown, EndState>([
  ['success', 'ok'],
  ['permission_rejected', 'refused'],
  ['hook_denied', 'refused'],
  ['permission_cancelled', 'refused'],
  ['followup', 'refused'],
  ['cancelled', 'stopped'],
])

/** What a person stopped or did not want did not fail: rows of their own tell of that. */
export function endOf(outcome: unknown): CallEnd {
  const state = TOOL_ENDS.get(outcome) ?? 'failed'
  // A rule's no is an error to the one who called.
  return { state, isFailed: state === 'failed' || outcome === 'hook_denied' }
}

const SMALL_LENGTH = 4096

/** Whether a body may wait in the cursor. */
function isSmall(payload: unknown): boolean {
  try {
    return JSON.stringify(payload).length <= SMALL_LENGTH
  } catch {
    // Nested too deeply to print.
    return false
  }
}

/** Under which name a row is counted; undefined for rows that say something by themselves. */
function countable(type: string, row: Row): string | undefined {
  if (row['source'] === 'workspace') return `${type} (workspace)`
  if (type === 'phase_changed') return `phase ${str(row['phase']) ?? ''}`
  if (COUNTED.has(type)) return type
  if (type === 'tool_completed' && row['outcome'] === 'success') return 'tool_completed'
  const waited = num(row['wait_ms']) ?? PERSON_MS
  if (type === 'permission_resolved' && row['decision'] === 'allow' && waited < PERSON_MS)
    return 'permission allowed'
  return undefined
}

function count(state: State, key: string, ts: number | null, name: string): void {
  state.activity ??= { key: `${key}:activity`, ts, counts: [] }
  const entry = state.activity.counts.find(([one]) => one === name)
  if (entry) entry[1]++
  // Names are foreign text: a turn with absurdly many of them must not swell the cursor.
  else if (state.activity.counts.length < 64) state.activity.counts.push([name.slice(0, 100), 1])
}

/** The counts of the turn so far. At the end of a read it is given out as it stands, and replaced by the next read. */
export function* activity(session: Session, state: State): Generator<Item> {
  if (!state.activity) return
  const { key, ts, counts } = state.activity
  yield {
    type: 'event',
    session: session.id,
    key,
    ts,
    kind: 'lifecycle',
    role: 'system',
    summary: 'activity of the turn',
    payload: { counts: counts.map((entry) => [...entry]) },
  }
}

/** Whoever stops a sub-agent does it through the session that started it. */
export const stopKind = ({ isSubagent }: Session): EventItem['kind'] =>
  isSubagent ? 'lifecycle' : 'human_intervention'

/** What the end of a turn means. */
export const endMark = (kind: EventItem['kind']): Mark | undefined =>
  kind === 'completion' ? 'turn-end' : kind === 'human_intervention' ? 'interrupt' : undefined

const ENDS: Record<string, (session: Session) => EventItem['kind']> = {
  completed: () => 'completion',
  cancelled: stopKind,
  error: () => 'error',
}

function turnEnd(
  session: Session,
  key: string,
  ts: number | null,
  payload: unknown,
  isEcho: boolean,
): EventItem {
  const outcome = str((payload as Row)['outcome']) ?? 'unknown'
  const kind = (!isEcho && Object.hasOwn(ENDS, outcome) && ENDS[outcome]?.(session)) || 'lifecycle'
  const role = kind === 'human_intervention' ? 'user' : 'system'
  const summary = `turn ended: ${outcome}`
  const event: EventItem = { type: 'event', session: session.id, key, ts, kind, role, summary, payload }
  // The next process says so of a turn that nobody else ends.
  const mark = outcome === 'interrupted' ? 'shutdown' : isEcho ? undefined : endMark(kind)
  return mark ? { ...event, mark } : event
}

/** Where a session has turn_completed, the turn_ended rows only echo it: those given out as more are taken back to that. */
export function* demoteTurnEnds(session: Session, state: State): Generator<Item> {
  if (state.hasTurnCompleted) return
  state.hasTurnCompleted = true
  for (const [key, ts, payload] of state.turnEnds) yield turnEnd(session, key, ts, payload, true)
  state.turnEnds = []
}
