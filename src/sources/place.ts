// Where a session belongs: the repository from its working directory (git root, also through worktrees) or from the
// remote the agent wrote down, the domain from the configured map. The task is in task.ts.
import { lstatSync, type Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, win32 } from 'node:path'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import { readWhole } from '../files/reading.ts'
import type { Place, SessionPlace } from '../store/store.ts'

/** A worktree's `.git` is one line. */
const MAX_POINTER_BYTES = 64 << 10

/** Resolves places; directories are looked at once per resolver. */
export function placeResolver(
  domains: Record<string, string>,
  adapters: readonly AnyAdapter[] = [],
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

/**
 * The directory of the main working tree that holds `directory`; undefined when it is in none, or is gone. As git has it, a
 * repository is one only where both the working tree and its `.git` are this user's: else whoever puts a `.git` into a
 * directory that all share would have a say about everybody's sessions below it.
 */
function repositoryRoot(directory: string): string | undefined {
  if (!isAbsolute(directory)) return undefined
  for (let at = directory; ; at = dirname(at)) {
    const git = join(at, '.git')
    const stats = lookAt(git)
    if (stats) return isOwn(stats) && isOwn(lookAt(at)) ? rootAt(at, git, stats) : undefined
    if (at === dirname(at)) return undefined
  }
}

/** A link is not followed: it says as much as a directory, that this is a repository. */
function rootAt(at: string, git: string, stats: Stats): string | undefined {
  if (stats.isDirectory() || stats.isSymbolicLink()) return at
  return stats.isFile() ? (worktreeRoot(at, git) ?? at) : undefined
}

/** A directory that an agent wrote down may be unreadable, or no path at all. */
function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch {
    return undefined
  }
}

/** Whether it belongs to whoever runs this; for root, also to whom sudo was called by. As git looks at it. */
export function isOwn(
  stats: Pick<Stats, 'uid'> | undefined,
  user = process.geteuid?.(),
  env: Environment = process.env,
): boolean {
  if (stats === undefined) return false
  if (user === undefined || stats.uid === user) return true
  return user === 0 && /^\d{1,10}$/.test(env['SUDO_UID'] ?? '') && stats.uid === Number(env['SUDO_UID'])
}

/** A linked worktree's `.git` is a file; its common directory lies in the repository it belongs to. */
function worktreeRoot(at: string, gitFile: string): string | undefined {
  try {
    const gitDirectory = /^gitdir: (.+)$/m.exec(pointerIn(gitFile))?.[1]
    if (gitDirectory === undefined) return undefined
    const absolute = resolve(at, gitDirectory.trim())
    const common = resolve(absolute, pointerIn(join(absolute, 'commondir')).trim())
    // What leads nowhere is no pointer, whatever else the file may hold.
    if (!lookAt(common)?.isDirectory()) return undefined
    // `.git`, or `.bare` and the like where all working trees are linked ones.
    return basename(common).startsWith('.') ? dirname(common) : common
  } catch {
    return undefined
  }
}

const pointerIn = (path: string): string => readWhole(path, MAX_POINTER_BYTES).toString('utf8')

/** Agents on Windows write down its paths. */
function directoryName(cwd: string | null): string | undefined {
  if (cwd === null) return undefined
  return (/^(?:[A-Za-z]:[\\/]|\\\\)/.test(cwd) ? win32.basename(cwd) : basename(cwd)) || undefined
}

/** The last part of an address, `git@host:team/name.git` or `https://host/team/name/`. */
function remoteName(remote: string | null): string | undefined {
  const parts = remote?.replace(/\/$/, '').split(/[/:]/) ?? []
  const last = parts.at(-1) ?? ''
  // A name that is nothing but the ending is the name.
  return (last === '.git' ? last : last.replace(/\.git$/, '')) || undefined
}
