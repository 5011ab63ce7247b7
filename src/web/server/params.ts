// What stands behind the question mark, checked: a wrong value is an error with its place, never a silent default.

import { RecollectError } from '../../errors.ts'
import { TimeZone } from '../../query/timezone.ts'
import { SLOT_MS } from '../../store/slots.ts'
import { parseTime, TIME_FORMS } from '../../times.ts'

/** What stands behind the question mark of a request. */
export interface Asked {
  req: {
    query(name: string): string | undefined
    queries(name: string): string[] | undefined
  }
}

export class Params {
  readonly #of: (name: string) => string | undefined
  readonly #all: (name: string) => string[] | undefined

  constructor({ req }: Asked) {
    this.#of = (name) => req.query(name)
    this.#all = (name) => req.queries(name)
  }

  text(name: string): string | undefined {
    const value = this.#of(name)
    return value === undefined || value === '' ? undefined : value
  }

  /** All that were given, also when they are empty: the empty text stands for unknown. */
  values(name: string): readonly string[] | undefined {
    return this.#all(name)
  }

  flag(name: string): boolean {
    const value = this.#of(name)
    return value !== undefined && value !== '0' && value !== 'false'
  }

  count(name: string, fallback: number, most: number): number {
    const value = this.text(name)
    if (value === undefined) return fallback
    if (!/^\d{1,9}$/.test(value)) throw wrong(name, value, 'a whole number')
    return Math.min(Number(value), most)
  }

  choice<T extends string>(name: string, choices: readonly T[], fallback: T): T {
    const value = this.text(name)
    return value === undefined ? fallback : this.oneOf(name, value, choices)
  }

  oneOf<T extends string>(name: string, value: string, choices: readonly T[]): T {
    if ((choices as readonly string[]).includes(value)) return value as T
    throw wrong(name, value, `one of ${choices.join(', ')}`)
  }

  /** A date, a time, or an age such as 30d. */
  time(name: string): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const at = parseTime(value, name === 'until')
    if (at === undefined) throw noTime(name, value)
    return at
  }

  /** A day of the zone (as `until`: its end), a time or an age, on the quarter of an hour, as usage is counted. */
  slot(name: 'since' | 'until', zone: TimeZone): number | undefined {
    const value = this.text(name)
    const at = value === undefined ? undefined : (zone.dayTime(value, name === 'until') ?? this.time(name))
    return at === undefined ? undefined : Math.floor(at / SLOT_MS) * SLOT_MS
  }

  zone(): TimeZone {
    return new TimeZone(this.text('timezone'), 'timezone')
  }
}

function noTime(name: string, value: string): RecollectError {
  return new RecollectError('USAGE', `${value} is no time`, {
    where: name,
    hint: TIME_FORMS,
  })
}

function wrong(name: string, value: string, hint: string): RecollectError {
  return new RecollectError('USAGE', `${value} is no ${name}`, { where: name, hint })
}
