// What a machine without a memory is told: where agents' files are looked for, whether any are there, and what to do next.
import { Config } from '../config.ts'
import { type Place, places } from '../doctor/places.ts'
import { RecollectError } from '../errors.ts'

/** One line per directory, those with something in them first. */
export function placeLines(found: readonly Place[]): string[] {
  const width = Math.max(...found.map((one) => one.flavor.length))
  return found
    .toSorted((a, b) => Number(b.exists) - Number(a.exists))
    .map(
      (one) =>
        `  ${one.exists ? '✔' : '·'} ${one.flavor.padEnd(width)}  ${one.path}${one.exists ? '' : '  (nothing there)'}`,
    )
}

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
    hint: `${nextStep(found)}\nlooked for agents' files in:\n${placeLines(found).join('\n')}`,
  })
}
