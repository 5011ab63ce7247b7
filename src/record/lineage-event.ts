// One line of the session history: its schema, its exact bytes, and the reader of a whole log. The bytes are those of
// Python's `json.dumps`, because other programs compare and commit this file.
import { type Stats, statSync } from 'node:fs'
import { join } from 'node:path'
import * as z from 'zod'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { DEFAULT_HISTORY_FILE } from './file-names.ts'
import { checkOptions, checkPath, checkTime } from './given.ts'
import { type ReadOptions, readRecords } from './read.ts'
import { Text } from './shapes.ts'

/** The kinds we write. Readers keep any other kind as it stands. */
export const SessionHistoryEventType = z.enum([
  'created',
  'compacted',
  'swapped',
  'cleared',
  'interactive_fork',
  'bg_fork',
])
export type SessionHistoryEventType = z.infer<typeof SessionHistoryEventType>

/** A line as readers accept it: any kind, further fields kept, a missing parent is null. */
export const SessionHistoryEvent = z.looseObject({
  session_id: z.string().min(1),
  event: z.string().min(1),
  timestamp: Text,
  parent_session_id: z.string().nullable().default(null),
})
export type SessionHistoryEvent = z.infer<typeof SessionHistoryEvent>

/** A line as we write it: the four fields of the format and nothing else. */
export interface WrittenSessionEvent {
  session_id: string
  event: SessionHistoryEventType
  /** ISO 8601 with an offset. */
  timestamp: string
  parent_session_id: string | null
}

const MAX_ID_CHARACTERS = 4096
// The current-session file holds the bare id and its reader trims and has a bound, so an id must survive that round trip.
const SessionId = z
  .string()
  .max(MAX_ID_CHARACTERS)
  .refine((id) => id !== '' && id === id.trim() && !/[\p{Cc}\p{Cs}]/u.test(id), 'not a session id')

const Written = z.strictObject({
  session_id: SessionId,
  event: SessionHistoryEventType,
  timestamp: z.iso.datetime({ offset: true }),
  parent_session_id: SessionId.nullable(),
})

export function isSessionId(id: unknown): id is string {
  return SessionId.safeParse(id).success
}

/** Throws BAD_INPUT unless the event may be written. */
export function checkEvent(event: unknown): WrittenSessionEvent {
  const checked = Written.safeParse(event)
  if (checked.success) return checked.data
  throw new RecollectError('BAD_INPUT', `not a session event: ${z.prettifyError(checked.error)}`, {
    where: checked.error.issues[0]?.path.join('.') || 'event',
    hint: 'see docs/formats/lineage.md; nothing was written',
  })
}

/** The line without its newline. */
export function encodeEvent(event: WrittenSessionEvent): string {
  const parent = event.parent_session_id === null ? 'null' : quote(event.parent_session_id)
  return `{"session_id": ${quote(event.session_id)}, "event": ${quote(event.event)}, "timestamp": ${quote(event.timestamp)}, "parent_session_id": ${parent}}`
}

/** Python escapes everything outside printable ASCII, by UTF-16 unit and in lower case. */
function quote(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Local time to the second with its UTC offset, such as `2026-02-17T03:38:00-08:00`. */
export function localTimestamp(date: Date): string {
  checkTime(date)
  const offset = -date.getTimezoneOffset()
  const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, 19)
  const ahead = Math.abs(offset)
  return `${local}${offset < 0 ? '-' : '+'}${two(Math.floor(ahead / 60))}:${two(ahead % 60)}`
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

/** Undefined for what is not there. */
export function statPath(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    // Not left to `throwIfNoEntry`: from Node 22 on it says nothing of a file in place of a directory either.
    if (errnoOf(error) === 'ENOENT') return undefined
    throw fromSystem(error, 'cannot look at file', path, 'read')
  }
}

/** The events of a history file, or of the one in a directory, in file order; none if there is no file. */
export async function readSessionHistory(
  path: string,
  options: ReadOptions = {},
): Promise<SessionHistoryEvent[]> {
  checkPath(path, 'path')
  checkOptions(options)
  const file = statPath(path)?.isDirectory() ? join(path, DEFAULT_HISTORY_FILE) : path
  const events: SessionHistoryEvent[] = []
  if (statPath(file) === undefined) return events
  for await (const event of readRecords(file, SessionHistoryEvent, options)) events.push(event)
  return events
}
