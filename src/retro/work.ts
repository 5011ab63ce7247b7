// What the sessions of a period did, counted together: outcomes, loops, files, tests, the dearest, the plumbing.

import { OUTCOMES, type Outcome } from '../model.ts'
import type { UsageReport } from '../query/usage.ts'
import type { Reader } from '../store/reader/index.ts'
import { type Ended, pointTo, type Scope } from './gather.ts'
import type { RetroReport } from './report.ts'

const SHOWN = 10
const EVIDENCE = 3
type Counted = { count: number; evidence: string[] }

export function outcomesOf(ended: readonly Ended[]): RetroReport['outcomes'] {
  const count = (outcome: Outcome): Counted => {
    const here = ended.filter((one) => !one.isSubagent && one.outcome === outcome)
    const evidence = here
      .slice(0, EVIDENCE)
      .map(({ uid, digest }) => pointTo(uid, digest.outcome_detail.seqs))
    return { count: here.length, evidence }
  }
  return Object.fromEntries(OUTCOMES.map((one) => [one, count(one)])) as RetroReport['outcomes']
}

export function loopsOf(ended: readonly Ended[]): RetroReport['loops'] {
  return ended
    .flatMap(({ uid, digest }) =>
      digest.signals
        .filter((one) => one.signal === 'retry_loop')
        .map(({ subject, count, seqs }) => ({ subject, count, evidence: [pointTo(uid, seqs)] })),
    )
    .sort((a, b) => b.count - a.count)
    .slice(0, SHOWN)
}

/** Without those that have a part of their own. */
export function signalsOf(ended: readonly Ended[]): RetroReport['signals'] {
  const found = new Map<string, Map<string, string>>()
  for (const { uid, digest } of ended) {
    for (const { signal, seqs } of digest.signals) {
      const sessions = found.get(signal) ?? new Map<string, string>()
      found.set(signal, sessions)
      if (!sessions.has(uid)) sessions.set(uid, pointTo(uid, seqs))
    }
  }
  return [...found]
    .filter(([signal]) => signal !== 'retry_loop' && signal !== 'repeated_error')
    .map(([signal, sessions]) => ({
      signal,
      sessions: sessions.size,
      evidence: [...sessions.values()].slice(0, EVIDENCE),
    }))
    .sort((a, b) => b.sessions - a.sessions || (a.signal < b.signal ? -1 : 1))
}

export function dearestOf(
  handle: Reader,
  ended: readonly Ended[],
  usage: UsageReport,
): RetroReport['dearest'] {
  const rows = usage.rows.filter((row) => row.key !== null).slice(0, SHOWN)
  const digests = new Map(ended.map((one) => [one.uid, one.digest]))
  const sessions = handle.sessions.of(rows.map((row) => row.key as string))
  return sessions.map((session, at) => {
    const digest = digests.get(session.session_uid)
    return {
      session_uid: session.session_uid,
      title: session.title ?? digest?.first_prompt ?? '',
      repo: session.repo,
      outcome: session.outcome,
      active_s: Math.round(digest?.metrics.active_s ?? 0),
      total_tokens: rows[at]?.total_tokens ?? 0,
      cost_usd: rows[at]?.cost_usd ?? null,
    }
  })
}

export function filesOf(ended: readonly Ended[]): RetroReport['files'] {
  const files = new Map<string, RetroReport['files'][number]>()
  for (const { uid, digest } of ended) {
    for (const { path, edits, seqs } of digest.files) {
      if (edits === 0) continue
      const shown = path.startsWith(`${digest.cwd}/`) ? path.slice(digest.cwd.length + 1) : path
      const key = `${digest.repo}\0${shown}`
      const file = files.get(key) ?? { path: shown, repo: digest.repo, edits: 0, sessions: 0, evidence: [] }
      files.set(key, file)
      file.edits += edits
      file.sessions++
      if (file.evidence.length < EVIDENCE) file.evidence.push(pointTo(uid, seqs))
    }
  }
  return [...files.values()]
    .sort((a, b) => b.edits - a.edits || b.sessions - a.sessions || (a.path < b.path ? -1 : 1))
    .slice(0, SHOWN)
}

/** Failing ones first, newest evidence of a failure where there is one. */
export function testsOf(ended: readonly Ended[]): RetroReport['tests'] {
  const commands = new Map<string, RetroReport['tests'][number]>()
  for (const { uid, digest } of ended) {
    for (const { command, verdict, seqs } of digest.tests) {
      const known = commands.get(command) ?? { command, runs: 0, failures: 0, evidence: [] }
      commands.set(command, known)
      known.runs++
      if (verdict !== 'failed') continue
      known.failures++
      if (known.evidence.length < EVIDENCE) known.evidence.push(pointTo(uid, seqs))
    }
  }
  for (const { uid, digest } of ended)
    for (const { command, seqs } of digest.tests) {
      const known = commands.get(command)
      if (known?.evidence.length === 0) known.evidence.push(pointTo(uid, seqs))
    }
  return [...commands.values()].sort((a, b) => b.failures - a.failures || b.runs - a.runs).slice(0, SHOWN)
}

export function decisionsOf(handle: Reader, scope: Scope): RetroReport['decisions'] {
  return handle.sessions
    .decisionsWhere(scope.filter)
    .filter(({ ts }) => Date.parse(ts) >= scope.sinceAt && Date.parse(ts) < scope.untilAt)
    .sort((a, b) => (a.ts < b.ts ? -1 : 1))
    .map(({ text, author, ts, session_uid, seq }) => ({ text, author, ts, at: pointTo(session_uid, [seq]) }))
}

export function infraOf(ended: readonly Ended[]): RetroReport['infra'] {
  return ended
    .filter((one) => !one.isSubagent && one.infraS > 0)
    .sort((a, b) => b.infraS - a.infraS)
    .slice(0, EVIDENCE)
    .map(({ uid, digest, infraS }) => ({
      session_uid: uid,
      share: digest.metrics.infra_overhead_share,
      infra_s: Math.round(infraS),
    }))
}
