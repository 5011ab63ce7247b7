// Two digests side by side: what is the same, what is not.
import type { Digest } from './digest.ts'
import { joinedErrors } from './merge.ts'

export interface Comparison {
  a: Digest
  b: Digest
  metrics: { name: string; a: number; b: number }[]
  tools: { tool: string; a: number; b: number }[]
  files: { path: string; a: number; b: number }[]
  errors: { fingerprint: string; sample: string; a: number; b: number }[]
}

export function compareDigests(a: Digest, b: Digest): Comparison {
  const sides = [a, b] as const
  return {
    a,
    b,
    metrics: Object.entries(METRICS).map(([name, of]) => ({ name, a: of(a), b: of(b) })),
    tools: pair(sides, (digest) => Object.entries(digest.tool_histogram)).map(([tool, x, y]) => ({
      tool,
      a: x,
      b: y,
    })),
    files: pair(sides, (digest) => digest.files.map((file) => [file.path, file.edits || file.touches])).map(
      ([path, x, y]) => ({ path, a: x, b: y }),
    ),
    errors: pair(sides, (digest) =>
      joinedErrors(digest.error_snippets).map((one) => [one.fingerprint, one.count]),
    ).map(([fingerprint, x, y]) => ({
      fingerprint,
      sample:
        [...a.error_snippets, ...b.error_snippets].find((one) => one.fingerprint === fingerprint)?.sample ??
        '',
      a: x,
      b: y,
    })),
  }
}

const METRICS: Record<string, (digest: Digest) => number> = {
  wall_clock_s: (digest) => digest.metrics.wall_clock_s,
  active_s: (digest) => digest.metrics.active_s,
  turns: (digest) => digest.metrics.turns,
  tool_calls: (digest) => digest.metrics.tool_calls,
  edits: (digest) => digest.markers.edits,
  errors: (digest) => digest.markers.errors,
  retries: (digest) => digest.metrics.retries,
  interventions: (digest) => digest.markers.interventions,
  test_runs: (digest) => digest.markers.test_runs,
  test_failures: (digest) => digest.markers.test_failures,
  compactions: (digest) => digest.markers.compactions,
  commits: (digest) => digest.commits.length,
  input_tokens: (digest) => digest.cost.input_tokens,
  output_tokens: (digest) => digest.cost.output_tokens,
  cache_tokens: (digest) => digest.cost.cache_tokens,
}

/** Counts of both by name, what has most first. */
function pair(
  sides: readonly [Digest, Digest],
  of: (digest: Digest) => (readonly [string, number])[],
): [string, number, number][] {
  const counts = new Map<string, [number, number]>()
  for (const [side, digest] of sides.entries()) {
    for (const [name, count] of of(digest)) {
      const known = counts.get(name) ?? [0, 0]
      counts.set(name, known)
      known[side as 0 | 1] += count
    }
  }
  return [...counts]
    .map(([name, [x, y]]): [string, number, number] => [name, x, y])
    .sort((x, y) => y[1] + y[2] - x[1] - x[2] || (x[0] < y[0] ? -1 : 1))
}
