// Days as a time zone has them, for instants that are counted in slots of a quarter of an hour. Offsets are constant
// between few transitions, so they are found once and a query can apply them to any number of rows.

import { existsSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { RecollectError } from '../errors.ts'
import { DAY } from '../model.ts'
import { SLOT_MS } from '../store/slots.ts'
import { parseDays } from '../times.ts'

/** From this slot on (until the next one) local time is UTC plus this many seconds. */
export interface Offset {
  fromSlot: number
  seconds: number
}

const SLOTS_PER_DAY = 96
/** No zone changes its offset twice within so few days. */
const STEP = 5 * SLOTS_PER_DAY
/** Nobody knows the rules of a zone this late; a time beyond is of a clock that was wrong, and may lie very far off. */
const LAST_KNOWN_SLOT = Date.UTC(2100, 0, 1) / SLOT_MS

export class TimeZone {
  readonly name: string
  readonly #secondsAt: (slot: number) => number

  /** An IANA name; none: the system's zone. `where` names it in an error. */
  constructor(name?: string, where = '--timezone') {
    // Without Intl where that can be: to load its data takes 14 ms, a tenth of a report over all of history.
    const known = name ?? systemName()
    if (known === 'UTC') this.#secondsAt = () => 0
    else if (known !== undefined && name === undefined) this.#secondsAt = localSeconds
    else {
      const format = formatOf(name, where)
      this.#secondsAt = (slot) => formattedSeconds(format, slot)
      // Of a TZ that names no zone the system makes UTC.
      this.name = name ?? format.resolvedOptions().timeZone ?? 'UTC'
      return
    }
    this.name = known
  }

  /** The offsets in force between two slots, oldest first. */
  offsets(firstSlot: number, last: number): Offset[] {
    const lastSlot = Math.min(last, LAST_KNOWN_SLOT)
    const found: Offset[] = [{ fromSlot: firstSlot, seconds: this.#secondsAt(firstSlot) }]
    for (let slot = firstSlot; slot < lastSlot; slot += STEP) {
      const end = Math.min(slot + STEP, lastSlot)
      const before = (found.at(-1) as Offset).seconds
      const after = this.#secondsAt(end)
      if (after === before) continue
      const isPast = (at: number): boolean => this.#secondsAt(at) !== before
      found.push({ fromSlot: firstWhere(slot, end, isPast), seconds: after })
    }
    return found
  }

  /** The first slot of a local day, given as days since 1970-01-01. */
  firstSlotOf(day: number): number {
    const utc = day * SLOTS_PER_DAY
    const isThere = (slot: number): boolean => dayOf(slot, this.#secondsAt(slot)) >= day
    return firstWhere(utc - SLOTS_PER_DAY, utc + SLOTS_PER_DAY, isThere)
  }

  /** When days such as 2026-11-01, 2026-11 or yesterday begin (or end); undefined where none are written. */
  dayTime(text: string, isEnd: boolean, now = Date.now()): number | undefined {
    const days = parseDays(text, this.dayAt(now))
    return days && this.firstSlotOf(isEnd ? days.last + 1 : days.first) * SLOT_MS
  }

  /** The local day of an instant, as days since 1970-01-01. */
  dayAt(at: number): number {
    const slot = Math.floor(at / SLOT_MS)
    return dayOf(slot, this.#secondsAt(slot))
  }
}

/** The system's zone as it is written down; undefined where only Intl can tell. */
function systemName(): string | undefined {
  try {
    const { TZ } = process.env
    const path = TZ ? join(ZONES, TZ) : realpathSync('/etc/localtime')
    const name = path.slice(path.indexOf(ZONES) + ZONES.length)
    if (/^(?:Etc\/)?(?:UTC|UCT|Universal|Zulu)$/.test(name)) return 'UTC'
    return /^[A-Z]\w+(?:\/[\w+-]+)+$/.test(name) && !name.startsWith('Etc/') && existsSync(path)
      ? name
      : undefined
  } catch {
    return undefined
  }
}

const ZONES = '/usr/share/zoneinfo/'

function formatOf(name: string | undefined, where: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...(name === undefined ? {} : { timeZone: name }),
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch (cause) {
    throw new RecollectError('USAGE', name ? `no time zone ${name}` : 'an empty name is no time zone', {
      where,
      hint: 'an IANA name such as Europe/Berlin, or UTC',
      cause,
    })
  }
}

function formattedSeconds(format: Intl.DateTimeFormat, slot: number): number {
  const at = slot * SLOT_MS
  const part: Record<string, number> = {}
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value)
  const { year, month, day, hour, minute, second } = part as Record<string, number>
  const local = Date.UTC(
    year as number,
    (month as number) - 1,
    day as number,
    hour as number,
    minute as number,
    second as number,
  )
  return (local - at) / 1000
}

/** Of the system's zone. */
function localSeconds(slot: number): number {
  const at = new Date(slot * SLOT_MS)
  const local = Date.UTC(
    at.getFullYear(),
    at.getMonth(),
    at.getDate(),
    at.getHours(),
    at.getMinutes(),
    at.getSeconds(),
  )
  return (local - at.getTime()) / 1000
}

const dayOf = (slot: number, seconds: number): number =>
  Math.floor((slot * (SLOT_MS / 1000) + seconds) / 86_400)

/** The first number in (from, to] for which the test holds; it must hold for `to`. */
function firstWhere(from: number, to: number, test: (at: number) => boolean): number {
  let [low, high] = [from, to]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (test(middle)) high = middle
    else low = middle
  }
  return high
}

/** `2026-11-15`; of a year with more than four digits as ISO 8601 writes it, `+012026-11-15`. */
export const dateOf = (day: number): string => new Date(day * DAY).toISOString().slice(0, -14)

/** The ISO week a day is in: `2026-W46`. It belongs to the year of its Thursday. */
export function weekOf(day: number): string {
  const weekday = (((day + 3) % 7) + 7) % 7
  const thursday = day - weekday + 3
  const year = new Date(thursday * DAY).getUTCFullYear()
  const week = Math.floor((thursday - Date.UTC(year, 0, 1) / DAY) / 7) + 1
  return `${year}-W${String(week).padStart(2, '0')}`
}
