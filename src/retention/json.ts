// A plan as programs read it: what `evict --dry-run --json` prints and the page shows.
import type { Plan, Step } from './plan.ts'

export const stepJson = ({ uid, reason, bytes, usageAfterBytes }: Step): Record<string, unknown> => ({
  session_uid: uid,
  reason,
  bytes,
  usage_after_bytes: usageAfterBytes,
  is_data_loss: reason === 'hard_cap',
})

export function planJson(plan: Plan): Record<string, unknown> {
  return {
    dry_run: true,
    steps: plan.steps.map(stepJson),
    analyze_first: plan.analyzeNow,
    usage_before_bytes: plan.usageBeforeBytes,
    usage_after_bytes: plan.usageAfterBytes,
    over_soft_cap_bytes: plan.overSoftCapBytes,
    over_hard_cap_bytes: plan.overHardCapBytes,
    over_distilled_cap_bytes: plan.overDistilledCapBytes,
  }
}
