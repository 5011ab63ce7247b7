// What a session cost with the sub-agents it started, and theirs: those have sessions of their own, and prices of their own.
import type { Reader } from '../store/reader/index.ts'
import type { PriceBook } from '../usage/prices.ts'
import { TimeZone } from './timezone.ts'
import { usageReport } from './usage.ts'

export interface TreeCost {
  /** Itself, and all below it. */
  sessions: number
  total_tokens: number
  /** Exact, as a decimal; null where nothing of it has a known price. */
  cost_usd: string | null
  unpriced_responses: number
}

/** It and the sessions of its sub-agents, however deep. */
export function treeOf(handle: Reader, uid: string): string[] {
  const found = new Set([uid])
  for (const one of found) for (const child of handle.lineage.subagents(one)) found.add(child.uid)
  return [...found]
}

/** Null for a session without sub-agents of their own: what it cost is all there is. */
export function treeCost(handle: Reader, prices: PriceBook, uid: string): TreeCost | null {
  const sessions = treeOf(handle, uid)
  if (sessions.length === 1) return null
  const { total } = usageReport(handle, { group: 'session', zone: new TimeZone('UTC'), prices, sessions })
  const { total_tokens, cost_usd, unpriced_responses } = total
  return { sessions: sessions.length, total_tokens, cost_usd, unpriced_responses }
}

/** What a session cost, alone and with its sub-agents. */
export interface SessionPrice {
  /** Of the session alone, exact, as a decimal; null where nothing of it has a known price. */
  cost_usd: string | null
  unpriced_responses: number
  tree: TreeCost | null
}

export function sessionPrice(handle: Reader, prices: PriceBook, uid: string): SessionPrice {
  const { total } = usageReport(handle, {
    group: 'session',
    zone: new TimeZone('UTC'),
    prices,
    sessions: [uid],
  })
  const { cost_usd, unpriced_responses } = total
  return { cost_usd, unpriced_responses, tree: treeCost(handle, prices, uid) }
}
