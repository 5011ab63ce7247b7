// What retention did or would do, as text and as JSON.
import type { RetentionEvent, RetentionReport } from '../retention/apply.ts'
import { BOUND_DAYS } from '../retention/clock.ts'
import type { ForgetPlan } from '../retention/forget.ts'
import { stepJson } from '../retention/json.ts'
import type { Reason, Step } from '../retention/plan.ts'
import type { TimedPlan } from '../retention/planning.ts'
import type { Reader } from '../store/reader/index.ts'
import { formatBytes, formatDay, plural } from './format.ts'
import { tell } from './print.ts'
import { oneLine } from './text.ts'

export const REASONS: Record<Reason | 'forgotten', string> = {
  age: 'analyzed, and its last event is older than raw_max_age_days',
  soft_cap: 'analyzed, and the cache was over raw_soft_cap_bytes',
  hard_cap: 'NOT analyzed: the cache was over raw_hard_cap_bytes',
  forgotten: 'forgotten on request',
}

const CLOCK = `the clock is more than ${BOUND_DAYS} days beyond the newest file and the last sweep`

/** On stderr, whatever stdout is used for. */
export function reportRetentionEvent(event: RetentionEvent): void {
  const size = formatBytes(event.bytes)
  const text: Record<RetentionEvent['name'], string> = {
    'session_memory.data_loss': `${event.sessionUid}: ${size} dropped before analysis, the hard cap left no other way`,
    'session_memory.over_hard_cap': `the raw cache is ${size} over its hard cap: what is left is pinned, or takes that much empty`,
    'session_memory.distilled_over_cap': `the durable memory is ${size} over distilled_cap_bytes: nothing was dropped, please review`,
    'session_memory.only_copies': `${size} of sessions whose agent's own file is gone have to go: nothing else is left, or sole_copies = "age" says so. They stay for a day unless the hard cap is passed; recollect evict --dry-run names them, recollect pin ID keeps one`,
    'session_memory.clock_ahead': `${size} would go by age, but ${CLOCK}: nothing goes by age`,
  }
  tell(`warning: ${event.name}: ${text[event.name]}\n`)
}

export function retentionJson(report: RetentionReport): Record<string, unknown> {
  return {
    dry_run: false,
    step_count: report.stepCount,
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

export function planLines(plan: TimedPlan, handle: Reader): string[] {
  const { nameOf } = handle.sessions
  const lines = plan.steps.flatMap(({ uid, bytes, reason, isSoleCopy }) => {
    const { title, lastAt } = nameOf(uid)
    const facts = [lastAt === null ? 'no date' : formatDay(lastAt), formatBytes(bytes)]
    if (isSoleCopy) facts.push('only copy')
    return [
      `would evict ${uid}  ${facts.join(', ')}${title === null ? '' : `  "${oneLine(title)}"`}`,
      `  ${REASONS[reason]}`,
    ]
  })
  for (const uid of plan.analyzeNow) lines.push(`would analyze ${uid} first, to be able to evict it`)
  lines.push(
    `raw cache ${formatBytes(plan.usageBeforeBytes)}, would be ${formatBytes(plan.usageAfterBytes)} after ${plural(plan.steps.length, 'eviction')}`,
  )
  const sole = plan.steps.filter((step) => step.isSoleCopy).length
  if (sole > 0)
    lines.push(
      `${sole === 1 ? '1 only copy' : `${sole} only copies`} among them: the agent's own file is gone; recollect pin ID keeps one`,
    )
  if (plan.heldByClockBytes > 0)
    lines.push(`${formatBytes(plan.heldByClockBytes)} would go by age, but ${CLOCK}: they stay`)
  if (plan.overDistilledCapBytes > 0)
    lines.push(`the durable memory is ${formatBytes(plan.overDistilledCapBytes)} over its cap: please review`)
  return lines
}

export function retentionLines(report: RetentionReport): string[] {
  const lines = [
    `evicted ${plural(report.stepCount, 'session')}, raw cache ${formatBytes(report.usageBeforeBytes)} → ${formatBytes(report.usageAfterBytes)}`,
  ]
  const named = (which: (step: Step) => boolean, count: number): string => {
    const uids = report.steps.filter(which).map((step) => step.uid)
    return [...uids, ...(count > uids.length ? [`and ${count - uids.length} more`] : [])].join(', ')
  }
  const { soleCopyCount, lostCount } = report
  if (soleCopyCount > 0)
    lines.push(`only copies among them: ${named((step) => step.isSoleCopy, soleCopyCount)}`)
  if (lostCount > 0)
    lines.push(`lost before analysis: ${named((step) => step.reason === 'hard_cap', lostCount)}`)
  if (!report.isErased) lines.push('a reader held up erasing; the next sweep finishes it')
  return lines
}

export function forgetLines(plan: ForgetPlan): string[] {
  const { uid, title, lastAt, eventCount, rawBytes, decisionCount, noteCount, sourcePath } = plan
  const beside = [counted(decisionCount, 'decision'), counted(noteCount, 'note')].join('')
  const facts = [lastAt === null ? 'no date' : formatDay(lastAt), plural(eventCount, 'event')]
  return [
    `would forget ${uid}  ${facts.join(', ')}${title === null ? '' : `  "${oneLine(title)}"`}`,
    `  raw: ${formatBytes(rawBytes)}; and its digest, tokens, lineage${beside}`,
    ...(plan.isPinned ? ['  it is pinned'] : []),
    plan.isSoleCopy
      ? "  only copy: the agent's own file is gone, and nothing brings it back"
      : `  the agent's own file stays${sourcePath === null ? '' : `: ${oneLine(sourcePath)}`}`,
  ]
}

const counted = (count: number, noun: string): string => (count > 0 ? `, ${plural(count, noun)}` : '')
