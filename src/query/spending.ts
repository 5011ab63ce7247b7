// What is being spent: by a session with its sub-agents, and today; and whether that is within what was set for it.
import type { Reader } from '../store/reader/index.ts'
import { exactUsd, shortUsd, unitsOf } from '../usage/money.ts'
import type { PriceBook } from '../usage/prices.ts'
import { TimeZone } from './timezone.ts'
import { treeOf } from './tree-cost.ts'
import { usageReport } from './usage.ts'

/** Exact decimals in USD, as of the last sweep; null where nothing has a known price. */
export interface Spending {
  /** Null without a session. */
  session_usd: string | null
  today_usd: string | null
}

export function spendingOf(handle: Reader, prices: PriceBook, uid: string | undefined): Spending {
  const zone = new TimeZone()
  const sinceAt = zone.dayTime('today', false)
  const today = usageReport(handle, {
    group: 'flavor',
    zone,
    prices,
    ...(sinceAt === undefined ? {} : { sinceAt }),
  })
  const session =
    uid === undefined
      ? undefined
      : usageReport(handle, { group: 'flavor', zone, prices, sessions: treeOf(handle, uid) })
  return { session_usd: session?.total.cost_usd ?? null, today_usd: today.total.cost_usd }
}

export interface Budget {
  /** In USD; 0 for none. */
  daily: number
  session: number
}

export interface BudgetState {
  of: 'daily' | 'session'
  spent_usd: string
  limit_usd: string
  /** Spent; else it is nearly. */
  is_over: boolean
}

const NEARLY = 0.8

/** The worst of what is spent or nearly spent; undefined where all is within. */
export function budgetState(spent: Spending, budget: Budget): BudgetState | undefined {
  const states = (['session', 'daily'] as const).flatMap((of) => {
    const usd = of === 'session' ? spent.session_usd : spent.today_usd
    const limit = unitsOf(String(budget[of]))
    if (limit === 0n || usd === null) return []
    const units = unitsOf(usd)
    if (Number(units) < Number(limit) * NEARLY) return []
    return [{ of, spent_usd: usd, limit_usd: exactUsd(limit), is_over: units >= limit }]
  })
  return states.find((one) => one.is_over) ?? states[0]
}

/** For whoever is warned or stopped: what, why, and what to do. */
export function budgetText({ of, spent_usd, limit_usd, is_over }: BudgetState, stops: boolean): string {
  const [spent, limit] = [spent_usd, limit_usd].map((usd) => shortUsd(unitsOf(usd)))
  const what = of === 'daily' ? 'all sessions of today' : 'this session with its sub-agents'
  const so = is_over ? 'over the' : 'nearly the'
  const end = is_over && stops ? ' Stopped: raise it there, or set budget.action = "warn".' : ''
  return `recollect: ${what} cost ${spent}, ${so} ${limit} of budget.${of} in config.toml (list prices, as of the last sweep).${end}`
}
