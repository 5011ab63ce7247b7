// Values of options: what is impossible is refused, with the nearest right spelling.
import { FLAVORS } from '../adapters/flavors.ts'
import { nearest, parseDuration } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { EVENT_KINDS, type EventKind } from '../model.ts'

/** A date, a date and time, or an age such as 7d. */
export function parseTime(text: string, flag: string): number {
  const age = parseDuration(text)
  if (age !== undefined) return Date.now() - age
  const at = Date.parse(text)
  if (!Number.isNaN(at)) return at
  throw new RecollectError('USAGE', `${text} is no time`, {
    where: flag,
    hint: 'a date such as 2026-11-01, or an age such as 7d',
  })
}

export function parseCount(text: string, flag: string): number {
  const count = text.trim() === '' ? Number.NaN : Number(text)
  if (Number.isSafeInteger(count) && count >= 0) return count
  throw new RecollectError('USAGE', `${text} is no count`, { where: flag, hint: 'a whole number' })
}

/** One of a fixed list. */
export function parseChoice<T extends string>(
  text: string,
  choices: readonly T[],
  flag: string,
  noun: string,
): T {
  if ((choices as readonly string[]).includes(text)) return text as T
  const near = nearest(text, choices)
  throw new RecollectError('USAGE', `no ${noun} ${text}`, {
    where: flag,
    hint: `${near ? `did you mean ${near}? ` : ''}one of ${choices.join(', ')}`,
  })
}

/** Several of a fixed list, separated by commas. */
export const parseChoices = <T extends string>(
  text: string,
  choices: readonly T[],
  flag: string,
  noun: string,
): T[] => text.split(',').map((one) => parseChoice(one.trim(), choices, flag, noun))

export const parseKinds = (text: string): EventKind[] => parseChoices(text, EVENT_KINDS, '--kind', 'kind')

export const parseFlavor = (text: string): string => parseChoice(text, FLAVORS, '--flavor', 'flavor')
