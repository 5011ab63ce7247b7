// A plan as programs read it: what `evict --dry-run --json` prints and the page shows.

import { isoTime } from '../model.ts'
import type { Reader } from '../store/reader/index.ts'
import type { ForgetPlan } from './forget.ts'
import type { Step } from './plan.ts'
import type { TimedPlan } from './planning.ts'

export const stepJson = ({
  uid,
  reason,
  bytes,
  usageAfterBytes,
  isSoleCopy,
}: Step): Record<string, unknown> => ({
  session_uid: uid,
  reason,
  bytes,
  usage_after_bytes: usageAfterBytes,
  is_data_loss: reason === 'hard_cap',
  is_sole_copy: isSoleCopy,
})

export function planJson(
  plan: TimedPlan,
  handle: Reader,
): Record<string, unknown> & { steps: Record<string, unknown>[] } {
  return {
    dry_run: true,
    steps: plan.steps.map((step) => {
      const { title, lastAt } = handle.sessions.nameOf(step.uid)
      const last_at = isoTime(lastAt)
      return { ...stepJson(step), title, last_at }
    }),
    analyze_first: plan.analyzeNow,
    usage_before_bytes: plan.usageBeforeBytes,
    usage_after_bytes: plan.usageAfterBytes,
    over_soft_cap_bytes: plan.overSoftCapBytes,
    over_hard_cap_bytes: plan.overHardCapBytes,
    over_distilled_cap_bytes: plan.overDistilledCapBytes,
    held_by_clock_bytes: plan.heldByClockBytes,
  }
}

export interface ForgetDocument {
  title: string | null
  last_at: string | null
  events: number
  raw_bytes: number
  decisions: number
  notes: number
  is_pinned: boolean
  is_sole_copy: boolean
  source_path: string | null
}

export const forgetJson = (plan: ForgetPlan): ForgetDocument => ({
  title: plan.title,
  last_at: isoTime(plan.lastAt),
  events: plan.eventCount,
  raw_bytes: plan.rawBytes,
  decisions: plan.decisionCount,
  notes: plan.noteCount,
  is_pinned: plan.isPinned,
  is_sole_copy: plan.isSoleCopy,
  source_path: plan.sourcePath,
})
