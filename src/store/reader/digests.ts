// Questions about what digests say, one by one and over many sessions. They are answered from Tier 2, so they outlive the
// events they rest on; only how far a digest has come stands in the cache. Digests and their parts are JSON here.
import { parseStored } from '../../errors.ts'
import type { EventKind, Outcome } from '../../model.ts'
import { firstColumn, row, rows } from '../database.ts'
import type { Databases } from '../databases.ts'
import { foldOf, knowingMore } from '../digests.ts'
import type { Fold } from '../store.ts'
import { type SessionFilter, sessionConditions } from './filters.ts'

const of = ({ memory }: Databases, uid: string): string | undefined =>
  row<{ digest: string }>(memory, 'SELECT digest FROM digests WHERE session_uid = ?', uid)?.digest

/** The events after which the context was made smaller; null without a digest. */
const compactions = ({ memory }: Databases, uid: string): number[] =>
  parseStored<number[]>(
    row<{ seqs: string | null }>(
      memory,
      "SELECT digest -> '$.compactions' AS seqs FROM digests WHERE session_uid = ?",
      uid,
    )?.seqs ?? '[]',
  )

/** A span of time, `untilAt` exclusive, and which sessions count. */
export interface Span {
  sinceAt: number
  untilAt: number
  filter: SessionFilter
}

export interface EndedRow {
  uid: string
  flavor: string
  repo: string | null
  outcome: Outcome
  relation: string
  ended_at: number
  digest: string
}

/** Of sessions that ended in a span, newest first. */
function ended({ memory }: Databases, { sinceAt, untilAt, filter }: Span): EndedRow[] {
  const { where, values } = sessionConditions(filter)
  return rows(
    memory,
    `SELECT s.session_uid AS uid, s.flavor, s.repo, s.outcome, s.relation, s.ended_at, d.digest
     FROM sessions s JOIN digests d ON d.session_uid = s.session_uid
     WHERE s.ended_at >= ? AND s.ended_at < ? AND ${where} ORDER BY s.ended_at DESC, s.session_uid`,
    sinceAt,
    untilAt,
    ...values,
  )
}

/** How many sessions ended in a span and have none. */
function countWithout({ memory }: Databases, { sinceAt, untilAt, filter }: Span): number {
  const { where, values } = sessionConditions(filter)
  const found = row<{ n: number }>(
    memory,
    `SELECT count(*) AS n FROM sessions s WHERE s.ended_at >= ? AND s.ended_at < ? AND ${where}
     AND s.event_count > 0 AND NOT EXISTS (SELECT 1 FROM digests d WHERE d.session_uid = s.session_uid)`,
    sinceAt,
    untilAt,
    ...values,
  )
  return found?.n ?? 0
}

/** Calls by tool, most first. */
function toolCalls(
  { memory }: Databases,
  { sinceAt, untilAt, filter }: Span,
): { tool: string; calls: number; sessions: number }[] {
  const { where, values } = sessionConditions(filter)
  return rows(
    memory,
    `SELECT t.key AS tool, sum(t.value) AS calls, count(*) AS sessions
     FROM sessions s JOIN digests d ON d.session_uid = s.session_uid, json_each(d.digest, '$.tool_histogram') t
     WHERE s.ended_at >= ? AND s.ended_at < ? AND ${where} GROUP BY t.key ORDER BY calls DESC, t.key`,
    sinceAt,
    untilAt,
    ...values,
  )
}

/** Errors by tool and kind, most frequent first, each with a session that met it. */
function toolFailures(
  { memory }: Databases,
  { sinceAt, untilAt, filter }: Span,
): { tool: string; sample: string; count: number; uid: string; seq: number | null }[] {
  const { where, values } = sessionConditions(filter)
  return rows(
    memory,
    `SELECT f.tool, f.sample, sum(f.count) AS count, max(f.session_uid) AS uid, f.seqs ->> '$[0]' AS seq
     FROM failures f JOIN sessions s ON s.session_uid = f.session_uid
     WHERE s.ended_at >= ? AND s.ended_at < ? AND ${where} GROUP BY f.tool, f.fingerprint ORDER BY count DESC, f.fingerprint`,
    sinceAt,
    untilAt,
    ...values,
  )
}

/** An error as one session met it. */
export interface FailureRow {
  session_uid: string
  repo: string | null
  fingerprint: string
  tool: string
  sample: string
  count: number
  /** When it was last seen. */
  at: number | null
  seqs: string
  resolved_by: string | null
}

/** Those last seen in a span, newest first. */
function failures({ memory }: Databases, { sinceAt, untilAt, filter }: Span): FailureRow[] {
  const { where, values } = sessionConditions(filter)
  return rows(
    memory,
    `SELECT f.session_uid, s.repo, f.fingerprint, f.tool, f.sample, f.count, f.seqs, f.resolved_by,
       coalesce(f.last_at, s.ended_at) AS at
     FROM failures f JOIN sessions s ON s.session_uid = f.session_uid
     WHERE coalesce(f.last_at, s.ended_at) >= ? AND coalesce(f.last_at, s.ended_at) < ? AND ${where}
     ORDER BY coalesce(f.last_at, s.ended_at) DESC, f.session_uid`,
    sinceAt,
    untilAt,
    ...values,
  )
}

/** Whether it was seen before a time. */
const isFailureOld = ({ memory }: Databases, fingerprint: string, at: number): boolean =>
  row(
    memory,
    `SELECT 1 FROM failures f JOIN sessions s ON s.session_uid = f.session_uid
     WHERE f.fingerprint = ? AND coalesce(f.first_at, s.started_at) < ? LIMIT 1`,
    fingerprint,
    at,
  ) !== undefined

/** Every session that met an error. */
const failuresLike = ({ memory }: Databases, fingerprint: string): FailureRow[] =>
  rows(
    memory,
    `SELECT f.*, d.repo, coalesce(f.last_at, d.ended_at) AS at FROM failures f JOIN digests d USING (session_uid)
     WHERE f.fingerprint = ?`,
    fingerprint,
  )

/** A failure or a signal that recurs over sessions. */
export interface PatternRow {
  /** `error`, or the name of a signal. */
  kind: string
  /** Fingerprint of the error, or what the signal is about. */
  subject: string
  tool: string
  sample: string
  count: number
  sessions: number
  first_at: number | null
  last_at: number | null
}

/** Those in most sessions first. */
const patterns = ({ memory }: Databases, sinceAt: number, limit: number): PatternRow[] =>
  rows(
    memory,
    `SELECT * FROM patterns WHERE coalesce(last_at, 0) >= ?
     ORDER BY kind <> 'error', sessions DESC, count DESC, kind, subject LIMIT ?`,
    sinceAt,
    limit,
  )

export interface Occurrence {
  session_uid: string
  repo: string | null
  flavor: string
  seqs: string
  resolved_by: string | null
  at: number | null
}

/** Where a pattern was seen, newest first. */
const occurrences = ({ memory }: Databases, kind: string, subject: string): Occurrence[] =>
  rows(
    memory,
    kind === 'error'
      ? `SELECT f.session_uid, d.repo, d.flavor, f.seqs, f.resolved_by, coalesce(f.last_at, d.ended_at) AS at FROM failures f JOIN digests d USING (session_uid)
         WHERE f.fingerprint = ?1 AND ?2 = 'error' ORDER BY coalesce(f.last_at, d.ended_at) DESC, f.session_uid`
      : `SELECT s.session_uid, d.repo, d.flavor, s.seqs, NULL AS resolved_by, d.ended_at AS at FROM signals s JOIN digests d USING (session_uid)
         WHERE s.subject = ?1 AND s.signal = ?2 ORDER BY d.ended_at DESC, s.session_uid`,
    subject,
    kind,
  )

const ID = '(SELECT id FROM cached WHERE session_uid = ?1)'

/** Where the last digest of a session stopped; undefined to begin at the beginning. */
const fold = ({ cache }: Databases, uid: string): Fold | undefined => {
  const found = row<{ id: number }>(cache, 'SELECT id FROM cached WHERE session_uid = ?', uid)
  return found && foldOf(cache, found.id)
}

/** How many events came since. */
const countUnfolded = ({ cache }: Databases, uid: string): number =>
  row<{ n: number }>(
    cache,
    `SELECT next_seq - 1 - coalesce((SELECT last_seq FROM folds WHERE session = id), 0) AS n FROM cached
     WHERE session_uid = ?`,
    uid,
  )?.n ?? 0

export interface StoredDigest {
  digest: string
  /** The digest of the events up to `earlier_seq`, which are gone. */
  earlier: string | null
  earlier_seq: number
}

const stored = ({ memory }: Databases, uid: string): StoredDigest | undefined =>
  row(memory, 'SELECT digest, earlier, earlier_seq FROM digests WHERE session_uid = ?', uid)

/** The first event of a session that is here; null for none. */
const firstSeq = ({ cache }: Databases, uid: string): number | null =>
  row<{ seq: number | null }>(cache, `SELECT min(seq) AS seq FROM events WHERE session = ${ID}`, uid)?.seq ??
  null

/** The digest of a session none of whose events are here, or fewer than it knows. */
function frozen(databases: Databases, uid: string): StoredDigest | undefined {
  const counted = row<{ n: number }>(
    databases.cache,
    'SELECT event_count AS n FROM cached WHERE session_uid = ?',
    uid,
  )
  const { cache, memory } = databases
  const knowsMore = (): boolean => knowingMore(cache, memory)(uid, counted?.n ?? 0)
  return firstSeq(databases, uid) === null || knowsMore() ? stored(databases, uid) : undefined
}

/** Whether it counts what turned out to be copied, or tokens that are told anew. */
const isMiscounted = ({ memory }: Databases, uid: string): boolean =>
  row(memory, 'SELECT 1 FROM copied WHERE session_uid = ? AND NOT is_told', uid) !== undefined

export type SeqRange = [first: number, last: number]

export interface Copied {
  originUid: string
  seqs: SeqRange[]
  originSeqs: SeqRange[]
}

/** What a session copied, as far as that was found out after its events had gone. */
function copied({ memory }: Databases, uid: string): Copied | undefined {
  const found = row<{ origin_uid: string; seqs: string; origin_seqs: string }>(
    memory,
    "SELECT origin_uid, seqs, origin_seqs FROM copied WHERE session_uid = ? AND origin_uid <> ''",
    uid,
  )
  return (
    found && {
      originUid: found.origin_uid,
      seqs: parseStored<SeqRange[]>(found.seqs),
      originSeqs: parseStored<SeqRange[]>(found.origin_seqs),
    }
  )
}

/**
 * Of the events up to this one, which are gone: those that turned out to count nowhere, as what they were counted. Once the
 * digest of later events was frozen in its turn, it was frozen without them.
 */
const repeated = ({ memory }: Databases, uid: string, untilSeq: number): EventKind[] =>
  firstColumn<EventKind>(
    memory,
    'SELECT kind FROM repeated WHERE session_uid = ? AND evicted_seq = ?',
    uid,
    untilSeq,
  )

export const digestQuestions = {
  of,
  compactions,
  ended,
  toolCalls,
  toolFailures,
  countWithout,
  failures,
  isFailureOld,
  failuresLike,
  patterns,
  occurrences,
  fold,
  countUnfolded,
  stored,
  firstSeq,
  frozen,
  isMiscounted,
  copied,
  repeated,
}
