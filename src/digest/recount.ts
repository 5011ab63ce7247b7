// A frozen digest that counted what it had only copied: a fork that was read and evicted before its origin was ever read.
// Its tokens come anew from the ledger; what the origin's events show to be copied is taken out of its counts and lists.
// Words (the first prompt, the last answer) and the outcome stay: nothing is left to tell them by.
import type { EventKind, Session } from '../model.ts'
import { costSignals, type Digest, type Price } from './digest.ts'
import { type Buckets, bucketShares, INFRA } from './metrics.ts'
import { COST_OUTLIER } from './signals.ts'

export interface Copies {
  originUid: string
  /** Whether the event of this number, in the session, was copied. */
  isCopied: (seq: number) => boolean
  /** The copied events, digested as if they had been a session. */
  digest: Digest
}

export function recountDigest(
  frozen: Digest,
  session: Session,
  price: Price | null,
  copies: Copies | null,
  buckets: Buckets,
): Digest {
  // Once taken out, they are out.
  const own = copies && !frozen.recounted ? withoutCopies(frozen, copies, buckets) : frozen
  const { cost } = session
  const whole = own.signals.find((one) => one.signal === COST_OUTLIER)
  const seqs =
    whole?.seqs ?? [own.evidence['first_prompt'] ?? [], own.evidence['last_assistant'] ?? []].flat()
  return {
    ...own,
    started_at: session.started_at ?? own.started_at,
    cost,
    price,
    metrics: {
      ...own.metrics,
      wall_clock_s: cost.wall_clock_s,
      turns: cost.turns,
      retries: cost.retries,
    },
    signals: [...own.signals.filter((one) => one !== whole), ...costSignals(price, seqs)],
    recounted: own.recounted ?? { origin_uid: '', copied_events: 0 },
  }
}

/** Less events that were told, and told otherwise when they were gone: ends of turns that went on. Nothing but the counts knew of them. */
export function withoutRepeated(digest: Digest, kinds: readonly EventKind[]): Digest {
  if (kinds.length === 0) return digest
  const counts: Partial<Record<EventKind, number>> = {}
  for (const kind of kinds) counts[kind] = (counts[kind] ?? 0) + 1
  return {
    ...digest,
    event_count: Math.max(0, digest.event_count - kinds.length),
    kind_counts: less(digest.kind_counts as Record<string, number>, counts),
  }
}

/** The inverse of adding the digest of the copied events to that of the session's own. */
function withoutCopies(frozen: Digest, copies: Copies, buckets: Buckets): Digest {
  const { digest: copied, isCopied } = copies
  const histogram = less(frozen.tool_histogram, copied.tool_histogram)
  const shares = bucketShares(histogram, buckets)
  const ownSeqs = (seqs: readonly number[]): number[] => seqs.filter((seq) => !isCopied(seq))
  const hasOwn = ({ seqs }: { seqs: readonly number[] }): boolean =>
    seqs.length === 0 || ownSeqs(seqs).length > 0
  const left = <T extends { seqs: number[] }>(
    list: readonly T[],
    from: readonly T[],
    keyOf: (one: T) => string,
    ...counts: (keyof T)[]
  ): T[] => subtract(list, from, keyOf, counts).map((one) => ({ ...one, seqs: ownSeqs(one.seqs) }))
  return {
    ...frozen,
    tool_histogram: histogram,
    event_count: Math.max(0, frozen.event_count - copied.event_count),
    kind_counts: less(frozen.kind_counts as Record<string, number>, copied.kind_counts),
    markers: { ...frozen.markers, ...floor(frozen.markers, copied.markers) },
    error_snippets: left(
      frozen.error_snippets,
      copied.error_snippets,
      (one) => `${one.fingerprint}\0${one.about ?? ''}`,
      'count',
    ),
    metrics: {
      ...frozen.metrics,
      infra_overhead_share: shares[INFRA] ?? 0,
      bucket_shares: shares,
      active_s: Math.max(0, Math.round((frozen.metrics.active_s - copied.metrics.active_s) * 1000) / 1000),
      tool_calls: Math.max(0, frozen.metrics.tool_calls - copied.metrics.tool_calls),
    },
    files: left(frozen.files, copied.files, (one) => one.path, 'touches', 'edits'),
    commands: left(frozen.commands, copied.commands, (one) => one.command, 'runs', 'failures'),
    tests: frozen.tests.filter(hasOwn),
    commits: frozen.commits.filter(hasOwn),
    pull_requests: frozen.pull_requests.filter(hasOwn),
    subagents: left(
      frozen.subagents,
      copied.subagents,
      (one) => `${one.agent}\0${one.session_uid}`,
      'events',
    ),
    compactions: ownSeqs(frozen.compactions),
    signals: frozen.signals.filter((one) => one.signal === COST_OUTLIER || hasOwn(one)),
    recounted: { origin_uid: copies.originUid, copied_events: copied.event_count },
  }
}

/** Entries of which nothing is left go; the first count says how much of one there is. */
function subtract<T>(
  list: readonly T[],
  from: readonly T[],
  keyOf: (one: T) => string,
  counts: readonly (keyof T)[],
): T[] {
  const copied = new Map(from.map((one) => [keyOf(one), one]))
  return list.flatMap((one) => {
    const other = copied.get(keyOf(one))
    if (!other) return [one]
    const rest = { ...one }
    for (const name of counts)
      rest[name] = Math.max(0, (one[name] as number) - (other[name] as number)) as T[keyof T]
    return (rest[counts[0] as keyof T] as number) > 0 ? [rest] : []
  })
}

function floor<T extends object>(a: T, b: T): Record<string, number> {
  const other = b as Record<string, number>
  return Object.fromEntries(
    Object.entries(a).map(([name, count]) => [name, Math.max(0, (count as number) - (other[name] ?? 0))]),
  )
}

/** What comes to nothing is not named. */
const less = (a: Record<string, number>, b: object): Record<string, number> =>
  Object.fromEntries(Object.entries(floor(a, b as Record<string, number>)).filter(([, count]) => count > 0))
