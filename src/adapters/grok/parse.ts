// Reads one session: the small files, then the spine together with events.jsonl. The position covers the spine; the
// offset in events.jsonl is part of the state. An event may be given out again under its key when more is known of it
// (a text still growing, a call whose input came later, a result that turns out to have failed): the last one counts.
import { closeSync, readSync } from 'node:fs'
import { openForReading } from '../../files/reading.ts'
import type { Item, Position, Source } from '../adapter.ts'
import { isRecord } from '../kit/guards.ts'
import { type Line, readLines } from '../kit/lines.ts'
import { Answers } from './answers.ts'
import { chatItem } from './chat.ts'
import { ChatClock } from './chat-clock.ts'
import { activity, type EventRows, openEvents } from './events.ts'
import { promptHistory, readFacts, type Session, subagentEdges, usageFileItems } from './facts.ts'
import { filesOf } from './paths.ts'
import { noteResume } from './resumed.ts'
import { addChunk, continues, endRun, isChunk, promptOf, type Run, runEvent, startRun } from './runs.ts'
import { borrowPrompts, endStandIn, noteEarlierSweeps, standIn } from './standin.ts'
import { newState, type State } from './state.ts'
import { withoutCopyFields } from './text.ts'
import { Calls } from './toolcalls.ts'
import { otherUpdate, parseUpdate, type Update } from './updates.ts'

export function* read(source: Source, from: Position | null): Generator<Item> {
  const files = filesOf(source.path)
  const known = from ? { ...newState(), ...structuredClone(from.state as State) } : newState()
  const state: State = files.isChat ? { ...newState(), origin: known.origin } : known
  const { session, items } = readFacts(files, state.origin)
  yield* items
  const { parent, forkedAt, inheritedCount, isSubagent, isFork } = session
  state.origin = { parent, forkedAt, inheritedCount, isSubagent, isFork }
  if (files.isChat || (!from && source.standIn !== undefined)) noteEarlierSweeps(session, state)
  yield* session.files.isChat ? readChat(session, state, from) : readUpdates(session, state, from)
}

function* readUpdates(session: Session, state: State, from: Position | null): Generator<Item> {
  const calls = new Calls(session, state, (offset, length) => reread(session, offset, length))
  const events = openEvents(session, state, (callId, how) => calls.ended(callId, how))
  const reader = new UpdateReader(session, state, calls, events)
  let offset = from?.offset ?? 0
  try {
    for (const item of lines(session, from, (line) => reader.step(line))) {
      if (item.type === 'gap' && !item.pending) yield* reader.closeRun()
      noteAnswer(state, item)
      if (item.type !== 'position') yield item
      else if (!reader.run) {
        offset = item.position.offset
        yield { type: 'position', position: { offset, state } }
      }
    }
    yield* reader.greet()
    if (reader.run) {
      yield runEvent(session, state, reader.run)
      offset = reader.run.first.offset
    }
    if (!state.standIn.isOver) yield* standIn(session, state)
    yield* calls.unfinished()
    yield* events.rest(() => ({ type: 'position', position: { offset, state } }))
    yield* activity(session, state)
    if (!state.hasPrompt && reader.run?.first.kind !== 'user_message_chunk')
      yield* borrowPrompts(session, state)
    yield* subagentEdges(session, state)
    yield { type: 'position', position: { offset, state } }
  } finally {
    events.close()
  }
}

function noteAnswer(state: State, item: Item): void {
  if (item.type !== 'event') return
  if (item.role === 'assistant') state.answer = item.key
  else if (item.kind === 'user_msg') state.answer = null
}

/** The shared loop keeps its own state; ours is put into the position above. */
function lines(
  session: Session,
  from: Position | null,
  step: (line: Line) => Iterable<Item>,
): Generator<Item> {
  const start = from ? { offset: from.offset, state: null } : null
  return readLines<null>(
    session.files.spine,
    start,
    () => null,
    (_, line) => step(line),
  )
}

class UpdateReader {
  run: Run | undefined
  readonly #session: Session
  readonly #state: State
  readonly #calls: Calls
  readonly #events: EventRows

  constructor(session: Session, state: State, calls: Calls, events: EventRows) {
    this.#session = session
    this.#state = state
    this.#calls = calls
    this.#events = events
  }

  /** At the first prompt. */
  *greet(): Generator<Item> {
    const first = this.#state.standIn.isOver || !this.run ? undefined : promptOf(this.run)
    if (first) yield* endStandIn(this.#session, this.#state, first)
  }

  *closeRun(): Generator<Item> {
    yield* this.greet()
    if (this.run) yield* endRun(this.#session, this.#state, this.run)
    this.run = undefined
  }

  *step(line: Line): Generator<Item> {
    const ordinal = this.#state.ordinal + (this.run?.chunkCount ?? 0)
    const update = parseUpdate(this.#session, line.record, ordinal, line)
    if (update && this.run && continues(this.run, update)) return addChunk(this.run, update)
    yield* this.closeRun()
    if (update?.ts) yield* this.#events.until(update.ts)
    if (update) yield* noteResume(this.#session, this.#state, update)
    if (update && isChunk(update)) {
      if (update.kind === 'user_message_chunk') yield* this.#calls.unfinished()
      this.run = startRun(update)
      return
    }
    this.#state.ordinal++
    if (update) yield* this.#one(update)
    else yield* unknownRecord(this.#session, line.record, ordinal)
  }

  *#one(update: Update): Generator<Item> {
    if (update.kind === 'tool_call' || update.kind === 'tool_call_update') yield* this.#calls.update(update)
    else {
      if (update.kind === 'turn_completed') yield* this.#calls.unfinished()
      yield* otherUpdate(this.#session, this.#state, update)
    }
  }
}

function* unknownRecord(session: Session, record: Record<string, unknown>, ordinal: number): Generator<Item> {
  const method = typeof record['method'] === 'string' ? record['method'] : 'no update'
  yield {
    type: 'event',
    session: session.id,
    key: `#${ordinal}`,
    ts: null,
    kind: 'lifecycle',
    role: 'system',
    summary: `unknown record: ${method}`,
    payload: withoutCopyFields(record),
  }
  yield { type: 'unknown', name: `updates:${method}` }
}

/** A line that was read before. */
function reread(session: Session, offset: number, length: number): Record<string, unknown> | undefined {
  const fd = openForReading(session.files.spine)
  try {
    const bytes = Buffer.alloc(length)
    readSync(fd, bytes, 0, length, offset)
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isRecord(value) ? value : undefined
  } catch {
    // The file was replaced under us: the next sweep reads it from the beginning.
    return undefined
  } finally {
    closeSync(fd)
  }
}

/**
 * Read from the beginning each time: the file is rewritten rather than appended to, and what events.jsonl has about an item
 * may come after it. It is small, and what is known already changes nothing.
 */
function* readChat(session: Session, state: State, from: Position | null): Generator<Item> {
  const events = openEvents(session, state, () => [])
  const times = { clock: new ChatClock(session.files.events), history: promptHistory(session) }
  const answers = new Answers()
  let offset = 0
  try {
    for (const item of lines(session, null, (line) => chatItem(session, state, line.record, times))) {
      if (item.type === 'position') {
        offset = item.position.offset
        yield { type: 'position', position: { offset, state } }
        continue
      }
      // Counted by the read before.
      if (item.type === 'unknown' && from && offset < from.offset) continue
      answers.note(item)
      if (item.type === 'event' && item.ts !== null) yield* events.until(item.ts)
      yield item
    }
    yield* events.rest(() => ({ type: 'position', position: { offset, state } }))
    yield* activity(session, state)
    if (!state.hasPrompt) yield* borrowPrompts(session, state)
    yield* usageFileItems(session, answers)
    yield* subagentEdges(session, state)
    yield { type: 'position', position: { offset, state } }
  } finally {
    events.close()
  }
}
