// Where a session belongs: the repository from its working directory (git root, also through worktrees) or from the
// remote the agent wrote down, the domain from the configured map, the task from patterns.
import { readFileSync, type Stats, statSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, win32 } from 'node:path'
import type { Adapter } from '../adapters/adapter.ts'
import type { Place, SessionPlace } from '../store/store.ts'

/** A worktree's `.git` is one line. */
const MAX_POINTER_BYTES = 64 << 10

/** Resolves places; directories are looked at once per resolver. */
export function placeResolver(
  domains: Record<string, string>,
  adapters: readonly Adapter[] = [],
): (session: SessionPlace) => Place {
  const byFlavor = new Map(adapters.map((one) => [one.flavor, one]))
  const roots = new Map<string, string | undefined>()
  const rootOf = (directory: string): string | undefined => {
    if (!roots.has(directory)) roots.set(directory, repositoryRoot(directory))
    return roots.get(directory)
  }
  return ({ sessionUid, cwd, gitRemote }) => {
    const adapter = byFlavor.get(sessionUid.slice(0, sessionUid.indexOf(':')))
    const root = cwd === null ? undefined : (rootOf(cwd) ?? adapter?.treeOwner?.(cwd))
    const name = directoryName(root === undefined ? cwd : root.replace(/\.git$/, ''))
    const repo = remoteName(gitRemote) ?? name ?? null
    const names = [repo, root, cwd].filter((name) => typeof name === 'string' && Object.hasOwn(domains, name))
    return { repo, domain: names.length === 0 ? null : String(domains[names[0] as string]) }
  }
}

/** The directory of the main working tree that holds `directory`; undefined when it is in none, or is gone. */
function repositoryRoot(directory: string): string | undefined {
  if (!isAbsolute(directory)) return undefined
  for (let at = directory; ; at = dirname(at)) {
    const git = join(at, '.git')
    const stats = lookAt(git)
    if (stats?.isDirectory()) return at
    if (stats?.isFile() && stats.size <= MAX_POINTER_BYTES) return worktreeRoot(at, git) ?? at
    if (at === dirname(at)) return undefined
  }
}

/** A directory that an agent wrote down may be unreadable, or no path at all. */
function lookAt(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

/** A linked worktree's `.git` is a file; its common directory lies in the repository it belongs to. */
function worktreeRoot(at: string, gitFile: string): string | undefined {
  try {
    const gitDirectory = /^gitdir: (.+)$/m.exec(readFileSync(gitFile, 'utf8'))?.[1]
    if (gitDirectory === undefined) return undefined
    const absolute = resolve(at, gitDirectory.trim())
    const common = resolve(absolute, readFileSync(join(absolute, 'commondir'), 'utf8').trim())
    // `.git`, or `.bare` and the like where all working trees are linked ones.
    return basename(common).startsWith('.') ? dirname(common) : common
  } catch {
    return undefined
  }
}

/** Agents on Windows write down its paths. */
function directoryName(cwd: string | null): string | undefined {
  if (cwd === null) return undefined
  return (/^(?:[A-Za-z]:[\\/]|\\\\)/.test(cwd) ? win32.basename(cwd) : basename(cwd)) || undefined
}

function remoteName(remote: string | null): string | undefined {
  return remote === null ? undefined : (/([^/:]+?)(?:\.git)?\/?$/.exec(remote)?.[1] ?? undefined)
}

/** Finds a task reference: the first pattern that matches; the first group, if it has one, is the reference. */
export function taskFinder(patterns: readonly string[]): (text: string) => string | undefined {
  const compiled = patterns.map((pattern) => new RegExp(pattern, 'u'))
  return (text) => {
    for (const pattern of compiled) {
      const match = pattern.exec(text)
      if (match) return match[1] ?? match[0]
    }
    return undefined
  }
}
