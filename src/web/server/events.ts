// A window of a session's events with their bodies: by range or by number, in bounded pieces.
import { RecollectError } from '../../errors.ts'
import type { SessionEvent } from '../../model.ts'
import { sessionEvents } from '../../query/events.ts'
import type { ReadHandle } from '../../store/store.ts'
import type { Params } from './params.ts'

export interface EventWithBody extends SessionEvent {
  /** The redacted body; absent when it is too large for a window, null when it is gone. */
  payload?: unknown
  payload_bytes?: number
}

export interface EventWindow {
  session_uid: string
  events: EventWithBody[]
}

const MAX_EVENTS = 500
/** A larger body is sent when it is asked for alone. */
const MAX_BODY = 64_000

export function eventWindow(handle: ReadHandle, uid: string, params: Params): EventWindow {
  const seqs = seqsOf(params)
  const limit = params.count('limit', 100, MAX_EVENTS)
  const isAlone = seqs.length === 1
  const events: EventWithBody[] = []
  const which = seqs.length > 0 ? { seqs } : { fromSeq: params.count('from', 0, 1e9) }
  for (const event of sessionEvents(handle, uid, which)) {
    events.push(withBody(handle, event, isAlone))
    if (events.length >= limit) break
  }
  return { session_uid: uid, events }
}

function seqsOf(params: Params): number[] {
  const text = params.text('seqs')
  if (text === undefined) return []
  const seqs = text.split(',').map(Number)
  if (seqs.length > MAX_EVENTS || seqs.some((seq) => !Number.isSafeInteger(seq) || seq < 0))
    throw new RecollectError('USAGE', 'these are no event numbers', {
      where: 'seqs',
      hint: `at most ${MAX_EVENTS} whole numbers with commas between`,
    })
  return seqs.sort((a, b) => a - b)
}

function withBody(handle: ReadHandle, event: SessionEvent, isAlone: boolean): EventWithBody {
  const body = event.payload_ref === null ? undefined : handle.payload(event.payload_ref)
  if (body === undefined) return { ...event, payload: null }
  if (body.length > MAX_BODY && !isAlone) return { ...event, payload_bytes: body.length }
  return { ...event, payload: JSON.parse(body) as unknown }
}
