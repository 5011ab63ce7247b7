// Finds the sources that may have changed, given paths where something happened: a sweep of these alone costs nothing for
// all the others. A path that only a hook named may lie outside the roots; it is looked at if an adapter claims it and
// the file is plainly the user's own.
import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join, normalize, sep } from 'node:path'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import { type Discovery, type Found, realRoots, walk } from './discover.ts'
import { addProblem } from './problem.ts'
import type { Roots } from './roots.ts'

export interface Touched {
  /** Files or directories, there or gone, that were seen to change below the roots. */
  seen: readonly string[]
  /** Transcripts that hooks named: foreign text. */
  named: readonly string[]
}

export interface TouchedDiscovery extends Discovery {
  /** Where was looked: what is known of these paths and below them, and was not found, may be gone. */
  scope: string[]
}

interface Root {
  adapter: AnyAdapter
  root: string
}

export function discoverTouched(
  adapters: readonly AnyAdapter[],
  env: Environment,
  extraRoots: Roots,
  touched: Touched,
): TouchedDiscovery {
  const result: TouchedDiscovery = { found: [], problems: [], problemCount: 0, roots: [], scope: [] }
  const roots = realRoots(adapters, env, extraRoots, result)
  for (const path of new Set(touched.seen)) lookAt(canonical(path), roots, result)
  const folders = new Set<string>()
  for (const named of new Set(touched.named)) {
    const path = isSane(named) ? canonical(named) : undefined
    if (path === undefined) {
      addProblem(result, {
        path: named,
        code: 'BAD_INPUT',
        reason: 'named by a hook; no such path can be',
        hint: HOOKS,
      })
      continue
    }
    const holders = rootsOver(path, roots)
    // Sub-agents write beside the session that started them.
    if (holders.length > 0) folders.add(dirname(path))
    else lookOutside(path, adapters, result)
  }
  for (const folder of folders) lookAt(folder, roots, result)
  result.found = unique(result.found)
  for (const { source } of result.found) result.scope.push(source.path)
  return result
}

/** The name under which a walk from the roots finds it, also where it is gone by now. */
function canonical(path: string): string {
  const clean = normalize(path)
  try {
    return join(realpathSync.native(dirname(clean)), basename(clean))
  } catch {
    return clean
  }
}

const rootsOver = (path: string, roots: readonly Root[]): Root[] =>
  roots.filter(({ root }) => path === root || path.startsWith(root + sep))

function lookAt(path: string, roots: readonly Root[], result: TouchedDiscovery): void {
  result.scope.push(path)
  const stats = statsOf(path)
  for (const { adapter, root } of rootsOver(path, roots)) {
    const context = { adapter, root, result }
    if (stats?.isDirectory()) {
      const depth = path.slice(root.length).split(sep).length - 1
      for (const one of walk(path, context, depth)) result.found.push(one)
      continue
    }
    const source = stats?.isFile() ? adapter.claim(path, true) : null
    if (source) result.found.push({ adapter, source })
    else lookUp(dirname(path), context)
  }
}

/** A file that is no source may be a companion of one: in the same directory, or in one above it. */
function lookUp(directory: string, context: Root & { result: TouchedDiscovery }): void {
  const { result, root } = context
  const before = result.found.length
  for (const one of walk(directory, context, 0, true)) result.found.push(one)
  if (result.found.length === before && directory.length > root.length) lookUp(dirname(directory), context)
}

function lookOutside(path: string, adapters: readonly AnyAdapter[], result: TouchedDiscovery): void {
  const stats = statsOf(path)
  if (!stats) return
  for (const adapter of adapters) {
    const source = adapter.claim(path)
    if (!source) continue
    if (isOwnFile(stats)) result.found.push({ adapter, source })
    else
      addProblem(result, {
        path,
        code: 'UNSAFE_PATH',
        reason: 'named by a hook; not a regular file of this user',
        hint: 'outside the known places only plain files of yours are read: chown it, or move it there',
      })
    return
  }
  addProblem(result, {
    path,
    code: 'NOT_FOUND',
    reason: 'named by a hook; no transcript of a known agent',
    hint: HOOKS,
  })
}

const HOOKS =
  'an agent named it: recollect hooks status tells whose hooks there are, docs/sources.md what is read'

const isOwnFile = (stats: Stats): boolean => stats.isFile() && stats.uid === process.getuid?.()

const isSane = (path: string): boolean =>
  isAbsolute(path) && !/\p{Cc}/u.test(path) && !path.split(sep).includes('..')

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function unique(found: readonly Found[]): Found[] {
  return [...new Map(found.map((one) => [`${one.adapter.flavor}\0${one.source.path}`, one])).values()]
}
