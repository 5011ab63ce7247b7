// A window of a session's events with their bodies: by range or by number, in bounded pieces.

import { RecollectError } from '../../errors.ts'
import { readBody } from '../../event/body.ts'
import { type ToldDocument, toldDocument } from '../../event/document.ts'
import { type Picture, picturesIn } from '../../event/pictures.ts'
import type { SessionEvent } from '../../model.ts'
import { sessionEvents } from '../../query/events.ts'
import { type Unread, unreadOf } from '../../query/unread.ts'
import { Bodies } from '../../store/bodies.ts'
import type { Reader } from '../../store/reader/index.ts'
import type { Params } from './params.ts'

export interface EventWithBody extends SessionEvent {
  /** What is told of it; absent when its body is too large for a window, null when that is gone or cannot be read. */
  told?: ToldDocument | null
  pictures?: Picture[]
  /** The redacted record, where it was asked for. */
  payload?: unknown
  payload_bytes?: number
}

export interface EventWindow {
  session_uid: string
  events: EventWithBody[]
  /** How many bodies of these should be in the cache and cannot be read. */
  unread_bodies: number
  unread: Unread | null
}

const MAX_EVENTS = 500
/** A larger body is sent when it is asked for alone. */
const MAX_BODY = 64_000

export function eventWindow(handle: Reader, uid: string, params: Params): EventWindow {
  const seqs = seqsIn(params)
  const limit = params.count('limit', 100, MAX_EVENTS)
  const how = { isAlone: seqs.length === 1, withRecord: params.flag('payload') }
  const events: EventWithBody[] = []
  const bodies = new Bodies(handle)
  const which = seqs.length > 0 ? { seqs } : { fromPlace: params.count('from', 0, 1e9) }
  for (const event of sessionEvents(handle, uid, which)) {
    events.push(withBody(bodies, event, how))
    if (events.length >= limit) break
  }
  const count = bodies.unread.size
  return { session_uid: uid, events, unread_bodies: count, unread: unreadOf(count) }
}

/** Empty where none are named. */
export function seqsIn(params: Params): number[] {
  const text = params.text('seqs')
  if (text === undefined) return []
  const seqs = text.split(',').map(Number)
  if (seqs.length > MAX_EVENTS || seqs.some((seq) => !Number.isSafeInteger(seq) || seq < 0))
    throw new RecollectError('USAGE', 'these are no event numbers', {
      where: 'seqs',
      hint: `at most ${MAX_EVENTS} whole numbers with commas between`,
    })
  return seqs
}

function withBody(
  bodies: Bodies,
  event: SessionEvent,
  { isAlone, withRecord }: { isAlone: boolean; withRecord: boolean },
): EventWithBody {
  const stored = bodies.text(event.payload_ref)
  if (stored === undefined) return { ...event, told: null }
  if (stored.length > MAX_BODY && !isAlone) return { ...event, payload_bytes: stored.length }
  const body = readBody(stored)
  // The whole file from before an edit is shown with the files.
  const { original: _, ...told } = toldDocument(body)
  const pictures = picturesIn(body.raw)
  return {
    ...event,
    told,
    ...(pictures.length > 0 && { pictures }),
    ...(withRecord && { payload: body.raw }),
  }
}
