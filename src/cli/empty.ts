// What a machine without a memory is told: where agents' files are looked for, whether any are there, and what to do next.
import { Config } from '../config.ts'
import { type Place, places } from '../doctor/places.ts'
import { RecollectError } from '../errors.ts'

/** Of an agent that left nothing, so many directories are named: some are looked for in many. */
const MOST_NAMED = 2

/** One line per directory: those with something in them, then those of agents that left nothing anywhere. */
export function placeLines(found: readonly Place[]): string[] {
  const width = Math.max(...found.map((one) => one.flavor.length))
  const here = found.filter((one) => one.exists)
  const absent = found.filter((one) => !here.some(({ flavor }) => flavor === one.flavor))
  const line = (mark: string, { flavor, path }: Place): string => `  ${mark} ${flavor.padEnd(width)}  ${path}`
  return [
    ...here.map((one) => line('✔', one)),
    ...absent.flatMap((one) => {
      const all = absent.filter(({ flavor }) => flavor === one.flavor)
      const at = all.indexOf(one)
      if (at >= MOST_NAMED) return []
      const more = at === MOST_NAMED - 1 ? all.length - MOST_NAMED : 0
      return [`${line('·', one)}  (nothing there${more > 0 ? `, nor in ${more} more` : ''})`]
    }),
  ]
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
