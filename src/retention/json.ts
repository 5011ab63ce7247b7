// A plan as programs read it: what `evict --dry-run --json` prints and the page shows.
import type { ReadHandle } from '../store/store.ts'
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

/** What a person knows a session by. */
export interface Named {
  /** Its title, or what was asked first; null where it has neither. */
  title: string | null
  /** Of its last event. */
  lastAt: number | null
}

export function namesOf({ memory }: Pick<ReadHandle, 'memory'>): (uid: string) => Named {
  const find = memory.prepare(
    `SELECT coalesce(nullif(s.title, ''), nullif(substr(d.digest ->> '$.first_prompt', 1, 200), '')) AS title,
       coalesce(s.ended_at, s.started_at) AS lastAt
     FROM sessions s LEFT JOIN digests d USING (session_uid) WHERE s.session_uid = ?`,
  )
  return (uid) => (find.get(uid) as Named | undefined) ?? { title: null, lastAt: null }
}

export function planJson(plan: TimedPlan, handle: Pick<ReadHandle, 'memory'>): Record<string, unknown> {
  const nameOf = namesOf(handle)
  return {
    dry_run: true,
    steps: plan.steps.map((step) => {
      const { title, lastAt } = nameOf(step.uid)
      const last_at = lastAt === null ? null : new Date(lastAt).toISOString()
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
