// Patterns: failures and signals that recur over sessions, with where they were seen and what resolved them last time.
// Read from Tier 2 alone, so they outlive the events they rest on.
import { parseStored, RecollectError } from '../errors.ts'
import type { ReadHandle } from '../store/store.ts'
import type { Digest } from './digest.ts'
import type { Resolution } from './resolution.ts'

export interface Pattern {
  /** `error`, or the name of a signal. */
  kind: string
  /** Fingerprint of the error, or what the signal is about. */
  subject: string
  tool: string
  sample: string
  count: number
  sessions: number
  repos: string[]
  flavors: string[]
  first_seen: string | null
  last_seen: string | null
  evidence: { session_uid: string; seqs: number[] }[]
  /** How it was overcome the last time that happened. */
  last_resolution: ({ session_uid: string } & Resolution) | null
}

export interface PatternFilter {
  sinceAt?: number
  limit?: number
  /** Counted, but not pointed at. */
  notShown?: ReadonlySet<string>
}

type Memory = Pick<ReadHandle, 'memory'>
const MAX_EVIDENCE = 10

/** Those in most sessions first. */
export function listPatterns(handle: Memory, filter: PatternFilter = {}): Pattern[] {
  const rows = handle.memory
    .prepare(
      `SELECT * FROM patterns WHERE coalesce(last_at, 0) >= ?
       ORDER BY sessions DESC, count DESC, kind, subject LIMIT ?`,
    )
    .all(filter.sinceAt ?? 0, filter.limit ?? 20) as unknown as Record<string, unknown>[]
  return rows.map((row) => describe(handle, row, filter.notShown))
}

function describe(handle: Memory, row: Record<string, unknown>, notShown?: ReadonlySet<string>): Pattern {
  const kind = row['kind'] as string
  const subject = row['subject'] as string
  const seen = occurrences(handle, kind, subject)
  const shown = seen.filter((one) => !notShown?.has(one.session_uid))
  const resolved = shown.find((one) => one.resolved_by !== null)
  const distinct = (field: 'repo' | 'flavor'): string[] =>
    [...new Set(seen.map((one) => one[field]).filter((value) => value !== null))].sort()
  return {
    kind,
    subject,
    tool: row['tool'] as string,
    sample: row['sample'] as string,
    count: row['count'] as number,
    sessions: row['sessions'] as number,
    repos: distinct('repo'),
    flavors: distinct('flavor'),
    first_seen: iso(row['first_at']),
    last_seen: iso(row['last_at']),
    evidence: shown
      .slice(0, MAX_EVIDENCE)
      .map((one) => ({ session_uid: one.session_uid, seqs: parseStored<number[]>(one.seqs) })),
    last_resolution: resolved
      ? { session_uid: resolved.session_uid, ...parseStored<Resolution>(resolved.resolved_by as string) }
      : null,
  }
}

interface Occurrence {
  session_uid: string
  repo: string | null
  flavor: string
  seqs: string
  resolved_by: string | null
}

/** Newest first. */
function occurrences(handle: Memory, kind: string, subject: string): Occurrence[] {
  const sql =
    kind === 'error'
      ? `SELECT f.session_uid, d.repo, d.flavor, f.seqs, f.resolved_by FROM failures f JOIN digests d USING (session_uid)
         WHERE f.fingerprint = ?1 AND ?2 = 'error' ORDER BY coalesce(f.last_at, d.ended_at) DESC, f.session_uid`
      : `SELECT s.session_uid, d.repo, d.flavor, s.seqs, NULL AS resolved_by FROM signals s JOIN digests d USING (session_uid)
         WHERE s.subject = ?1 AND s.signal = ?2 ORDER BY d.ended_at DESC, s.session_uid`
  return handle.memory.prepare(sql).all(subject, kind) as unknown as Occurrence[]
}

const iso = (at: unknown): string | null => (typeof at === 'number' ? new Date(at).toISOString() : null)

/** One digest as it is stored; throws NOT_FOUND where there is none. */
export function getDigest(handle: Memory, uid: string): Digest {
  const digest = findDigest(handle, uid)
  if (digest) return digest
  throw new RecollectError('NOT_FOUND', 'the session has no digest yet', {
    where: uid,
    hint: 'recollect sweep makes the digests',
  })
}

/** Undefined before the first sweep that analyzed the session. */
export function findDigest({ memory }: Memory, uid: string): Digest | undefined {
  const row = memory.prepare('SELECT digest FROM digests WHERE session_uid = ?').get(uid)
  return row && parseStored<Digest>((row as { digest: string }).digest)
}
