// What retention did or would do, as text and as JSON.
import type { RetentionEvent, RetentionReport } from '../retention/apply.ts'
import { stepJson } from '../retention/json.ts'
import type { Plan, Reason } from '../retention/plan.ts'
import { formatBytes, plural } from './format.ts'
import { tell } from './print.ts'

export const REASONS: Record<Reason | 'forgotten', string> = {
  age: 'analyzed, and in the cache for longer than raw_max_age_days',
  soft_cap: 'analyzed, and the cache was over raw_soft_cap_bytes',
  hard_cap: 'NOT analyzed: the cache was over raw_hard_cap_bytes',
  forgotten: 'forgotten on request',
}

/** On stderr, whatever stdout is used for. */
export function reportRetentionEvent(event: RetentionEvent): void {
  const size = formatBytes(event.bytes)
  const text: Record<RetentionEvent['name'], string> = {
    'session_memory.data_loss': `${event.sessionUid}: ${size} dropped before analysis, the hard cap left no other way`,
    'session_memory.over_hard_cap': `the raw cache is ${size} over its hard cap: what is left is pinned, or takes that much empty`,
    'session_memory.distilled_over_cap': `the durable memory is ${size} over distilled_cap_bytes: nothing was dropped, please review`,
  }
  tell(`warning: ${event.name}: ${text[event.name]}\n`)
}

export function retentionJson(report: RetentionReport): Record<string, unknown> {
  return {
    dry_run: false,
    steps: report.steps.map(stepJson),
    analyzed: report.analyzed,
    usage_before_bytes: report.usageBeforeBytes,
    usage_after_bytes: report.usageAfterBytes,
    distilled_bytes: report.distilledBytes,
    erased: report.isErased,
    events: report.events.map(({ name, sessionUid, bytes, at }) => ({
      name,
      session_uid: sessionUid,
      bytes,
      at: new Date(at).toISOString(),
    })),
  }
}

export function planLines(plan: Plan): string[] {
  const lines = plan.steps.map(
    (step) => `would evict ${step.uid}  ${formatBytes(step.bytes)}  ${REASONS[step.reason]}`,
  )
  for (const uid of plan.analyzeNow) lines.push(`would analyze ${uid} first, to be able to evict it`)
  lines.push(
    `raw cache ${formatBytes(plan.usageBeforeBytes)}, would be ${formatBytes(plan.usageAfterBytes)} after ${plural(plan.steps.length, 'eviction')}`,
  )
  if (plan.overDistilledCapBytes > 0)
    lines.push(`the durable memory is ${formatBytes(plan.overDistilledCapBytes)} over its cap: please review`)
  return lines
}

export function retentionLines(report: RetentionReport): string[] {
  const lines = [
    `evicted ${plural(report.steps.length, 'session')}, raw cache ${formatBytes(report.usageBeforeBytes)} → ${formatBytes(report.usageAfterBytes)}`,
  ]
  const lost = report.steps.filter((step) => step.reason === 'hard_cap')
  if (lost.length > 0) lines.push(`lost before analysis: ${lost.map((step) => step.uid).join(', ')}`)
  if (!report.isErased) lines.push('a reader held up erasing; the next sweep finishes it')
  return lines
}
