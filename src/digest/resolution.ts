// What resolved a failure, as digests tell it.
import type { Facts } from './facts.ts'

export interface Resolution {
  /** The call that failed last, and the one that shows that it is overcome. */
  failed_seq: number
  resolved_seq: number
  /** The one to three steps that matter, in order: edits, commands, or the success itself where that was tried otherwise. */
  steps: { seq: number; what: string }[]
}

/** By the key of a failure; failures that were never overcome are absent. */
export function resolutionsOf({ work }: Pick<Facts, 'work'>): Map<string, Resolution> {
  const found = new Map<string, Resolution>()
  for (const [fingerprint, { resolution }] of work.mending.failures)
    if (resolution) found.set(fingerprint, resolution)
  return found
}
