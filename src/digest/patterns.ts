// Patterns: failures and signals that recur over sessions, with where they were seen and what resolved them last time.
// Read from Tier 2 alone, so they outlive the events they rest on.
import { parseStored, RecollectError } from '../errors.ts'
import { isoTime } from '../model.ts'
import type { PatternRow } from '../store/reader/digests.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Digest } from './digest.ts'
import { type Mend, mendsOf } from './mends.ts'
import type { Resolution } from './resolution.ts'

export interface Pattern extends Omit<PatternRow, 'first_at' | 'last_at'> {
  repos: string[]
  flavors: string[]
  first_seen: string | null
  last_seen: string | null
  evidence: { session_uid: string; seqs: number[] }[]
  /** Of an error: ways to overcome it, the one that worked most often first. */
  mends: Mend[]
  /** How it was overcome the last time that happened. */
  last_resolution: ({ session_uid: string } & Resolution) | null
}

export interface PatternFilter {
  sinceAt?: number
  limit?: number
  /** Counted, but not pointed at. */
  notShown?: ReadonlySet<string>
}

const MAX_EVIDENCE = 10

/** Errors before signals, those in most sessions first. */
export function listPatterns(handle: Reader, filter: PatternFilter = {}): Pattern[] {
  return handle.digests
    .patterns(filter.sinceAt ?? 0, filter.limit ?? 20)
    .map((row) => describe(handle, row, filter.notShown))
}

function describe(handle: Reader, row: PatternRow, notShown?: ReadonlySet<string>): Pattern {
  const { kind, subject, tool, sample, count, sessions } = row
  const seen = handle.digests.occurrences(kind, subject)
  const shown = seen.filter((one) => !notShown?.has(one.session_uid))
  const resolved = shown.find((one) => one.resolved_by !== null)
  const distinct = (field: 'repo' | 'flavor'): string[] =>
    [...new Set(seen.map((one) => one[field]).filter((value) => value !== null))].sort()
  return {
    kind,
    subject,
    tool,
    sample,
    count,
    sessions,
    repos: distinct('repo'),
    flavors: distinct('flavor'),
    first_seen: isoTime(row.first_at),
    last_seen: isoTime(row.last_at),
    evidence: shown
      .slice(0, MAX_EVIDENCE)
      .map((one) => ({ session_uid: one.session_uid, seqs: parseStored<number[]>(one.seqs) })),
    mends: mendsOf(shown),
    last_resolution: resolved
      ? { session_uid: resolved.session_uid, ...parseStored<Resolution>(resolved.resolved_by as string) }
      : null,
  }
}

/** One digest as it is stored; throws NOT_FOUND where there is none. */
export function getDigest(handle: Reader, uid: string): Digest {
  const digest = findDigest(handle, uid)
  if (digest) return digest
  throw new RecollectError('NOT_FOUND', 'the session has no digest yet', {
    where: uid,
    hint: 'recollect sweep makes the digests',
  })
}

/** Undefined before the first sweep that analyzed the session. */
export function findDigest(handle: Reader, uid: string): Digest | undefined {
  const stored = handle.digests.of(uid)
  return stored === undefined ? undefined : parseStored<Digest>(stored)
}
