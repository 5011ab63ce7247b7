// Spans of days as people name them, in the reader's own calendar, and the columns of a drawing over them.
export interface DaySpan {
  name: string
  since: string
  until: string
}

const two = (value: number): string => String(value).padStart(2, '0')
/** 2026-11-18, in local time. */
export const dayOf = (date: Date): string =>
  `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`

const at = (year: number, month: number, day: number): Date => new Date(year, month, day, 12)

/** The spans that are offered, by name. */
export function namedSpans(now = new Date()): DaySpan[] {
  const [year, month, day] = [now.getFullYear(), now.getMonth(), now.getDate()]
  const span = (name: string, since: Date, until: Date): DaySpan => ({
    name,
    since: dayOf(since),
    until: dayOf(until),
  })
  const monday = day - ((now.getDay() + 6) % 7)
  return [
    span('This week', at(year, month, monday), now),
    span('Last week', at(year, month, monday - 7), at(year, month, monday - 1)),
    span('This month', at(year, month, 1), now),
    span('Last month', at(year, month - 1, 1), at(year, month, 0)),
    span('Last 90 days', at(year, month, day - 89), now),
    span('This year', at(year, 0, 1), now),
    span('Last year', at(year - 1, 0, 1), at(year - 1, 11, 31)),
  ]
}

/** The days of a month (2026-10), a week (2026-W43) or a day. */
export function spanOfKey(key: string): { since: string; until: string } | undefined {
  const month = /^(\d{4})-(\d\d)$/.exec(key)
  if (month) {
    const [year, number] = [Number(month[1]), Number(month[2])]
    return { since: dayOf(at(year, number - 1, 1)), until: dayOf(at(year, number, 0)) }
  }
  const week = /^(\d{4})-W(\d\d)$/.exec(key)
  if (week) {
    // The fourth of January is in the first week.
    const fourth = at(Number(week[1]), 0, 4)
    const monday = 4 - ((fourth.getDay() + 6) % 7) + (Number(week[2]) - 1) * 7
    const year = Number(week[1])
    return { since: dayOf(at(year, 0, monday)), until: dayOf(at(year, 0, monday + 6)) }
  }
  return /^\d{4}-\d\d-\d\d$/.test(key) ? { since: key, until: key } : undefined
}

const MOST_DAYS = 62
const MOST_WEEKS = 62

/** What a drawing over so many days counts by. */
export function unitFor(since: string, until: string): 'day' | 'week' | 'month' {
  const days = daysIn(since, until)
  return days <= MOST_DAYS ? 'day' : days <= MOST_WEEKS * 7 ? 'week' : 'month'
}

const noon = (day: string): Date => new Date(`${day}T12:00:00`)
export const daysIn = (since: string, until: string): number =>
  Math.round((noon(until).getTime() - noon(since).getTime()) / 86_400_000) + 1

function weekOf(date: Date): string {
  const thursday = at(date.getFullYear(), date.getMonth(), date.getDate() + 3 - ((date.getDay() + 6) % 7))
  const first = at(thursday.getFullYear(), 0, 1)
  const week = 1 + Math.floor((thursday.getTime() - first.getTime()) / 604_800_000)
  return `${thursday.getFullYear()}-W${two(week)}`
}

/** Every day, week or month of a span, also those in which nothing was. */
export function keysOf(unit: 'day' | 'week' | 'month', since: string, until: string): string[] {
  const keys: string[] = []
  for (const date = noon(since); dayOf(date) <= until; date.setDate(date.getDate() + 1)) {
    const key = unit === 'day' ? dayOf(date) : unit === 'week' ? weekOf(date) : dayOf(date).slice(0, 7)
    if (keys.at(-1) !== key) keys.push(key)
  }
  return keys
}
