// Names as people type them behind filters: a name as it is, a part of one, a pattern with * and ?, or a directory (`.`), which
// stands for its repository. A name that some session has is that name and nothing else.
import { resolve } from 'node:path'
import { type Checkout, checkoutAt } from '../files/checkout.ts'
import type { FilterNames } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'

const NAMED = ['repo', 'model', 'branch', 'host'] as const

type Named = Partial<Record<(typeof NAMED)[number], FilterNames>>

/** The same filter with all the names that are meant; where none is, with what was typed, which finds nothing. */
export function meant<F extends Named>(handle: Reader, filter: F): F {
  const names = NAMED.map((name) => [name, filter[name]] as const).filter(([, one]) => one !== undefined)
  if (names.length === 0) return filter
  return {
    ...filter,
    ...Object.fromEntries(names.map(([name, typed]) => [name, namesOf(handle, name, typed as FilterNames)])),
  }
}

function namesOf(handle: Reader, name: (typeof NAMED)[number], typed: FilterNames): FilterNames {
  if (typeof typed !== 'string') return typed
  if (name === 'repo' && isDirectory(typed)) return reposAt(handle, resolve(typed))
  if (name === 'host') return hostsOf(handle, typed)
  if (handle.sessions.hasValue(name, typed)) return typed
  const isMeant = matching(typed)
  const found = handle.sessions.values(name).filter(isMeant)
  return found.length === 0 ? typed : found
}

/** A machine has a name, which others may have as well, and an id, which nobody else has. */
function hostsOf(handle: Reader, typed: string): FilterNames {
  const all = handle.sessions.hosts()
  const exact = all.filter(({ name, id }) => name === typed || id === typed)
  const isMeant = matching(typed)
  const found = exact.length > 0 ? exact : all.filter(({ name, id }) => isMeant(name) || isMeant(id))
  return found.length === 0 ? typed : found.map((one) => one.id)
}

/** No name of a repository holds a slash: it is the last part of a path or an address. */
export const isDirectory = (typed: string): boolean => /^(?:\.\.?$|\.{0,2}\/)/.test(typed)

/** In any case; without * and ? any part counts. */
export function matching(typed: string): (name: string) => boolean {
  const part = typed.toLowerCase()
  if (!/[*?]/.test(typed)) return (name) => name.toLowerCase().includes(part)
  const source = part
    .replace(/[\\^$.+()|[\]{}]/g, '\\$&')
    .replaceAll('*', '[^]*')
    .replaceAll('?', '[^]')
  const whole = new RegExp(`^${source}$`, 's')
  return (name) => whole.test(name.toLowerCase())
}

/**
 * What the repository of a directory is called by its sessions: the main working tree's name, and what those are under that
 * were made in any of its working trees. A repository inside another one is another one.
 */
export function reposAt(handle: Reader, directory: string): string[] {
  const here = checkoutAt(directory)
  const found = handle.sessions.placesBelow(here.trees).filter(({ cwd }) => isSame(here, cwd))
  const names = [here.name, ...found.map((one) => one.repo)].filter((name) => name !== undefined)
  return [...new Set(names)]
}

function isSame({ root, trees }: Checkout, cwd: string): boolean {
  if (root === undefined) return trees.includes(cwd)
  const other = checkoutAt(cwd).root
  // A directory that is gone was a part of what it lay in.
  return other === undefined || other === root
}
