// Shares of the tool calls, by buckets of tool names. The bucket `infra` is what other programs read as
// `infra_overhead_share`: calls that served the plumbing rather than the task.

/** Bucket to tool names; `*` stands for any characters, case does not matter. */
export type Buckets = Record<string, readonly string[]>

export const INFRA = 'infra'

export function bucketShares(histogram: Record<string, number>, buckets: Buckets): Record<string, number> {
  const total = Object.values(histogram).reduce((sum, count) => sum + count, 0)
  const shares: Record<string, number> = {}
  for (const [bucket, names] of Object.entries(buckets)) {
    const patterns = names.map(toPattern)
    let count = 0
    for (const [tool, calls] of Object.entries(histogram))
      if (patterns.some((pattern) => pattern.test(tool))) count += calls
    shares[bucket] = total === 0 ? 0 : Math.round((count / total) * 1000) / 1000
  }
  return shares
}

const toPattern = (name: string): RegExp =>
  new RegExp(`^${name.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`, 'i')
