// The repository that a directory lies in: its main working tree, also through linked ones, and all of them.
import { lstatSync, readdirSync, type Stats } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve, win32 } from 'node:path'
import { readWhole } from './reading.ts'

/** A worktree's `.git` is one line. */
const MAX_POINTER_BYTES = 64 << 10

/** The repository a directory lies in. */
export interface Checkout {
  /** What sessions in it go by; undefined for the root of all. */
  name: string | undefined
  /** The main working tree; undefined where there is no repository. */
  root: string | undefined
  /** All working trees; without a repository the directory alone. */
  trees: string[]
}

export function checkoutAt(directory: string): Checkout {
  const root = repositoryRoot(directory)
  if (root === undefined) return { name: directoryName(directory), root, trees: [directory] }
  return { name: directoryName(root.replace(/\.git$/, '')), root, trees: [root, ...linkedTrees(root)] }
}

/** Where the linked working trees of a repository are, as far as it still knows. */
function linkedTrees(root: string): string[] {
  const common = ['.git', '.bare', ''].map((name) => join(root, name, 'worktrees'))
  const list = common.find((path) => lookAt(path)?.isDirectory())
  if (list === undefined) return []
  return readdirSync(list).flatMap((name) => {
    try {
      return [dirname(resolve(list, name, pointerIn(join(list, name, 'gitdir')).trim()))]
    } catch {
      return []
    }
  })
}

/**
 * The directory of the main working tree that holds `directory`; undefined when it is in none, or is gone. As git has it, a
 * repository is one only where both the working tree and its `.git` are this user's: else whoever puts a `.git` into a
 * directory that all share would have a say about everybody's sessions below it.
 */
export function repositoryRoot(directory: string): string | undefined {
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
  env: NodeJS.ProcessEnv = process.env,
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
export function directoryName(cwd: string | null): string | undefined {
  if (cwd === null) return undefined
  return (/^(?:[A-Za-z]:[\\/]|\\\\)/.test(cwd) ? win32.basename(cwd) : basename(cwd)) || undefined
}
