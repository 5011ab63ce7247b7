// What sessions cost with their sub-agents, among the rows of a report.
import type { Reader } from '../store/reader/index.ts'
import { exactUsd, unitsOf } from '../usage/money.ts'

interface Row {
  key: string | null
  cost_usd: string | null
  tree_cost_usd: string | null
}

/** Told in the rows of sessions that started others. */
export function addTrees(handle: Reader, rows: readonly Row[]): void {
  const children = new Map<string, string[]>()
  for (const { uid, parent } of handle.lineage.subagentLinks())
    children.set(parent, [...(children.get(parent) ?? []), uid])
  if (children.size === 0) return
  const costs = new Map(rows.map((row) => [row.key, row.cost_usd]))
  for (const row of rows) {
    if (row.key === null || !children.has(row.key)) continue
    const below = new Set([row.key])
    for (const one of below) for (const child of children.get(one) ?? []) below.add(child)
    const known = [...below].flatMap((uid) => costs.get(uid) ?? [])
    row.tree_cost_usd =
      known.length === 0 ? null : exactUsd(known.reduce((sum, cost) => sum + unitsOf(cost), 0n))
  }
}
