// A sweep that is under way while something is asked: the answer may be of a part of what there is.
import type { SweepProgress } from '../store/sweep-lock.ts'
import { formatBytes } from './format.ts'

/** A smaller rest is read before anybody could ask again. */
const WORTH_TELLING = 8 << 20

export function sweepLine(running: SweepProgress | null): string | undefined {
  if (!running || running.totalBytes - running.doneBytes < WORTH_TELLING) return undefined
  const { doneBytes, totalBytes, doneSources, totalSources } = running
  const share = Math.floor((100 * doneBytes) / totalBytes)
  return `a sweep is under way, the newest files first: ${share} % read (${doneSources} of ${totalSources} files, ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)})`
}
