// Reads what a retrospective is made of: the digests of the sessions that ended in the period, and the failures seen in it.

import type { Digest } from '../digest/digest.ts'
import { mendsOf } from '../digest/mends.ts'
import { parseStored } from '../errors.ts'
import type { Outcome } from '../model.ts'
import type { EndedRow, FailureRow } from '../store/reader/digests.ts'
import type { SessionFilter } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Period } from './period.ts'
import type { RetroFailure } from './report.ts'

export interface Scope {
  period: Period
  sinceAt: number
  /** Exclusive. */
  untilAt: number
  filter: SessionFilter
}

/** A session that ended in the period, with its digest. */
export interface Ended {
  uid: string
  flavor: string
  repo: string | null
  outcome: Outcome
  isSubagent: boolean
  endedAt: number
  digest: Digest
  infraS: number
}

/** Newest first. */
export function endedSessions(handle: Reader, scope: Scope): Ended[] {
  return handle.digests.ended(scope).map(({ relation, ended_at, ...row }: EndedRow) => {
    const digest = parseStored<Digest>(row.digest)
    const { active_s, infra_overhead_share } = digest.metrics
    return {
      ...row,
      digest,
      isSubagent: relation === 'subagent',
      endedAt: ended_at,
      infraS: active_s * infra_overhead_share,
    }
  })
}

export const undigestedCount = (handle: Reader, scope: Scope): number => handle.digests.countWithout(scope)

const SHOWN = 10
const EVIDENCE = 3

/** In most sessions first, then most often; what happened once did not keep failing. */
export function failuresOf(handle: Reader, scope: Scope): RetroFailure[] {
  const rows = handle.digests.failures(scope)
  const groups = new Map<string, FailureRow[]>()
  for (const row of rows) groups.set(row.fingerprint, [...(groups.get(row.fingerprint) ?? []), row])
  return [...groups]
    .map(([fingerprint, seen]) => ({
      ...describe(fingerprint, seen),
      is_old: handle.digests.isFailureOld(fingerprint, scope.sinceAt),
    }))
    .filter((one) => one.count > 1)
    .sort((a, b) => b.sessions - a.sessions || b.count - a.count || (a.fingerprint < b.fingerprint ? -1 : 1))
    .slice(0, SHOWN)
}

function describe(fingerprint: string, seen: readonly FailureRow[]): Omit<RetroFailure, 'is_old'> {
  const newest = seen[0] as FailureRow
  const [best] = mendsOf(seen)
  const mended = best?.sessions[0]
  return {
    fingerprint,
    tool: newest.tool,
    sample: newest.sample,
    count: seen.reduce((total, row) => total + row.count, 0),
    sessions: seen.length,
    evidence: seen.slice(0, EVIDENCE).map((row) => pointTo(row.session_uid, parseStored<number[]>(row.seqs))),
    mended_by:
      best && mended
        ? {
            at: pointTo(mended.session_uid, [mended.resolved_seq]),
            steps: best.steps.map(({ seq, what }) => ({ at: pointTo(mended.session_uid, [seq]), what })),
          }
        : null,
  }
}

/** The first of the events; the session where none is named. */
export const pointTo = (uid: string, seqs: readonly number[]): string =>
  seqs[0] === undefined ? uid : `${uid}#${seqs[0]}`
