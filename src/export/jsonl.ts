// JSON Lines: one line that heads a session, then its normalized events with what was told of them and the redacted record. Sub-agents follow as
// sessions of their own.
import { toldDocument } from '../event/document.ts'
import type { ExportSource } from './source.ts'
import { toJson } from './text.ts'

const line = (value: unknown): string => `${toJson(value)}\n`

/** `{"type":"session",…}`, then `{"type":"event",…}` each; a session with a loss has `{"type":"digest",…}` behind its head, one with bodies that cannot be read `{"type":"unread",…}` at its end. */
export function* toJsonLines(source: ExportSource): Generator<string> {
  const { session, receipts, children } = source
  yield line({ type: 'session', session, receipts, subagents: children })
  if (source.loss !== undefined) yield line({ type: 'digest', digest: source.digest ?? null })
  for (const { event, call, body: read } of source.events()) {
    const body = read()
    yield line({
      type: 'event',
      ...event,
      call,
      told: body ? toldDocument(body) : null,
      payload: body?.raw ?? null,
    })
  }
  const { bodies, unread } = source
  if (unread !== undefined)
    yield line({ type: 'unread', session_uid: session.session_uid, bodies: bodies.unread.size, text: unread })
}
