// What a sweep remembers of the files beside its sources. A pure cache: a reader that is given none finds the same.
import type { SweepMemo } from '../adapter.ts'

export function newMemo(): SweepMemo {
  const known = new Map<string, unknown>()
  return {
    get<T>(name: string, make: () => T): T {
      if (!known.has(name)) known.set(name, make())
      return known.get(name) as T
    },
  }
}
