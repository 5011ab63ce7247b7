// Events of one session, in order, decisions among them by time.
import type { SessionEvent } from '../model.ts'
import type { EventFilter, EventWithCall } from '../store/reader/events.ts'
import type { Reader } from '../store/reader/index.ts'
import { decisionEvents } from './decisions.ts'

export type { EventFilter, EventWithCall } from '../store/reader/events.ts'

/** Streams a session's events in the order of the conversation. */
export function* sessionEvents(
  reader: Reader,
  uid: string,
  filter: EventFilter = {},
): Generator<SessionEvent> {
  for (const { event } of eventsWithCalls(reader, uid, filter)) yield event
}

/** The same, each with the id of its call. */
export function* eventsWithCalls(
  reader: Reader,
  uid: string,
  filter: EventFilter = {},
): Generator<EventWithCall> {
  const waiting = decisionEvents(reader, uid, filter)
  for (const one of reader.events.transcript(uid, filter)) {
    const { ts } = one.event
    while (ts !== null && waiting[0]?.ts && waiting[0].ts < ts)
      yield { event: waiting.shift() as SessionEvent, call: null }
    yield one
  }
  for (const event of waiting) yield { event, call: null }
}
