// Times of flat files (up to 0.31), whose lines have none. The header of those up to 0.29 is local time with a `Z` behind
// it. But ids that the provider gave to answers begin with the second they were made at, in UTC: they date what they
// name, and show how far the header is off.
import { basename } from 'node:path'
import { str } from '../kit/guards.ts'
import type { State } from './state.ts'

/** What is known of the times of a flat file. */
export interface FlatTimes {
  /** As the header has it. */
  startedAt: number
  /** The header may be local time: it says the same as the file's name, which always is. */
  isLocal: boolean
  /** Of the latest id that tells. */
  lastAt: number | null
}

const QUARTER = 900_000
const HOUR = 3_600_000
/** Clocks on earth are at most so far behind UTC, and before it. */
const [BEHIND, BEFORE] = [12 * HOUR, 14 * HOUR]
const NAME = /^rollout-(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)/
const ID = /^(?:rs|msg|fc)_([0-9a-f]{8})[0-9a-f]{40}$/

export function flatTimes(path: string, startedAt: number): FlatTimes {
  const [, day, hour, minute, second] = NAME.exec(basename(path)) ?? []
  const named = Date.parse(`${day}T${hour}:${minute}:${second}Z`)
  return { startedAt, isLocal: Math.abs(startedAt - named) <= 2000, lastAt: null }
}

export interface Dated {
  at: number | null
  /** When the session began, in UTC, if that is known only now. */
  startedAt?: number
}

const UNKNOWN: Dated = { at: null }

/** The time of a record by its id. Answers come in order: an id that says otherwise says something else. */
export function datedBy(state: State, record: Record<string, unknown>): Dated {
  const { flat } = state
  const second = ID.exec(str(record['id']) ?? '')?.[1]
  if (!flat || second === undefined) return UNKNOWN
  const at = Number.parseInt(second, 16) * 1000
  const { lastAt, startedAt, isLocal } = flat
  if (lastAt !== null) {
    if (at < lastAt) return UNKNOWN
    flat.lastAt = at
    return { at }
  }
  const behind = at - startedAt
  // Whoever asks first asks soon: clocks are off by quarters of an hour, so the rest is how long the first answer took.
  const shift = isLocal ? Math.floor(behind / QUARTER) * QUARTER : 0
  if (shift < -BEFORE || shift > BEHIND || behind - shift < 0) return UNKNOWN
  flat.lastAt = at
  return shift === 0 ? { at } : { at, startedAt: startedAt + shift }
}
