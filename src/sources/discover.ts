// Finds the files that adapters claim, below their roots. Never follows a symbolic link: what lies behind one is either
// found under its own name or none of our business. What an adapter would claim but cannot be read is named.
import { readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import type { Adapter, Environment, Source } from '../adapters/adapter.ts'
import { errnoOf } from '../errors.ts'

export interface Found {
  adapter: Adapter
  source: Source
}

export interface Problem {
  path: string
  reason: string
}

export interface Discovery {
  found: Found[]
  problems: Problem[]
  /** Roots that exist, and those that do not, per flavor. */
  roots: { flavor: string; path: string; exists: boolean }[]
}

const MAX_DEPTH = 16

/** Every source below the adapters' own roots and the extra ones configured per flavor. */
export function discover(
  adapters: readonly Adapter[],
  env: Environment,
  extraRoots: Record<string, string[]> = {},
): Discovery {
  const result: Discovery = { found: [], problems: [], roots: [] }
  for (const adapter of adapters) {
    const seen = new Set<string>()
    for (const root of [...adapter.roots(env), ...(extraRoots[adapter.flavor] ?? [])]) {
      const real = realDirectory(root)
      result.roots.push({ flavor: adapter.flavor, path: root, exists: real !== undefined })
      if (real === undefined || seen.has(real)) continue
      seen.add(real)
      walk(real, adapter, result, 0)
    }
  }
  return result
}

function realDirectory(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

function walk(directory: string, adapter: Adapter, result: Discovery, depth: number): void {
  let entries: ReturnType<typeof readEntries>
  try {
    entries = readEntries(directory)
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT')
      result.problems.push({ path: directory, reason: `cannot list: ${errnoOf(error)}` })
    return
  }
  for (const entry of entries) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      if (depth < MAX_DEPTH) walk(path, adapter, result, depth + 1)
      else result.problems.push({ path, reason: 'nested too deeply' })
      continue
    }
    const source = adapter.claim(path)
    if (!source) continue
    if (entry.isFile()) result.found.push({ adapter, source })
    else
      result.problems.push({
        path,
        reason: entry.isSymbolicLink() ? 'symbolic link, not followed' : 'not a regular file',
      })
  }
}

function readEntries(directory: string) {
  return readdirSync(directory, { withFileTypes: true })
}
