// What an event says, as text: the whole of a message, the arguments of a call, the output of a tool.
import { ARGUMENTS, textOf } from '../digest/event.ts'
import type { EventKind, SessionEvent } from '../model.ts'
import { Bodies } from '../store/bodies.ts'
import type { ReadHandle } from '../store/store.ts'

const CALLS: ReadonlySet<EventKind> = new Set(['tool_call', 'edit', 'test_run', 'retry'])

/** The readable text of an event; its summary where the body says nothing, or cannot be read. */
export function eventText(handle: ReadHandle, event: SessionEvent): { text: string; isUnread: boolean } {
  const bodies = new Bodies(handle)
  const payload = bodies.value(event.payload_ref)
  const text = (CALLS.has(event.kind) ? callText(payload) : textOf(payload)) || event.summary
  return { text, isUnread: bodies.unread.size > 0 }
}

function callText(payload: unknown): string {
  if (typeof payload !== 'object' || payload === null) return ''
  for (const name of ARGUMENTS) {
    const given = Object.hasOwn(payload, name) ? (payload as Record<string, unknown>)[name] : undefined
    if (typeof given === 'string') return given
    if (typeof given === 'object' && given !== null) return JSON.stringify(given)
  }
  return ''
}
