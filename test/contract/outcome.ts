// What items add up to, however often and in whatever pieces they are told: as a store would keep them.
import type { Item } from '../../src/adapters/adapter.ts'

export interface Outcome {
  events: Record<string, unknown>
  usage: Record<string, unknown>
  facts: Record<string, Record<string, unknown>>
  superseded: string[]
  others: string[]
  gaps: string[]
}

export function outcome(items: readonly Item[]): Outcome {
  const events = new Map<string, unknown>()
  const usage = new Map<string, unknown>()
  const facts: Outcome['facts'] = {}
  const [superseded, repeated, others, gaps] = [0, 1, 2, 3].map(() => new Set<string>())
  /** In the order in which they were first told. */
  const order: string[] = []
  for (const item of items) {
    if (item.type === 'event') {
      const name = `${item.session} ${item.key}`
      if (!events.has(name)) order.push(name)
      events.set(name, item)
    } else if (item.type === 'usage') keepUsage(usage, item)
    else if (item.type === 'session') facts[item.session] = { ...facts[item.session], ...item }
    else if (item.type === 'supersede') {
      const since = order.indexOf(`${item.session} ${item.sinceKey}`)
      const range = item.sinceKey === undefined ? [] : order.slice(since)
      for (const name of [...(item.keys ?? []).map((key) => `${item.session} ${key}`), ...range])
        (item.isRepetition ? repeated : superseded)?.add(name)
    } else if (item.type === 'gap') {
      // An unfinished end is not news.
      if (!item.pending) gaps?.add(`${item.file ?? ''} ${item.offset} ${item.length} ${item.reason}`)
    } else if (item.type !== 'position') others?.add(JSON.stringify(item))
  }
  for (const name of repeated ?? []) events.delete(name)
  return {
    events: asRecord(events),
    usage: asRecord(usage),
    facts,
    superseded: [...(superseded ?? [])].filter((name) => events.has(name)).sort(),
    others: [...(others ?? [])].sort(),
    gaps: [...(gaps ?? [])].sort(),
  }
}

function keepUsage(usage: Map<string, unknown>, item: Extract<Item, { type: 'usage' }>): void {
  const name = `${item.session} ${item.id}`
  const known = usage.get(name) as typeof item | undefined
  if (item.isRepetition) usage.delete(name)
  else if (!known || item.isLatest || item.output >= known.output) usage.set(name, item)
}

const asRecord = (map: Map<string, unknown>): Record<string, unknown> =>
  JSON.parse(JSON.stringify(Object.fromEntries([...map].sort(([a], [b]) => (a < b ? -1 : 1))))) as Record<
    string,
    unknown
  >
