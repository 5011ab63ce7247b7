// Sessions by what they cost. Apart from the other orders, because prices are much to load.
import type { Session } from '../model.ts'
import type { ReadHandle } from '../store/store.ts'
import type { PriceBook } from '../usage/prices.ts'
import { type ListOptions, listUids, sessionsOf } from './sessions.ts'
import { TimeZone } from './timezone.ts'
import { usageReport } from './usage.ts'

/** Dearest first, each with its `cost.usd`; those without a known price last. */
export function listByCost(
  handle: Pick<ReadHandle, 'memory'>,
  prices: PriceBook,
  { sort: _, limit, ...filter }: ListOptions = {},
): Session[] {
  const { rows } = usageReport(handle, { group: 'session', zone: new TimeZone('UTC'), prices })
  const costs = new Map(rows.map((row, place) => [row.key ?? '', { place, usd: row.cost_usd }]))
  const place = (uid: string): number => costs.get(uid)?.place ?? Number.MAX_SAFE_INTEGER
  const uids = listUids(handle, filter).sort((a, b) => place(a) - place(b))
  return sessionsOf(handle, uids.slice(0, limit)).map((session) => ({
    ...session,
    cost: { ...session.cost, usd: costs.get(session.session_uid)?.usd ?? null },
  }))
}
