// Tokens. From 0.166 on one record per response says all; before that they are the differences of running totals,
// which are repeated, start anew on resume (0.45), and are overwritten when the context window overflows.
import type { Item, UsageItem } from '../adapter.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import { isImported } from './meta.ts'
import { birthOf, type Spot } from './state.ts'

/** [input, cached input, cache write, output, reasoning, total] as Codex counts: cached ⊂ input, reasoning ⊂ output. */
export type Totals = [number, number, number, number, number, number]

function totalsOf(value: unknown): Totals | undefined {
  if (!isRecord(value)) return undefined
  const count = (name: string): number => Math.max(0, num(value[name]) ?? 0)
  return [
    count('input_tokens'),
    count('cached_input_tokens'),
    count('cache_write_input_tokens'),
    count('output_tokens'),
    count('reasoning_output_tokens'),
    // Old records have no sum.
    num(value['total_tokens']) === undefined
      ? count('input_tokens') + count('output_tokens')
      : count('total_tokens'),
  ]
}

function usageAt(spot: Spot, owner: string, id: string, totals: Totals): UsageItem {
  const [input, cached, written, output, reasoning] = totals
  return {
    type: 'usage',
    session: owner,
    id,
    ts: spot.ts,
    model: spot.state.tier && spot.state.model ? `${spot.state.model}-${spot.state.tier}` : spot.state.model,
    input: Math.max(0, input - cached - written),
    cacheRead: cached,
    cacheWrite5m: written,
    cacheWrite1h: 0,
    output,
    reasoning,
    scope: 'response',
  }
}

/** Copied lines speak of an ancestor's tokens: of the youngest one that existed when the turn began. */
function ownerOf(spot: Spot): string {
  const { ancestors, turn } = spot.state
  if (!spot.inherited) return spot.session
  const born = birthOf(turn)
  const owner = born && ancestors.find((one) => (birthOf(one) ?? Number.POSITIVE_INFINITY) <= born)
  return owner || ancestors[0] || spot.session
}

/** `token_usage_record`: one response. */
export function usageRecord(spot: Spot): Item[] {
  const usage = totalsOf(spot.payload['usage'])
  const id = str(spot.payload['response_id'])
  if (!usage || !id) return []
  if (!spot.inherited) spot.state.isRecorded = true
  return [usageAt(spot, str(spot.payload['thread_id']) ?? ownerOf(spot), id, usage)]
}

/** `token_count`: a response if the running totals moved, else a repetition that says nothing new. */
export function tokenCount(spot: Spot): Item[] {
  const { state } = spot
  const info = spot.payload['info']
  const totals = isRecord(info) ? totalsOf(info['total_token_usage']) : undefined
  if (!isRecord(info) || !totals) {
    // 0.45 begins each process with an empty count, and then counts from nothing.
    if (info === null) beginAnew(spot)
    return []
  }
  const before = state.totals
  if (before && isSame(totals, before)) return []
  if (!before && !state.hasOutput && state.isContinued) {
    // A thread that goes on from another's past begins by repeating that one's latest count.
    state.totals = totals
    return []
  }
  const last = totalsOf(info['last_token_usage'])
  if (before && (totals[5] < before[5] || (last && isSame(totals, last)))) beginAnew(spot)
  const grown = state.totals?.map((count, at) => (totals[at] ?? 0) - count)
  state.totals = totals
  // Some versions copy the counts of a parent into its sub-agents, and not the records that it has of its responses.
  const isElsewhere = spot.inherited && (state.copyEnd !== null || isImported(state))
  if (isElsewhere) return []
  // Without a sound starting point the totals may hold somebody else's past.
  const usage = grown?.every((count) => count >= 0) ? (grown as Totals) : (last ?? totals)
  // An estimate after compaction, or the window size written over the totals: no response stands behind it.
  const told = last ?? usage
  if (told[0] === 0 && told[3] === 0) return []
  // The record of a response stands before its count; versions that write none may go on with the thread.
  const { isRecorded } = state
  state.isRecorded = false
  if (isRecorded) return []
  const owner = ownerOf(spot)
  return [usageAt(spot, owner, `codex:${owner}:${state.resets}:${totals[5]}`, usage)]
}

const isSame = (one: Totals, other: Totals): boolean => one.every((count, at) => count === other[at])

function beginAnew(spot: Spot): void {
  if (spot.state.totals === null) return
  spot.state.totals = null
  spot.state.resets++
}
