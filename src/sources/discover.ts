// Finds the files that adapters claim, below their roots. Never follows a symbolic link: what lies behind one is either
// found under its own name or none of our business. What an adapter would claim but cannot be read is named.
import { type Dirent, lstatSync, opendirSync, realpathSync, statSync } from 'node:fs'
import { dirname, sep } from 'node:path'
import type { AnyAdapter, Environment, Source } from '../adapters/adapter.ts'
import { errnoOf, notAFile } from '../errors.ts'
import { addProblem, type Problem, type Problems, problemOf } from './problem.ts'
import { type Roots, rootsOf } from './roots.ts'

export interface Found {
  adapter: AnyAdapter
  source: Source
}

/** What comes to light where sources are looked for. */
export interface Looking extends Problems {
  /** Roots that exist, and those that do not, per flavor. */
  roots: { flavor: string; path: string; exists: boolean }[]
}

export interface Discovery extends Looking {
  found: Found[]
}

const MAX_DEPTH = 16

const OTHERS = new Set(['node_modules', '.git'])

/** A root may be a whole project: what packages and git keep in it is large, full of links, and never a transcript. */
export const isPassedOver = (name: string): boolean => OTHERS.has(name)

/** Every source below the adapters' own roots and the extra ones configured per flavor. */
export function discover(
  adapters: readonly AnyAdapter[],
  env: Environment,
  extraRoots: Roots = {},
): Discovery {
  const result: Discovery = { found: [], problems: [], problemCount: 0, roots: [] }
  for (const one of find(adapters, env, extraRoots, result)) result.found.push(one)
  return result
}

/** The same, one after another: there may be a million of them. */
export function* find(
  adapters: readonly AnyAdapter[],
  env: Environment,
  extraRoots: Roots,
  result: Looking,
): Generator<Found> {
  for (const { adapter, root } of realRoots(adapters, env, extraRoots, result))
    yield* lookInto(root, { adapter, root, result })
}

/** Roots that exist, by their real names, each once per adapter and none below another; all of them are noted in the result. */
export function realRoots(
  adapters: readonly AnyAdapter[],
  env: Environment,
  extraRoots: Roots,
  result: Pick<Looking, 'roots'>,
): { adapter: AnyAdapter; root: string }[] {
  const real: { adapter: AnyAdapter; root: string }[] = []
  for (const adapter of adapters) {
    const here = new Set<string>()
    for (const path of rootsOf(adapter, env, extraRoots)) {
      const root = realDirectory(path)
      // A single file is claimed as it is, and no place where sessions are looked for, unless it holds all of them.
      const file = adapter.claim(path, true)
      if (!file || file.isDatabase)
        result.roots.push({ flavor: adapter.flavor, path, exists: root !== undefined })
      if (root !== undefined) here.add(root)
    }
    for (const root of here)
      if (![...here].some((other) => root.startsWith(`${other}${sep}`))) real.push({ adapter, root })
  }
  return real
}

/** All roots, each once; by their real names where they exist. */
export function rootPaths(adapters: readonly AnyAdapter[], env: Environment, extraRoots: Roots): string[] {
  const paths = adapters.flatMap((adapter) => rootsOf(adapter, env, extraRoots))
  return [...new Set(paths.map((path) => realDirectory(path) ?? path))]
}

/** The links on the way to the roots: where one of them comes to lead elsewhere, so do the roots. */
export function rootLinks(adapters: readonly AnyAdapter[], env: Environment, extraRoots: Roots): string[] {
  const links = new Set<string>()
  for (const root of adapters.flatMap((adapter) => rootsOf(adapter, env, extraRoots)))
    for (let at = root; at !== dirname(at); at = dirname(at)) if (isLink(at)) links.add(at)
  return [...links]
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}

export function realDirectory(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

interface Walk {
  adapter: AnyAdapter
  root: string
  result: Problems
}

/** A root is a directory, or a single file beside one. */
function* lookInto(root: string, context: Walk): Generator<Found> {
  const { adapter, result } = context
  const stats = lstatSync(root, { throwIfNoEntry: false })
  const source = stats?.isDirectory() ? null : adapter.claim(root, true)
  if (!source) yield* walk(root, context, 0)
  else if (stats?.isFile()) yield { adapter, source }
  else if (stats) addProblem(result, { path: root, ...notRegular(root) })
}

/** Finds the sources in a directory and, unless told otherwise, below it. */
export function* walk(directory: string, context: Walk, depth: number, isFlat = false): Generator<Found> {
  const { result } = context
  try {
    for (const entry of entriesIn(directory)) {
      if (isPassedOver(entry.name)) continue
      // The directory is a real path: there is nothing for join() to tidy, and it takes its time.
      const path = `${directory}${sep}${entry.name}`
      if (!entry.isDirectory()) {
        const source = sourceAt(entry, path, context)
        if (source) yield { adapter: context.adapter, source }
      } else if (isFlat) continue
      else if (isMisread(path)) addProblem(result, { path, ...MISREAD })
      else if (depth < MAX_DEPTH) yield* walk(path, context, depth + 1)
      else addProblem(result, { path, ...TOO_DEEP })
    }
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') addProblem(result, problemOf(error, directory, 'cannot list'))
  }
}

function sourceAt(entry: Dirent, path: string, { adapter, root, result }: Walk): Source | undefined {
  if (entry.isSymbolicLink() && leadsOut(path, root))
    addProblem(result, { path, ...LINK, reason: 'symbolic link to a directory elsewhere, not followed' })
  const source = adapter.claim(path, true)
  if (!source) return undefined
  const obstacle = obstacleTo(entry, path)
  if (obstacle === undefined) return source
  addProblem(result, { path, ...obstacle })
  return undefined
}

type Obstacle = Omit<Problem, 'path'>

const LINK: Obstacle = {
  code: 'UNSAFE_PATH',
  reason: 'symbolic link, not followed',
  hint: 'to have it read, name what it leads to under [sources.<flavor>] in config.toml',
}
const MISREAD: Obstacle = {
  code: 'BAD_NAME',
  reason: 'name is not UTF-8',
  hint: 'rename it, in letters of UTF-8',
}
const TOO_DEEP: Obstacle = {
  code: 'TOO_LARGE',
  reason: 'nested too deeply',
  hint: `directories are read ${MAX_DEPTH} levels deep: move it up, or name it under [sources.<flavor>] in config.toml`,
}

function obstacleTo(entry: Dirent, path: string): Obstacle | undefined {
  if (entry.isSymbolicLink()) return LINK
  if (!entry.isFile()) return notRegular(path)
  return isMisread(path) ? MISREAD : undefined
}

function notRegular(path: string): Obstacle {
  const { code, message, hint } = notAFile(path)
  return { code, reason: message, hint }
}

/** A name that is no UTF-8 comes with U+FFFD in it, and then names nothing. */
const isMisread = (path: string): boolean =>
  path.includes('\ufffd') && lstatSync(path, { throwIfNoEntry: false }) === undefined

/** A link to a directory below the same root hides nothing: what is there is found under its own name. */
function leadsOut(path: string, root: string): boolean {
  try {
    return statSync(path).isDirectory() && !`${realpathSync.native(path)}${sep}`.startsWith(`${root}${sep}`)
  } catch {
    // Leads nowhere, or round and round.
    return false
  }
}

/** One after another: a directory may have a million of them. */
function* entriesIn(directory: string): Generator<Dirent> {
  const opened = opendirSync(directory, { bufferSize: 512 })
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) yield entry
  } finally {
    opened.closeSync()
  }
}
