// `rate_limits`: how much of the account's allowance was used. They stand in each count of tokens, and change far less often.

import type { LimitItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import type { Spot } from './state.ts'

/** What is named without an id is the allowance for everything. */
const NO_ID = 'codex'
const MAX_LIMITS = 16
const MINUTE_MS = 60_000

export function limitItems(spot: Spot): LimitItem[] {
  const limits = spot.payload['rate_limits']
  // Copies tell what an account of another time had used.
  if (!isRecord(limits) || spot.inherited) return []
  const id = str(limits['limit_id']) ?? NO_ID
  const plan = str(limits['plan_type'])
  const found = [
    ...['primary', 'secondary'].flatMap((which) => windowOf(spot, `${id}:${which}`, limits[which])),
    ...creditsOf(spot, `${id}:credits`, limits['credits']),
  ]
  return found.map((item) => (plan ? { ...item, plan } : item)).filter((item) => isNews(spot, item))
}

function windowOf(spot: Spot, name: string, window: unknown): LimitItem[] {
  const used = isRecord(window) ? num(window['used_percent']) : undefined
  if (!isRecord(window) || used === undefined) return []
  const item: LimitItem = { type: 'limit', session: spot.session, name, at: spot.ts, usedPercent: used }
  const minutes = num(window['window_minutes'])
  if (minutes !== undefined) item.windowMinutes = minutes
  const resetsAt = resetOf(window, spot.ts)
  if (resetsAt !== undefined) item.resetsAt = resetsAt
  return [item]
}

/** Versions up to 0.46 say in how many seconds; that is another moment, by a second or two, each time. */
function resetOf(window: Record<string, unknown>, ts: number | null): number | undefined {
  const at = num(window['resets_at'])
  if (at !== undefined) return at * 1000
  const seconds = num(window['resets_in_seconds'])
  if (seconds === undefined || ts === null) return undefined
  return Math.round((ts + seconds * 1000) / MINUTE_MS) * MINUTE_MS
}

/** What was bought beyond the windows; an account without any is not told. */
function creditsOf(spot: Spot, name: string, credits: unknown): LimitItem[] {
  if (!isRecord(credits) || (credits['has_credits'] !== true && credits['unlimited'] !== true)) return []
  const left = credits['unlimited'] === true ? 'unlimited' : str(credits['balance'])
  if (left === undefined) return []
  return [{ type: 'limit', session: spot.session, name, at: spot.ts, usedPercent: null, left }]
}

/** Whether anything of it is other than when it was last told. */
function isNews({ state }: Spot, { at: _, session: __, name, ...told }: LimitItem): boolean {
  const text = JSON.stringify(told)
  const known = state.limits.find((one) => one[0] === name)
  if (known?.[1] === text) return false
  if (known) known[1] = text
  else remember(state.limits, [name, text], MAX_LIMITS)
  return true
}
