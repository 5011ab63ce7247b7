// Where a session belongs: the repository from its working directory (git root, also through worktrees) or from the
// remote the agent wrote down, the domain from the configured map. The task is in task.ts.
import type { AnyAdapter } from '../adapters/adapter.ts'
import { directoryName, repositoryRoot } from '../files/checkout.ts'
import type { Place, SessionPlace } from '../store/store.ts'

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
  return ({ sessionUid, cwd, gitRemote, isElsewhere }) => {
    const adapter = byFlavor.get(sessionUid.slice(0, sessionUid.indexOf(':')))
    const seen = cwd === null || isElsewhere ? undefined : rootOf(cwd)
    const root = seen ?? (cwd === null ? undefined : adapter?.treeOwner?.(cwd))
    const name = directoryName(root === undefined ? cwd : root.replace(/\.git$/, ''))
    const repo = remoteName(gitRemote) ?? name ?? null
    const names = [repo, root, cwd].filter((name) => typeof name === 'string' && Object.hasOwn(domains, name))
    return { repo, domain: names.length === 0 ? null : String(domains[names[0] as string]) }
  }
}

/** The last part of an address, `git@host:team/name.git` or `https://host/team/name/`. */
function remoteName(remote: string | null): string | undefined {
  const parts = remote?.replace(/\/$/, '').split(/[/:]/) ?? []
  const last = parts.at(-1) ?? ''
  // A name that is nothing but the ending is the name.
  return (last === '.git' ? last : last.replace(/\.git$/, '')) || undefined
}
