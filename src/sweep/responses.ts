// What adapters tell of tokens and allowances, ready for the store; two states of one response, told on different lines,
// as one.
import type { LimitItem, UsageItem } from '../adapters/adapter.ts'
import type { PreparedLimit, PreparedUsage } from '../store/batch.ts'
import { idOf, timeOrNull, tokenCount, wholeOrNull } from './text.ts'

/** Foreign names, cleaned of secrets and cut. */
type Named = (text: string) => string

export function preparedUsage(
  item: UsageItem,
  sessionUid: string,
  name: Named,
  keyOf: (key: string) => Uint8Array,
): PreparedUsage {
  return {
    sessionUid,
    responseId: idOf(item.id),
    ts: timeOrNull(item.ts),
    model: item.model === null ? null : name(item.model),
    input: tokenCount(item.input),
    cacheRead: tokenCount(item.cacheRead),
    cacheWrite5m: tokenCount(item.cacheWrite5m),
    cacheWrite1h: tokenCount(item.cacheWrite1h),
    output: tokenCount(item.output),
    reasoning: tokenCount(item.reasoning),
    scope: item.scope,
    responses: tokenCount(item.responses ?? 1),
    isSidechain: item.isSidechain ?? false,
    isNested: item.nested ?? false,
    ...(item.isRepetition ? { isRepetition: true } : {}),
    ...(item.isLatest ? { isLatest: true } : {}),
    reportedCost: wholeOrNull(item.reportedCost),
    event: item.event === undefined ? null : keyOf(item.event),
  }
}

const MAX_MINUTES = 366 * 24 * 60

/** Nothing where it says neither when nor how much. */
export function preparedLimits(item: LimitItem, sessionUid: string, name: Named): PreparedLimit[] {
  const at = timeOrNull(item.at)
  const { usedPercent, left, windowMinutes = 0, plan } = item
  const isUsed = usedPercent !== null && Number.isFinite(usedPercent) && usedPercent >= 0
  if (at === null || (!isUsed && left === undefined)) return []
  const isWindow = Number.isInteger(windowMinutes) && windowMinutes > 0 && windowMinutes <= MAX_MINUTES
  return [
    {
      sessionUid,
      name: name(item.name),
      at,
      usedPercent: isUsed ? Math.round(usedPercent * 100) / 100 : null,
      left: left === undefined ? null : name(left),
      windowMinutes: isWindow ? windowMinutes : null,
      resetsAt: timeOrNull(item.resetsAt),
      plan: plan === undefined ? null : name(plan),
    },
  ]
}

export const laterState = (known: PreparedUsage, usage: PreparedUsage): PreparedUsage => ({
  ...(isGreater(usage, known) ? usage : known),
  ts: earlier(known.ts, usage.ts),
  model: usage.model ?? known.model,
  isSidechain: known.isSidechain && usage.isSidechain,
  reportedCost: usage.reportedCost ?? known.reportedCost,
  event: known.event ?? usage.event,
})

/** The same order as the ledger's: more output, then more input, is the later state of a response. */
const isGreater = (a: PreparedUsage, b: PreparedUsage): boolean =>
  a.output !== b.output ? a.output > b.output : a.input + a.cacheRead > b.input + b.cacheRead

const earlier = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? (a ?? b) : Math.min(a, b)
