// Values of options: what is impossible is refused, with the nearest right spelling.
import { FLAVORS, flavorNamed } from '../adapters/flavors.ts'
import { Config, nearest } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { EVENT_KINDS, type EventKind } from '../model.ts'
import { parseTime, TIME_FORMS } from '../times.ts'

/** Days (`--until`: with the whole of the last one), a date and time, or an age such as 7d. */
export function readTime(text: string, flag: '--since' | '--until'): number {
  const at = parseTime(text, flag === '--until')
  if (at !== undefined) return at
  throw noTime(text, flag)
}

export const noTime = (text: string, flag: string): RecollectError =>
  new RecollectError('USAGE', `${quoted(text)} is no time`, {
    where: flag,
    hint: TIME_FORMS,
  })

/** What was typed, in a sentence: the empty text has to be seen, too. */
const quoted = (text: string): string => (text.trim() === '' ? `"${text}"` : text)

export function parseCount(text: string, flag: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new RecollectError('USAGE', `${quoted(text)} is no count`, { where: flag, hint: 'a whole number' })
}

/** How many to list: none is no list. */
export function parseLimit(text: string): number {
  const count = parseCount(text, '--limit')
  if (count > 0) return count
  throw new RecollectError('USAGE', 'a limit of 0 lists nothing', { where: '--limit', hint: '1 or more' })
}

export function parsePort(text: string, flag: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new RecollectError('USAGE', `${quoted(text)} is no port`, {
    where: flag,
    hint: 'a number from 0 to 65535',
  })
}

/** A name that is given has to name something. */
export function parseName(text: string, flag: string): string {
  if (text.trim() !== '') return text
  throw new RecollectError('USAGE', `${flag} is empty`, {
    where: flag,
    hint: `give it a value, or leave ${flag} out`,
  })
}

/** What only goes with a text, where there is none. */
export function refuseUnused<T extends object>(options: T, names: readonly (keyof T & string)[]): void {
  for (const name of names)
    if (options[name] !== undefined)
      throw new RecollectError('USAGE', `--${name} goes with a text that is to be written`, {
        where: `--${name}`,
        hint: `add the text, or leave --${name} out`,
      })
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
  throw new RecollectError('USAGE', `no ${noun} ${quoted(text)}`, {
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

/** Agents by any of their names, of those that can be meant. */
export const parseAgents = (text: string, flavors: readonly string[], noun: string): string[] =>
  text.split(',').map((one) => parseChoice(flavorNamed(one.trim()), flavors, '--agent', noun))

/** Errors name the option that was typed: `--agent` says the same. */
export const flavorPlace = (): string =>
  process.argv.some((one) => /^--agent(?:=|$)/.test(one)) ? '--agent' : '--flavor'

/** Where there are plugins, any name may be one of theirs. */
export function parseFlavor(text: string): string {
  const isOthers = /^[a-z][a-z0-9-]*$/.test(text) && new Config().get('sources.plugins').length > 0
  return isOthers ? flavorNamed(text) : parseChoice(flavorNamed(text), FLAVORS, flavorPlace(), 'flavor')
}
