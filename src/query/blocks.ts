// Windows of five hours, in which some providers count what an account may use. Where an agent was told when its window
// ends, that is the window; elsewhere one is inferred: it begins with the hour of the first response after the one before.
import type { Reader } from '../store/reader/index.ts'
import type { LimitReading, SlotSum, UsageFilter } from '../store/reader/usage.ts'
import { latest } from '../store/session-row.ts'
import { SLOT_MS } from '../store/slots.ts'
import { costOf } from '../usage/cost.ts'
import { exactUsd } from '../usage/money.ts'
import type { PriceBook } from '../usage/prices.ts'

const HOUR = 3_600_000
const BLOCK_MS = 5 * HOUR
/** Of a window that is told, in minutes: some providers tell a little less than they mean. */
const IS_BLOCK = (minutes: number | null): boolean => minutes !== null && minutes > 270 && minutes < 330
/** The same end is told some minutes apart. */
const SAME_END_MS = 10 * 60_000

export interface UsageBlock {
  flavor: string
  started_at: string
  ends_at: string
  /** Nobody told when it begins and ends. */
  is_inferred: boolean
  is_running: boolean
  responses: number
  total_tokens: number
  /** Exact, as a decimal; null where nothing of it has a known price. */
  cost_usd: string | null
  unpriced_responses: number
  /** The highest that was told in it; null where nothing was. */
  used_percent: number | null
}

export interface BlocksQuestion extends Pick<UsageFilter, 'sinceAt' | 'untilAt' | 'flavor'> {
  prices: PriceBook
  /** Epoch milliseconds; the present by default. */
  now?: number
}

interface Span {
  startAt: number
  endAt: number
  usedPercent: number | null
  isInferred: boolean
}

/** Newest first. */
export function usageBlocks(handle: Reader, question: BlocksQuestion): UsageBlock[] {
  const { prices, now = Date.now(), ...filter } = question
  const changes = prices.changes(handle.usage.models())
  const flavors =
    filter.flavor === undefined
      ? handle.usage
          .slots({ by: 'flavor', offsets: [], filter, prices: changes })
          .map((one) => String(one.key))
      : [filter.flavor]
  const { sinceAt = 0, untilAt = Number.MAX_SAFE_INTEGER } = filter
  return [...new Set(flavors)]
    .flatMap((flavor) => {
      const used = handle.usage
        .slots({ by: 'slot', offsets: [], filter: { ...filter, flavor }, prices: changes })
        .filter((one) => one.slot >= 0)
        .sort((a, b) => a.slot - b.slot)
      const told = windowsOf(handle.usage.limits(sinceAt, untilAt, flavor))
      return [...spansOf(used, told)].map(([span, sums]) => toBlock(flavor, span, sums, prices, now))
    })
    .sort((a, b) => (a.started_at < b.started_at ? 1 : a.started_at > b.started_at ? -1 : 0))
}

function windowsOf(readings: readonly LimitReading[]): Span[] {
  const windows: Span[] = []
  for (const { resets_at: endAt, window_minutes, used_percent } of readings) {
    if (endAt === null || !IS_BLOCK(window_minutes)) continue
    const known = windows.find((one) => Math.abs(one.endAt - endAt) <= SAME_END_MS)
    if (known) known.usedPercent = latest(known.usedPercent, used_percent)
    else windows.push({ startAt: endAt - BLOCK_MS, endAt, usedPercent: used_percent, isInferred: false })
  }
  return windows
}

/** What was used, by the windows it falls into. */
function spansOf(used: readonly SlotSum[], told: readonly Span[]): Map<Span, SlotSum[]> {
  const spans = new Map<Span, SlotSum[]>()
  let inferred: Span | undefined
  for (const one of used) {
    const at = one.slot * SLOT_MS
    // A window may begin within a quarter of an hour: most of it counts.
    const middle = at + SLOT_MS / 2
    let span = told.find(({ startAt, endAt }) => startAt <= middle && middle < endAt)
    if (!span) {
      if (!inferred || at >= inferred.endAt) {
        const startAt = Math.floor(at / HOUR) * HOUR
        inferred = { startAt, endAt: startAt + BLOCK_MS, usedPercent: null, isInferred: true }
      }
      span = inferred
    }
    spans.set(span, [...(spans.get(span) ?? []), one])
  }
  return spans
}

function toBlock(
  flavor: string,
  { startAt, endAt, isInferred, usedPercent }: Span,
  sums: readonly SlotSum[],
  prices: PriceBook,
  now: number,
): UsageBlock {
  let cost: bigint | null = null
  let unpriced = 0
  for (const one of sums) {
    const rates = prices.rates(one.model, one.slot * SLOT_MS, one.promptOver)
    if (rates) cost = (cost ?? 0n) + costOf(one, rates)
    else unpriced += one.responses
  }
  const total = (of: (one: SlotSum) => number): number => sums.reduce((sum, one) => sum + of(one), 0)
  return {
    flavor,
    started_at: new Date(startAt).toISOString(),
    ends_at: new Date(endAt).toISOString(),
    is_inferred: isInferred,
    is_running: startAt <= now && now < endAt,
    responses: total((one) => one.responses),
    total_tokens: total(
      (one) => one.input + one.cacheRead + one.cacheWrite5m + one.cacheWrite1h + one.output,
    ),
    cost_usd: cost === null ? null : exactUsd(cost),
    unpriced_responses: unpriced,
    used_percent: usedPercent,
  }
}
