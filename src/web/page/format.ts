// Figures, times and names as people read them.

import { signal } from '@preact/signals'
import { formatAge } from '../../figures.ts'

export { formatBytes as bytes, grouped as count, plural } from '../../figures.ts'

/** 1234567 → 1.2M */
export function short(value: number): string {
  const units = ['', 'k', 'M', 'G', 'T']
  let power = 0
  let rest = value
  while (rest >= 999.5 && power < units.length - 1) {
    rest /= 1000
    power++
  }
  return power === 0
    ? String(Math.round(rest))
    : `${rest < 10 ? rest.toFixed(1) : Math.round(rest)}${units[power]}`
}

/** At least so much where some of it has no known price; a dash where nothing was spent. Small amounts keep what can be seen of them. */
export function usd(amount: string | null | undefined, unpriced = 0): string {
  if (amount === null || amount === undefined) return unpriced > 0 ? 'no price' : '–'
  const value = Number(amount)
  const digits = value !== 0 && Math.abs(value) < 0.01 ? 4 : 2
  const text = `$${value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })}`
  return unpriced > 0 ? `≥ ${text}` : text
}

export const share = (value: number | null): string => {
  if (value === null) return '–'
  if (value === 0 || value === 1) return `${value * 100} %`
  return value < 0.0005 ? '<0.1 %' : `${(value * 100).toFixed(value < 0.1 ? 1 : 0)} %`
}

/** In what seconds are counted by people: whole hours, minutes or seconds. */
export const secondsUnit = (most: number): number => (most > 7200 ? 3600 : most > 120 ? 60 : 1)

/** 5025 s → 1 h 23 min */
export function duration(seconds: number): string {
  if (seconds === 0) return '0 s'
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 60) return `${minutes} min`
  return minutes % 60 === 0 ? `${minutes / 60} h` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const dayTime = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'medium' })
const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
})

/** Whether the memory holds sessions of more than one year: then every date says of which. */
export const spansYears = signal(false)

export function when(at: string | null): string {
  if (at === null) return 'unknown'
  const date = new Date(at)
  const isOther = spansYears.value || date.getFullYear() !== new Date().getFullYear()
  return isOther ? `${date.getFullYear()} ${dayTime.format(date)}` : dayTime.format(date)
}
export const exactly = (at: string | null): string =>
  at === null ? 'time unknown' : full.format(new Date(at))
export const time = (at: string | null): string => (at === null ? '' : clock.format(new Date(at)))

export const ago = (at: string | null): string => (at === null ? 'never' : formatAge(at))

interface Named {
  session_uid: string
  title: string | null
  first_prompt?: string
}

/** A session's title, else how it began, else its id. */
export function titleOf(session: Named): string {
  const text = session.title || session.first_prompt || ''
  return text.trim().replace(/\s+/g, ' ').slice(0, 160) || idOf(session.session_uid)
}

/** The beginning of an id is an id. */
export const idOf = (uid: string): string => {
  const [flavor, id = ''] = uid.split(/:(.*)/s)
  // One that begins with the time is like the ones of the same minute for longer.
  const length = /^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? 13 : 8
  return `${flavor}:${id.slice(0, length)}`
}
