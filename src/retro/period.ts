// The days a retrospective is about, and the days before them that it is compared with. Days are those of a time zone.

import { RecollectError } from '../errors.ts'
import { DAY } from '../model.ts'
import { dateOf, type TimeZone, weekOf } from '../query/timezone.ts'
import { SLOT_MS } from '../store/slots.ts'

/** Days since 1970-01-01; `endDay` is the first one no longer in it. */
export interface Period {
  firstDay: number
  endDay: number
}

export interface PeriodWish {
  /** `2026-W46`; true for the seven days up to today. */
  week?: string | true
  /** `2026-11`; true for the thirty days up to today. */
  month?: string | true
  /** Days: `2026-11-01`, or an age in days such as `30d`. */
  since?: string
  until?: string
}

/** The last seven days unless told otherwise. */
export function periodOf(wish: PeriodWish, zone: TimeZone, now: number): Period {
  const today = zone.dayAt(now)
  const lastDays = (count: number): Period => ({ firstDay: today - count + 1, endDay: today + 1 })
  if (wish.since !== undefined || wish.until !== undefined) {
    const endDay = wish.until === undefined ? today + 1 : dayOf(wish.until, today, '--until') + 1
    const firstDay = wish.since === undefined ? endDay - 7 : dayOf(wish.since, today, '--since')
    if (firstDay < endDay) return { firstDay, endDay }
    throw new RecollectError('USAGE', `${dateOf(firstDay)} is after ${dateOf(endDay - 1)}`, {
      where: '--since',
      hint: 'the first day comes first: --since 2026-11-01 --until 2026-11-30',
    })
  }
  if (wish.month !== undefined) return wish.month === true ? lastDays(30) : monthOf(wish.month)
  return typeof wish.week === 'string' ? isoWeek(wish.week) : lastDays(7)
}

/** As many days, just before. */
export const before = ({ firstDay, endDay }: Period): Period => ({
  firstDay: firstDay - (endDay - firstDay),
  endDay: firstDay,
})

export const startOf = (day: number, zone: TimeZone): number => zone.firstSlotOf(day) * SLOT_MS

/** `2026-W46`, or the days. */
export function labelOf({ firstDay, endDay }: Period): string {
  const isWeek = endDay - firstDay === 7 && weekOf(firstDay) === weekOf(endDay - 1)
  const days = `${dateOf(firstDay)} to ${dateOf(endDay - 1)}`
  return isWeek ? `${weekOf(firstDay)}, ${days}` : days
}

function dayOf(text: string, today: number, where: string): number {
  const age = /^(\d{1,5})d$/.exec(text)
  if (age) return today - Number(age[1])
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(text) / DAY : Number.NaN
  // The thirtieth of February is read as a day of March.
  if (Number.isInteger(day) && dateOf(day) === text) return day
  throw new RecollectError('USAGE', `${text} is no day`, { where, hint: 'such as 2026-11-01, or 30d' })
}

function isoWeek(text: string): Period {
  const match = /^(\d{4})-?W(\d{2})$/i.exec(text)
  // The fourth of January is always in the first week.
  const fourth = match ? Date.UTC(Number(match[1]), 0, 4) / DAY : 0
  const monday = fourth - ((((fourth + 3) % 7) + 7) % 7) + (Number(match?.[2]) - 1) * 7
  if (match && weekOf(monday) === `${match[1]}-W${match[2]}`) return { firstDay: monday, endDay: monday + 7 }
  throw new RecollectError('USAGE', `${text} is no week`, { where: '--week', hint: 'such as 2026-W46' })
}

function monthOf(text: string): Period {
  const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text)
  if (!match)
    throw new RecollectError('USAGE', `${text} is no month`, { where: '--month', hint: 'such as 2026-11' })
  const [year, month] = [Number(match[1]), Number(match[2])]
  return { firstDay: Date.UTC(year, month - 1, 1) / DAY, endDay: Date.UTC(year, month, 1) / DAY }
}
