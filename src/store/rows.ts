// How an event stands in the table: its flags and hashes, and whether one that comes again says anything new.
import { DEEDS, END_STATES, EVENT_KINDS, isInstruction, MARKS, type Role } from '../model.ts'
import { type Batch, ID_BYTES, ID_LAYOUT, type PreparedEvent } from './batch.ts'

export const ROLES: readonly Role[] = ['user', 'assistant', 'system', 'tool']
/**
 * `inherited` is the format's own word, `copied` was found by comparing sessions; `repeated` ones are told again by others;
 * a `part` belongs to the prompt before it;
 * `bodyLost` marks one whose body was damaged and no source had any more; `more` a command with more lines than its summary.
 */
export const FLAG = {
  sidechain: 1,
  inherited: 2,
  superseded: 4,
  copied: 8,
  repeated: 16,
  part: 32,
  bodyLost: 64,
  more: 128,
} as const
/** What a session does not count as its own. */
export const NOT_OWN = FLAG.inherited | FLAG.copied | FLAG.repeated
/** What somebody said and is no turn of the conversation. */
export const NO_TURN = FLAG.sidechain | FLAG.part

export interface Row {
  id: number
  seq: number
  payload: Uint8Array
  flags: number
  kind: number
  role: number
  ts: number | null
  summary: string
  tool: string | null
  agent: string | null
  exit_code: number | null
  duration_ms: number | null
  does: number | null
  state: number | null
  mark: number | null
  /** Without a parent, or with one that is only known by a call or a name. */
  is_root: 0 | 1
  parent_key: Uint8Array | null
}

const codeOf = <T>(words: readonly T[], word: T | null): number | null =>
  word === null ? null : words.indexOf(word)

/** What the table holds of an event as it was told; words are places in lists which only grow at their ends. */
export const EVENT_COLUMNS = [
  'kind',
  'role',
  'ts',
  'summary',
  'tool',
  'agent',
  'exit_code',
  'duration_ms',
  'does',
  'state',
  'mark',
] as const

export const columnsOf = (event: PreparedEvent): Row[(typeof EVENT_COLUMNS)[number]][] => [
  EVENT_KINDS.indexOf(event.kind),
  ROLES.indexOf(event.role),
  event.ts,
  event.summary,
  event.tool,
  event.agent,
  event.exitCode,
  event.durationMs,
  codeOf(DEEDS, event.does),
  codeOf(END_STATES, event.state),
  codeOf(MARKS, event.mark),
]

/** The word that such a place stands for. */
export const wordOf = <T>(words: readonly T[], code: number | null): T | null =>
  code === null ? null : (words[code] ?? null)

export const flagsOf = (event: PreparedEvent): number =>
  (event.isSidechain ? FLAG.sidechain : 0) |
  (event.isInherited ? FLAG.inherited : 0) |
  (event.isPart || isInstruction(event) ? FLAG.part : 0) |
  (event.hasMore ? FLAG.more : 0)

export function isSame(known: Row, event: PreparedEvent, ids: EventIds): boolean {
  return (
    (event.isIncomplete || sameBytes(known.payload, ids.payload)) &&
    columnsOf(event).every((value, at) => value === known[EVENT_COLUMNS[at] as keyof Row]) &&
    (known.flags & (FLAG.sidechain | FLAG.inherited | FLAG.part | FLAG.more)) === flagsOf(event)
  )
}

/** Whether an event that comes again knows its parent better than the row does. */
export const hangsAnew = (known: Row, event: PreparedEvent, ids: EventIds): boolean =>
  known.is_root === 1 &&
  event.link === 'key' &&
  !(known.parent_key && sameBytes(known.parent_key, ids.parentKey))

export type EventIds = Record<keyof typeof ID_LAYOUT, Uint8Array>

export function idsOf(batch: Batch, at: number): EventIds {
  const start = at * ID_BYTES
  const part = ([from, to]: readonly [number, number]): Uint8Array =>
    batch.ids.subarray(start + from, start + to)
  return {
    key: part(ID_LAYOUT.key),
    parentKey: part(ID_LAYOUT.parentKey),
    payload: part(ID_LAYOUT.payload),
    call: part(ID_LAYOUT.call),
  }
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
