// What a retrospective says, as data: the shape of `recollect retro --json`. Every statement names the sessions, and
// where it can the events, it rests on.
import type { Outcome } from '../model.ts'

/** `uid#seq`, or `uid` for a session as a whole. */
export type Evidence = string

export interface RetroTotals {
  sessions: number
  /** Sub-agents with a session of their own. */
  subagents: number
  active_s: number
  turns: number
  tool_calls: number
  errors: number
  retries: number
  interruptions: number
  edits: number
  test_runs: number
  test_failures: number
  commits: number
  /** Active time times the share of calls that served the plumbing: an estimate. */
  infra_s: number
  total_tokens: number
  /** Exact, as a decimal; null when nothing has a known price. */
  cost_usd: string | null
  unpriced_responses: number
}

export interface RetroShare {
  key: string | null
  sessions: number
  active_s: number
  total_tokens: number
  cost_usd: string | null
}

export interface RetroFailure {
  fingerprint: string
  tool: string
  sample: string
  count: number
  sessions: number
  /** It was there before this period. */
  is_old: boolean
  evidence: Evidence[]
  /** What overcame it, the last time that happened in the period. */
  mended_by: { at: Evidence; steps: { at: Evidence; what: string }[] } | null
}

export interface RetroReport {
  period: { since: string; until: string; label: string; timezone: string }
  previous: { since: string; until: string; label: string }
  prices: { list: string; version: string; date: string }
  totals: RetroTotals
  previous_totals: RetroTotals
  outcomes: Record<Outcome, { count: number; evidence: Evidence[] }>
  days: { date: string; sessions: number; active_s: number; total_tokens: number; cost_usd: string | null }[]
  flavors: RetroShare[]
  repos: RetroShare[]
  models: { key: string | null; total_tokens: number; cost_usd: string | null }[]
  failures: RetroFailure[]
  loops: { subject: string; count: number; evidence: Evidence[] }[]
  signals: { signal: string; sessions: number; evidence: Evidence[] }[]
  dearest: {
    session_uid: string
    title: string
    repo: string | null
    outcome: Outcome
    active_s: number
    total_tokens: number
    cost_usd: string | null
  }[]
  files: { path: string; repo: string; edits: number; sessions: number; evidence: Evidence[] }[]
  tests: { command: string; runs: number; failures: number; evidence: Evidence[] }[]
  decisions: { text: string; author: string; ts: string; at: Evidence }[]
  /** Where the plumbing took most. */
  infra: { session_uid: string; share: number; infra_s: number }[]
  /** Sessions of the period that no digest tells of yet. */
  undigested: number
}
