// Sessions that belong to one task: a session, and the sub-agents it started. Ten hits of one tree would hide all others.
import type { Reader } from '../store/reader/index.ts'
import type { SearchOptions } from './search.ts'
import type { Group } from './search-groups.ts'

export type TaskGroup<G extends Group = Group> = G & {
  /** The uid of the session it all began with. */
  task: string
  alsoIn: string[]
}

/** The best group of each task, in the order given. Who asks about one session is told of that one. */
export function perTask<G extends Group>(
  handle: Reader,
  groups: readonly G[],
  { session }: SearchOptions,
): TaskGroup<G>[] {
  const roots = handle.lineage.roots(groups.map((group) => group.uid))
  const tasks = new Map<string, TaskGroup<G>>()
  for (const group of groups) {
    const task = roots.get(group.uid) ?? group.uid
    const known = tasks.get(task)
    if (known && session === undefined) known.alsoIn.push(group.uid)
    else tasks.set(task, { ...group, task, alsoIn: [] })
  }
  return [...tasks.values()]
}
