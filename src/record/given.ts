// What a caller who writes JavaScript may give in place of the declared type is named here, before anything is done with it.
import { RecollectError } from '../errors.ts'

export function misused(name: string, wanted: string, hint = 'see docs/library.md'): RecollectError {
  return new RecollectError('BAD_INPUT', `${name} must be ${wanted}`, { where: name, hint })
}

export function checkPath(path: string, name: string): void {
  if (typeof path !== 'string' || path === '' || path.includes('\0')) throw misused(name, 'a path')
}

export function checkText(text: string, name: string): void {
  if (typeof text !== 'string') throw misused(name, 'a string')
}

export function checkOptions(options: object, name = 'options'): void {
  if (typeof options !== 'object' || options === null) throw misused(name, 'an object')
}

/** A time of four digits of years, which is what readers take. */
export function checkTime(at: Date): void {
  const year = at instanceof Date ? at.getUTCFullYear() : Number.NaN
  if (!(year >= 0 && year <= 9999))
    throw misused('the time', 'a Date of the years 0 to 9999', 'check the clock that was given')
}

/** A clock, where one is given. */
export function checkClock(now: (() => Date) | undefined): void {
  if (now !== undefined && typeof now !== 'function') throw misused('now', 'a function that returns a Date')
}
