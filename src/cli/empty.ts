// What a machine without a memory is told: where agents' files are looked for, whether any are there, and what to do next.
import { existsSync, readdirSync } from 'node:fs'
import { ADAPTERS } from '../adapters/index.ts'
import { Config } from '../config.ts'
import { RecollectError } from '../errors.ts'

export interface Place {
  flavor: string
  path: string
  exists: boolean
}

/** Every directory a sweep would look in. */
export function places(config = new Config(), env = process.env): Place[] {
  const more = config.get('sources') as Record<string, { roots?: unknown }>
  return ADAPTERS.flatMap((adapter) => {
    const own = more[adapter.flavor]?.roots
    const roots = [...adapter.roots(env), ...(Array.isArray(own) ? own.map(String) : [])]
    return [...new Set(roots)].map((path) => ({ flavor: adapter.flavor, path, exists: hasEntries(path) }))
  })
}

function hasEntries(path: string): boolean {
  try {
    return existsSync(path) && readdirSync(path).length > 0
  } catch {
    return existsSync(path)
  }
}

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
  const found = places()
  return new RecollectError('NO_MEMORY', error.message, {
    ...(error.where === undefined ? {} : { where: error.where }),
    hint: `${nextStep(found)}\nlooked for agents' files in:\n${placeLines(found).join('\n')}`,
  })
}
