// What a machine without a memory is told: where agents' files are looked for, whether any are there, and what to do next.
import { Config } from '../config.ts'
import { type Place, places } from '../doctor/places.ts'
import { RecollectError } from '../errors.ts'
import { plural } from './format.ts'
import { textWidth } from './print.ts'
import { foldText } from './text.ts'

/** A line per directory with something in it, and one for all the agents that left nothing: they are many. */
export function placeLines(found: readonly Place[]): string[] {
  const here = found.filter((one) => one.exists)
  const width = Math.max(...here.map((one) => one.flavor.length))
  const absent = found.filter((one) => !here.some(({ flavor }) => flavor === one.flavor))
  const lines = here.map(({ flavor, path }) => `  ✔ ${flavor.padEnd(width)}  ${path}`)
  if (absent.length === 0) return lines
  const names = [...new Set(absent.map((one) => one.flavor))].join(', ')
  const none = `  · nothing of ${names}, in ${plural(absent.length, 'place')}`
  return [...lines, ...foldText(none, textWidth(), 2).split('\n'), `    ${SEE_ALL}`]
}

const SEE_ALL = 'recollect sweep --dry-run --json names each place'

/** What to do next, given what is there. */
export const nextStep = (found: readonly Place[]): string =>
  found.some((one) => one.exists)
    ? 'recollect sweep'
    : 'recollect demo, to see it work on bundled samples; docs/sources.md says where else it can look'

/** The error of a reading command, with where we looked. */
export function withPlaces(error: RecollectError): RecollectError {
  const found = places(new Config())
  return new RecollectError('NO_MEMORY', error.message, {
    where: error.where,
    cause: error.cause,
    hint: `${nextStep(found)}\nlooked for agents' files:\n${placeLines(found).join('\n')}`,
  })
}
