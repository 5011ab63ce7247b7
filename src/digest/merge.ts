// A session that goes on after its first events were evicted: the digest of the events that are gone, frozen as it was,
// and that of the events that are here become one. What is told by the session's own row (times, cost) is already whole.
import type { TitleSource } from '../model.ts'
import { type Digest, type ErrorSnippet, MAX_COMMANDS, MAX_ERRORS, MAX_FILES } from './digest.ts'
import { type Buckets, bucketShares, INFRA } from './metrics.ts'
import { keyOf, pathIn, placeIn } from './places.ts'
import { cite } from './seqs.ts'
import { COST_OUTLIER } from './signals.ts'
import { MAX_TESTS } from './tests.ts'

/** `untilSeq` is the last event that only `earlier` knows. */
export function mergeDigests(earlier: Digest, later: Digest, untilSeq: number, buckets: Buckets): Digest {
  const histogram = sum(earlier.tool_histogram, later.tool_histogram)
  const shares = bucketShares(histogram, buckets)
  const isSilent = later.outcome_detail.rule === 'nothing-happened'
  return {
    ...later,
    ...mergeNames(earlier, later),
    outcome: isSilent ? earlier.outcome : later.outcome,
    outcome_detail: isSilent ? earlier.outcome_detail : later.outcome_detail,
    tool_histogram: histogram,
    event_count: earlier.event_count + later.event_count,
    kind_counts: sum(
      earlier.kind_counts as Record<string, number>,
      later.kind_counts as Record<string, number>,
    ),
    markers: sum({ ...earlier.markers }, { ...later.markers }) as unknown as Digest['markers'],
    first_prompt: earlier.first_prompt || later.first_prompt,
    last_assistant: later.last_assistant || earlier.last_assistant,
    error_snippets: mergeErrors([...earlier.error_snippets, ...later.error_snippets]),
    metrics: {
      ...later.metrics,
      infra_overhead_share: shares[INFRA] ?? 0,
      bucket_shares: shares,
      active_s: Math.min(later.metrics.wall_clock_s, earlier.metrics.active_s + later.metrics.active_s),
      tool_calls: earlier.metrics.tool_calls + later.metrics.tool_calls,
    },
    ...mergeWork(earlier, later),
    signals: join(
      // What a session cost is told of the whole of it, each time.
      [...earlier.signals.filter((one) => one.signal !== COST_OUTLIER), ...later.signals],
      (one) => `${one.signal}\0${one.subject}`,
      (a, b) => ({ ...b, count: a.count + b.count, seqs: cite([...a.seqs, ...b.seqs]) }),
    ),
    evidence: mergeEvidence(earlier, later),
    recounted: earlier.recounted ?? null,
    frozen: { until_seq: untilSeq, rule_version: earlier.frozen?.rule_version ?? earlier.rule_version },
  }
}

const NAMED: ReadonlySet<TitleSource> = new Set(['person', 'agent'])

/** What a session is called stands at its beginning, unless somebody named it. */
function mergeNames(earlier: Digest, later: Digest): Pick<Digest, 'title' | 'title_source' | 'helper'> {
  const isMade = earlier.title_source && !NAMED.has(earlier.title_source) && earlier.title_source !== 'none'
  const { title, title_source } = isMade && !NAMED.has(later.title_source) ? earlier : later
  return { title, title_source, helper: earlier.helper ? later.helper : null }
}

function sum(a: Record<string, number>, b: Record<string, number>): Record<string, number> {
  const total = { ...a }
  for (const [name, count] of Object.entries(b)) total[name] = (total[name] ?? 0) + count
  return total
}

/** Entries of the same key become one, in the order of their first. */
function join<T>(all: readonly T[], keyOf: (one: T) => string, merge: (a: T, b: T) => T): T[] {
  const joined = new Map<string, T>()
  for (const one of all) {
    const known = joined.get(keyOf(one))
    joined.set(keyOf(one), known === undefined ? one : merge(known, one))
  }
  return [...joined.values()]
}

/** Oldest first. */
export const mergeErrors = (all: readonly ErrorSnippet[]): ErrorSnippet[] =>
  join(all, (one) => `${one.fingerprint}\0${one.about ?? ''}`, both)
    .sort((a, b) => b.count - a.count)
    .slice(0, MAX_ERRORS)

/** One of each fingerprint, whatever they are about: as they are compared over sessions. */
export const joinedErrors = (all: readonly ErrorSnippet[]): ErrorSnippet[] =>
  join(all, (one) => one.fingerprint, both)

const both = (a: ErrorSnippet, b: ErrorSnippet): ErrorSnippet => ({
  ...a,
  count: a.count + b.count,
  first_at: [a.first_at, b.first_at].filter(Boolean).sort()[0] ?? '',
  last_at: [a.last_at, b.last_at].sort()[1] ?? '',
  seqs: cite([...a.seqs, ...b.seqs].sort((one, other) => one - other)),
  resolved_by: b.resolved_by ?? a.resolved_by,
})

/** Older rules named files as they were called, or from where the session was. */
const RELATIVE_SINCE = 18

function mergeWork(
  earlier: Digest,
  later: Digest,
): Pick<Digest, 'files' | 'commands' | 'tests' | 'commits' | 'pull_requests' | 'subagents' | 'compactions'> {
  const place = placeIn(later.cwd || null, later.repo)
  const isOld = Number.parseInt(earlier.rule_version, 10) < RELATIVE_SINCE
  return {
    files: join(
      [
        ...earlier.files.map((one) => (isOld ? { ...one, path: pathIn(place, one.path) } : one)),
        ...later.files,
      ],
      (one) => keyOf(place, one.path),
      (a, b) => ({
        path: a.path,
        edits: a.edits + b.edits,
        touches: a.touches + b.touches,
        seqs: cite([...a.seqs, ...b.seqs]),
      }),
    )
      .sort((a, b) => b.edits - a.edits || b.touches - a.touches)
      .slice(0, MAX_FILES),
    commands: join(
      [...earlier.commands, ...later.commands],
      (one) => one.command,
      (a, b) => ({
        ...b,
        runs: a.runs + b.runs,
        failures: a.failures + b.failures,
        seqs: cite([...a.seqs, ...b.seqs]),
      }),
    )
      .sort((a, b) => b.runs - a.runs)
      .slice(0, MAX_COMMANDS),
    tests: [...earlier.tests, ...later.tests].slice(-MAX_TESTS),
    commits: [...earlier.commits, ...later.commits],
    pull_requests: join(
      [...earlier.pull_requests, ...later.pull_requests],
      (one) => one.url,
      (a, b) => ({ ...a, seqs: cite([...a.seqs, ...b.seqs]) }),
    ),
    subagents: join(
      [...earlier.subagents, ...later.subagents],
      (one) => `${one.agent}\0${one.session_uid}`,
      (a, b) => ({ ...a, events: a.events + b.events }),
    ),
    compactions: [...earlier.compactions, ...later.compactions],
  }
}

function mergeEvidence(earlier: Digest, later: Digest): Digest['evidence'] {
  const merged: Digest['evidence'] = {}
  for (const name of new Set([...Object.keys(earlier.evidence), ...Object.keys(later.evidence)]))
    merged[name] = cite([...(earlier.evidence[name] ?? []), ...(later.evidence[name] ?? [])])
  if (earlier.first_prompt !== '') merged['first_prompt'] = earlier.evidence['first_prompt'] ?? []
  if (later.last_assistant !== '') merged['last_assistant'] = later.evidence['last_assistant'] ?? []
  return merged
}
