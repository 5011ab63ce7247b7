// Times as people type them: `2026-11-01`, `2026-11`, `yesterday`, `last monday`, `7d`, `2 weeks ago`.
import { DAY } from './model.ts'

const DURATION_UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: DAY,
  w: 7 * DAY,
}

/** `"30s"` → 30000 ms; a bare number is milliseconds. */
export function parseDuration(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined
  const match = typeof value === 'string' ? /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(value.trim()) : null
  return match ? Math.round(Number(match[1]) * (DURATION_UNITS[match[2] as string] as number)) : undefined
}

/** Months and years are as long as most people mean them. */
const AGE_UNITS: [RegExp, number][] = [
  [/^min(?:ute)?s?$/, 60_000],
  [/^(?:hours?|hrs?)$/, 3_600_000],
  [/^days?$/, DAY],
  [/^weeks?$/, 7 * DAY],
  [/^(?:months?|mo)$/, 30 * DAY],
  [/^(?:years?|y)$/, 365 * DAY],
]

/** `7d`, `7days`, `2 weeks ago`, `last 3 months`. */
function parseAge(text: string): number | undefined {
  const words = text
    .trim()
    .toLowerCase()
    .replace(/^(?:last|past) (?=\d)/, '')
    .replace(/ ago$/, '')
  const short = parseDuration(words)
  const match = /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(words)
  const unit = AGE_UNITS.find(([name]) => match && name.test(match[2] as string))?.[1]
  return short ?? (match && unit !== undefined ? Math.round(Number(match[1]) * unit) : undefined)
}

/** `"2026-11-01"` → days since 1970-01-01; undefined if there is no such day (Date would make one of the 30th of February). */
export function parseDay(text: string): number | undefined {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) : Number.NaN
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text) ? at / DAY : undefined
}

/** Days since 1970-01-01, the last one included. */
export interface DayRange {
  first: number
  last: number
}

const MONTHS = 'january february march april may june july august september october november december'.split(
  ' ',
)
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']

const named = (names: readonly string[], name: string): number =>
  names.findIndex((one) => one === name || (name.length >= 3 && one.startsWith(name)))
const monthOf = (name: string): number => named(MONTHS, name)

/** A day, or days that have a name together: a month, a year, a week. `today` is the day it is for whoever asks. */
export function parseDays(typed: string, today: number): DayRange | undefined {
  const day = parseDay(typed)
  if (day !== undefined) return { first: day, last: day }
  const text = typed.trim().toLowerCase()
  const written = /^((?:19|20)\d{2})(?:-(0[1-9]|1[0-2]))?$/.exec(text)
  if (written) {
    const year = Number(written[1])
    return written[2] === undefined ? yearAt(year) : monthAt(year, Number(written[2]) - 1)
  }
  if (text === 'today') return { first: today, last: today }
  if (text === 'yesterday') return { first: today - 1, last: today - 1 }
  const [, called, year] = /^([a-z]{3,}) ((?:19|20)\d{2})$/.exec(text) ?? []
  if (called !== undefined && monthOf(called) !== -1) return monthAt(Number(year), monthOf(called))
  const match = /^(?:(this|last) )?([a-z]+)$/.exec(text)
  return match ? namedDays(match[2] as string, match[1], today) : undefined
}

function namedDays(name: string, which: string | undefined, today: number): DayRange | undefined {
  const weekday = named(WEEKDAYS, name)
  if (weekday !== -1) {
    // Last Monday is never today.
    const back = (dayOfWeek(today) - weekday + 7) % 7
    const day = today - (which === 'last' && back === 0 ? 7 : back)
    return { first: day, last: day }
  }
  const ago = which === 'last' ? 1 : 0
  const date = new Date(today * DAY)
  const month = monthOf(name)
  // Last March is never this month.
  if (month !== -1) return monthAt(date.getUTCFullYear() - (month > date.getUTCMonth() - ago ? 1 : 0), month)
  if (which === undefined) return undefined
  if (name === 'week') {
    const monday = today - ((dayOfWeek(today) + 6) % 7) - 7 * ago
    return { first: monday, last: monday + 6 }
  }
  if (name === 'month') return monthAt(date.getUTCFullYear(), date.getUTCMonth() - ago)
  return name === 'year' ? yearAt(date.getUTCFullYear() - ago) : undefined
}

/** Sunday is 0. */
const dayOfWeek = (day: number): number => new Date(day * DAY).getUTCDay()

const monthAt = (year: number, month: number): DayRange => ({
  first: Date.UTC(year, month, 1) / DAY,
  last: Date.UTC(year, month + 1, 0) / DAY,
})

const yearAt = (year: number): DayRange => ({
  first: Date.UTC(year, 0, 1) / DAY,
  last: Date.UTC(year, 11, 31) / DAY,
})

/** An age such as `7d`, or a date with a time of day, in UTC or local; undefined if there is no such time. */
export function parseInstant(text: string, now = Date.now()): number | undefined {
  if (text.trim().toLowerCase() === 'now') return now
  const age = parseAge(text)
  if (age !== undefined) return now - age > 0 ? now - age : undefined
  const match = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})?)$/i.exec(
    text,
  )
  const at =
    match && parseDay(match[1] as string) !== undefined ? Date.parse(`${match[1]}T${match[2]}`) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/** When a day begins on this machine's clock. */
function localDayStart(day: number): number {
  const at = new Date(day * DAY)
  return new Date(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()).getTime()
}

/** Which day it is on this machine's clock. */
function localDay(at: number): number {
  const date = new Date(at)
  return Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / DAY
}

/**
 * Days (from their beginning; up to their end where the last time is meant), a date and time, or an age; undefined if there
 * is no such time.
 */
export function parseTime(text: string, isEnd = false, now = Date.now()): number | undefined {
  const days = parseDays(text, localDay(now))
  if (days === undefined) return parseInstant(text, now)
  return localDayStart(isEnd ? days.last + 1 : days.first)
}

/** For the hints of errors. */
export const TIME_FORMS =
  'a date such as 2026-11-01, a month such as 2026-11, a time such as 2026-11-01T14:30, yesterday, "last monday", or an age such as 7d'
