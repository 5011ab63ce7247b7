// Reads what a retrospective is made of: the digests of the sessions that ended in the period, and the failures seen in it.

import type { Digest } from '../digest/digest.ts'
import type { Resolution } from '../digest/resolution.ts'
import { parseStored } from '../errors.ts'
import type { Outcome } from '../model.ts'
import { type SessionFilter, sessionConditions } from '../query/filters.ts'
import type { ReadHandle } from '../store/store.ts'
import type { Period } from './period.ts'
import type { RetroFailure } from './report.ts'

type Memory = Pick<ReadHandle, 'memory'>

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

interface Row {
  uid: string
  flavor: string
  repo: string | null
  outcome: Outcome
  relation: string
  ended_at: number
  digest: string
}

/** Newest first. */
export function endedSessions({ memory }: Memory, scope: Scope): Ended[] {
  const { where, values } = sessionConditions(scope.filter)
  const rows = memory
    .prepare(
      `SELECT s.session_uid AS uid, s.flavor, s.repo, s.outcome, s.relation, s.ended_at, d.digest
       FROM sessions s JOIN digests d ON d.session_uid = s.session_uid
       WHERE s.ended_at >= ? AND s.ended_at < ? AND ${where} ORDER BY s.ended_at DESC, s.session_uid`,
    )
    .all(scope.sinceAt, scope.untilAt, ...values) as unknown as Row[]
  return rows.map(({ relation, ended_at, ...row }) => {
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

export function undigestedCount({ memory }: Memory, scope: Scope): number {
  const { where, values } = sessionConditions(scope.filter)
  const row = memory
    .prepare(
      `SELECT count(*) AS count FROM sessions s WHERE s.ended_at >= ? AND s.ended_at < ? AND ${where}
       AND s.event_count > 0 AND NOT EXISTS (SELECT 1 FROM digests d WHERE d.session_uid = s.session_uid)`,
    )
    .get(scope.sinceAt, scope.untilAt, ...values)
  return (row as { count: number }).count
}

interface FailureRow {
  session_uid: string
  fingerprint: string
  tool: string
  sample: string
  count: number
  seqs: string
  resolved_by: string | null
}

const SHOWN = 10
const EVIDENCE = 3

/** In most sessions first, then most often; what happened once did not keep failing. */
export function failuresOf({ memory }: Memory, scope: Scope): RetroFailure[] {
  const { where, values } = sessionConditions(scope.filter)
  const rows = memory
    .prepare(
      `SELECT f.session_uid, f.fingerprint, f.tool, f.sample, f.count, f.seqs, f.resolved_by
       FROM failures f JOIN sessions s ON s.session_uid = f.session_uid
       WHERE coalesce(f.last_at, s.ended_at) >= ? AND coalesce(f.last_at, s.ended_at) < ? AND ${where}
       ORDER BY coalesce(f.last_at, s.ended_at) DESC, f.session_uid`,
    )
    .all(scope.sinceAt, scope.untilAt, ...values) as unknown as FailureRow[]
  const groups = new Map<string, FailureRow[]>()
  for (const row of rows) groups.set(row.fingerprint, [...(groups.get(row.fingerprint) ?? []), row])
  const isOld = memory.prepare(
    `SELECT 1 FROM failures f JOIN sessions s ON s.session_uid = f.session_uid
     WHERE f.fingerprint = ? AND coalesce(f.first_at, s.started_at) < ? LIMIT 1`,
  )
  return [...groups]
    .map(([fingerprint, seen]) => ({
      ...describe(fingerprint, seen),
      is_old: isOld.get(fingerprint, scope.sinceAt) !== undefined,
    }))
    .filter((one) => one.count > 1)
    .sort((a, b) => b.sessions - a.sessions || b.count - a.count || (a.fingerprint < b.fingerprint ? -1 : 1))
    .slice(0, SHOWN)
}

function describe(fingerprint: string, seen: readonly FailureRow[]): Omit<RetroFailure, 'is_old'> {
  const newest = seen[0] as FailureRow
  const mended = seen.find((row) => row.resolved_by !== null)
  const resolution = mended ? parseStored<Resolution>(mended.resolved_by as string) : undefined
  return {
    fingerprint,
    tool: newest.tool,
    sample: newest.sample,
    count: seen.reduce((total, row) => total + row.count, 0),
    sessions: seen.length,
    evidence: seen.slice(0, EVIDENCE).map((row) => pointTo(row.session_uid, parseStored<number[]>(row.seqs))),
    mended_by:
      mended && resolution
        ? {
            at: pointTo(mended.session_uid, [resolution.resolved_seq]),
            steps: resolution.steps.map(({ seq, what }) => ({
              at: pointTo(mended.session_uid, [seq]),
              what,
            })),
          }
        : null,
  }
}

/** The first of the events; the session where none is named. */
export const pointTo = (uid: string, seqs: readonly number[]): string =>
  seqs[0] === undefined ? uid : `${uid}#${seqs[0]}`
