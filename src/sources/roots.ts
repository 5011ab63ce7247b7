// Where agents' files are looked for: an adapter's own directories, and those that the settings name besides.
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { AnyAdapter, Environment, Located } from '../adapters/adapter.ts'
import { FLAVORS } from '../adapters/flavors.ts'
import { type Config, nearest } from '../config.ts'
import { RecollectError } from '../errors.ts'

/** Directories by flavor. */
export type Roots = Record<string, string[]>

/** Those of `[sources.<flavor>]`. A misspelt flavor is refused: what lies there would silently never be read. */
export function extraRoots(config: Config, adapters: readonly Located[] = []): Roots {
  const sources = Object.entries(config.get('sources'))
  const known = [...FLAVORS, ...adapters.map((one) => one.flavor)]
  // Whoever has not loaded the plugins cannot know their names.
  const isAnyKnown = adapters.length === 0 && config.get('sources.plugins').length > 0
  const unknown = isAnyKnown ? undefined : sources.find(([flavor]) => !known.includes(flavor))?.[0]
  if (unknown === undefined) return Object.fromEntries(sources.map(([flavor, { roots }]) => [flavor, roots]))
  const near = nearest(unknown, known)
  throw new RecollectError('BAD_CONFIG', `there are no sources of the flavor ${unknown}`, {
    where: `${config.file}: sources.${unknown}`,
    hint: near ? `did you mean ${near}?` : `one of ${[...new Set(known)].join(', ')}`,
  })
}

/** The directories that the settings name for one flavor. */
export const namedRoots = (adapter: AnyAdapter, env: Environment, extra: Roots): string[] =>
  (extra[adapter.flavor] ?? []).map((path) => withHome(path, env))

export function rootsOf(adapter: AnyAdapter, env: Environment, extra: Roots): string[] {
  const paths = [...adapter.roots(env).map((path) => withHome(path, env)), ...namedRoots(adapter, env, extra)]
  // Without a home directory an agent's own places would lie wherever this program was started.
  return paths.filter((path) => isAbsolute(path))
}

/** In a settings file no shell puts the home directory in the place of `~`. */
const withHome = (path: string, env: Environment): string =>
  path.startsWith('~/') ? join(env['HOME'] || homedir(), path.slice(2)) : path
