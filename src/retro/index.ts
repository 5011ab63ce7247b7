// The account of a week (or any other days): what was done, what it cost, what kept failing and what mended it, against
// the same number of days before. From Tier 2 alone, so it is the same after eviction. A session belongs to the days it
// ended in; tokens and money to those of each response.

import { meant } from '../query/meant.ts'
import { dateOf, type TimeZone } from '../query/timezone.ts'
import { type UsageGroup, type UsageReport, usageReport } from '../query/usage.ts'
import type { FilterNames } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import type { PriceBook } from '../usage/prices.ts'
import { type Ended, endedSessions, failuresOf, type Scope, undigestedCount } from './gather.ts'
import { before, labelOf, type Period, startOf } from './period.ts'
import type { RetroReport, RetroShare, RetroTotals } from './report.ts'
import { dearestOf, decisionsOf, filesOf, infraOf, loopsOf, outcomesOf, signalsOf, testsOf } from './work.ts'

export interface RetroQuestion {
  period: Period
  zone: TimeZone
  prices: PriceBook
  flavor?: string
  repo?: FilterNames
  host?: FilterNames
  domain?: string
}

export function retroReport(handle: Reader, typed: RetroQuestion): RetroReport {
  const question = meant(handle, typed)
  const scope = scopeOf(question, question.period)
  const earlier = scopeOf(question, before(question.period))
  const ended = endedSessions(handle, scope)
  const usage = (group: UsageGroup, of = scope): UsageReport => usageOf(handle, question, of, group)
  const bySession = usage('session')
  const days = usage('day')
  return {
    period: { ...spanOf(scope), timezone: question.zone.name },
    previous: spanOf(earlier),
    prices: days.prices,
    totals: totalsOf(ended, days),
    previous_totals: totalsOf(endedSessions(handle, earlier), usage('day', earlier)),
    outcomes: outcomesOf(ended),
    days: daysOf(question, ended, days),
    flavors: sharesOf(ended, usage('flavor'), (one) => one.flavor),
    repos: sharesOf(ended, usage('repo'), (one) => one.repo),
    models: usage('model').rows.map(({ key, total_tokens, cost_usd }) => ({ key, total_tokens, cost_usd })),
    failures: failuresOf(handle, scope),
    loops: loopsOf(ended),
    signals: signalsOf(ended),
    dearest: dearestOf(handle, ended, bySession),
    files: filesOf(ended),
    tests: testsOf(ended),
    decisions: decisionsOf(handle, scope),
    infra: infraOf(ended),
    undigested: undigestedCount(handle, scope),
  }
}

function scopeOf({ zone, flavor, repo, host, domain }: RetroQuestion, period: Period): Scope {
  return {
    period,
    sinceAt: startOf(period.firstDay, zone),
    untilAt: startOf(period.endDay, zone),
    filter: {
      withSubagents: true,
      ...(flavor === undefined ? {} : { flavor }),
      ...(repo === undefined ? {} : { repo }),
      ...(host === undefined ? {} : { host }),
      ...(domain === undefined ? {} : { domain }),
    },
  }
}

function spanOf({ period, sinceAt, untilAt }: Scope): RetroReport['previous'] {
  return {
    since: new Date(sinceAt).toISOString(),
    until: new Date(untilAt).toISOString(),
    label: labelOf(period),
  }
}

function usageOf(handle: Reader, question: RetroQuestion, scope: Scope, group: UsageGroup): UsageReport {
  const { period: _, ...rest } = question
  return usageReport(handle, {
    ...rest,
    group,
    sinceAt: scope.sinceAt,
    untilAt: scope.untilAt,
  })
}

const sum = (all: readonly Ended[], pick: (one: Ended) => number): number =>
  all.reduce((total, one) => total + pick(one), 0)

function totalsOf(ended: readonly Ended[], { total }: UsageReport): RetroTotals {
  // A sub-agent works while its parent waits: its time is the parent's already.
  const main = ended.filter((one) => !one.isSubagent)
  return {
    sessions: main.length,
    subagents: ended.length - main.length,
    active_s: Math.round(sum(main, (one) => one.digest.metrics.active_s)),
    turns: sum(main, (one) => one.digest.metrics.turns),
    tool_calls: sum(ended, (one) => one.digest.metrics.tool_calls),
    errors: sum(ended, (one) => one.digest.markers.errors),
    retries: sum(ended, (one) => one.digest.markers.retries),
    interruptions: sum(main, (one) => one.digest.markers.interrupts),
    edits: sum(ended, (one) => one.digest.markers.edits),
    test_runs: sum(ended, (one) => one.digest.markers.test_runs),
    test_failures: sum(ended, (one) => one.digest.markers.test_failures),
    commits: sum(ended, (one) => one.digest.commits.length),
    infra_s: Math.round(sum(main, (one) => one.infraS)),
    total_tokens: total.total_tokens,
    cost_usd: total.cost_usd,
    unpriced_responses: total.unpriced_responses,
  }
}

function daysOf(
  { period, zone }: RetroQuestion,
  ended: readonly Ended[],
  usage: UsageReport,
): RetroReport['days'] {
  const spent = new Map(usage.rows.map((row) => [row.key, row]))
  return Array.from({ length: period.endDay - period.firstDay }, (_, at) => {
    const day = period.firstDay + at
    const here = ended.filter((one) => !one.isSubagent && zone.dayAt(one.endedAt) === day)
    const row = spent.get(dateOf(day))
    return {
      date: dateOf(day),
      sessions: here.length,
      active_s: Math.round(sum(here, (one) => one.digest.metrics.active_s)),
      total_tokens: row?.total_tokens ?? 0,
      cost_usd: row?.cost_usd ?? null,
    }
  })
}

function sharesOf(
  ended: readonly Ended[],
  usage: UsageReport,
  keyOf: (one: Ended) => string | null,
): RetroShare[] {
  const main = ended.filter((one) => !one.isSubagent)
  const keys = new Set([...usage.rows.map((row) => row.key), ...main.map(keyOf)])
  const spent = new Map(usage.rows.map((row) => [row.key, row]))
  return [...keys]
    .map((key) => {
      const here = main.filter((one) => keyOf(one) === key)
      return {
        key,
        sessions: here.length,
        active_s: Math.round(sum(here, (one) => one.digest.metrics.active_s)),
        total_tokens: spent.get(key)?.total_tokens ?? 0,
        cost_usd: spent.get(key)?.cost_usd ?? null,
      }
    })
    .sort((a, b) => b.active_s - a.active_s || b.total_tokens - a.total_tokens)
}
