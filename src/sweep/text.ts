// How foreign values are made fit to be kept: texts shortened and well formed, numbers and times within bounds.
import { hash } from 'node:crypto'
import { type EventKind, isCallKind } from '../model.ts'
import type { PreparedEvent } from '../store/batch.ts'

const SUMMARY_LENGTH = 140
const TALK_LIMIT = 200_000
const CALL_LIMIT = 6_000
const RESULT_LIMIT = 2_000
const NAME_LENGTH = 200
const ID_LENGTH = 300
/** Beyond this a Date cannot be. */
const LAST_TIME = 8.64e15
/** More tokens than this in one response are a broken record; a billion such records still add up exactly. */
const MOST_TOKENS = 2 ** 40

/** SQLite's functions stop at NUL, and a lone surrogate does not come back as it went in. */
export const wellFormed = (text: string): string =>
  (text.includes('\0') ? text.replaceAll('\0', ' ') : text).toWellFormed()

/** A name that may be shown and compared: one of a tool, a model, a rule. */
export const nameOf = (text: string, limit = NAME_LENGTH): string => cutAt(wellFormed(text), limit)

/** An id stays what it is, unless it could not be kept; one of any length stays distinct. */
export function idOf(text: string): string {
  const clean = wellFormed(text)
  return clean.length <= ID_LENGTH ? clean : `${cutAt(clean, 200)}~${hash('sha1', clean, 'hex')}`
}

export const wholeOrNull = (value: number | null | undefined): number | null =>
  typeof value === 'number' && Number.isSafeInteger(Math.trunc(value)) ? Math.trunc(value) : null

export const timeOrNull = (value: number | null | undefined): number | null => {
  const whole = wholeOrNull(value)
  return whole !== null && Math.abs(whole) <= LAST_TIME ? whole : null
}

export const tokenCount = (value: number): number =>
  Number.isFinite(value) && value > 0 ? Math.min(Math.trunc(value), MOST_TOKENS) : 0

/** Never ends in half a character. */
function cutAt(text: string, limit: number): string {
  if (text.length <= limit) return text
  const code = text.charCodeAt(limit - 1)
  return text.slice(0, code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit)
}

/** The first line that says something, in at most `limit` characters. */
export function oneLine(text: string, limit = SUMMARY_LENGTH): string {
  const start = text
    .slice(0, limit * 8)
    .replace(/[\s\0]{2,}|[^\S ]|\0/g, ' ')
    .trim()
  return wellFormed(start.length > limit ? `${cutAt(start, limit - 1)}…` : start)
}

/** Talk is indexed whole; of a long tool output the two ends tell most. */
export function searchable(text: string, kind: EventKind): string {
  const limit =
    headingOf(kind) !== 'work' || kind === 'thinking'
      ? TALK_LIMIT
      : isCallKind(kind)
        ? CALL_LIMIT
        : RESULT_LIMIT
  const part = text.length <= limit ? text : `${text.slice(0, limit / 2)}\n${text.slice(-limit / 2)}`
  return wellFormed(part.includes('→') ? part.replace(LINE_NUMBER, '') : part)
}

/** In front of each line of a listing: a tenth of the index, and in the way of phrases that go over two lines. */
const LINE_NUMBER = /^ *\d+→/gm

export function headingOf(kind: EventKind): PreparedEvent['heading'] {
  if (kind === 'user_msg' || kind === 'human_intervention' || kind === 'decision') return 'prompt'
  return kind === 'assistant_msg' || kind === 'completion' ? 'answer' : 'work'
}
