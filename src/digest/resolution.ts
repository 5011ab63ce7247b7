// What resolved a failure: the edits and commands between its last occurrence and the first success of the same thing.
import type { Facts } from './facts.ts'

export interface Resolution {
  /** The call that failed last, and the one that succeeded. */
  failed_seq: number
  resolved_seq: number
  /** What was done in between, in order. */
  steps: { seq: number; what: string }[]
}

/** By fingerprint; failures that were never overcome are absent. */
export function resolutionsOf({ work }: Pick<Facts, 'work'>): Map<string, Resolution> {
  const found = new Map<string, Resolution>()
  for (const [fingerprint, { resolution }] of work.lastFailures)
    if (resolution) found.set(fingerprint, resolution)
  return found
}
