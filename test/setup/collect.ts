// Runs an adapter over a directory tree as the sweep would, and merges the items the way the store does:
// events by (session, key), usage by response id with the greatest output, facts field by field.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type {
  Adapter,
  EdgeItem,
  EventItem,
  GapItem,
  Position,
  SessionItem,
  SupersedeItem,
  UsageItem,
} from '../../src/adapters/adapter.ts'

export interface CollectedSession {
  facts: Partial<SessionItem>
  events: EventItem[]
  superseded: Set<string>
  /** Told again by other events. */
  repeated: Set<string>
}

export interface Collected {
  sessions: Map<string, CollectedSession>
  usage: Map<string, UsageItem>
  edges: EdgeItem[]
  gaps: (GapItem & { path: string })[]
  unknown: Map<string, number>
  positions: Map<string, Position>
  /** Events in the order they were first seen, per source. */
  bySource: Map<string, EventItem[]>
  sourceCount: number
}

/** Every regular file below a directory, in a stable order. */
export function filesBelow(directory: string): string[] {
  const found: string[] = []
  for (const entry of readdirSync(directory, { withFileTypes: true }).sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )) {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) found.push(...filesBelow(path))
    else if (entry.isFile()) found.push(path)
  }
  return found
}

export function collect(adapter: Adapter, directory: string): Collected {
  const all = emptyCollection()
  for (const path of filesBelow(directory)) collectFile(adapter, path, null, all)
  return all
}

export function emptyCollection(): Collected {
  return {
    sessions: new Map(),
    usage: new Map(),
    edges: [],
    gaps: [],
    unknown: new Map(),
    positions: new Map(),
    bySource: new Map(),
    sourceCount: 0,
  }
}

export function collectFile(adapter: Adapter, path: string, from: Position | null, all: Collected): void {
  const source = adapter.claim(path)
  if (!source) return
  all.sourceCount++
  const session = (id: string): CollectedSession => {
    const known = all.sessions.get(id) ?? newSession()
    all.sessions.set(id, known)
    return known
  }
  const inSource = all.bySource.get(source.path) ?? []
  all.bySource.set(source.path, inSource)
  for (const item of adapter.read(source, from)) {
    if (item.type === 'event') {
      keep(session(item.session).events, item, inSource)
    } else if (item.type === 'usage') {
      const known = all.usage.get(item.id)
      if (item.isRepetition) all.usage.delete(item.id)
      else if (!known || item.output > known.output) all.usage.set(item.id, item)
    } else if (item.type === 'session') mergeFacts(session(item.session).facts, item)
    else if (item.type === 'edge') all.edges.push(item)
    else if (item.type === 'supersede') supersede(session(item.session), item, inSource)
    else if (item.type === 'gap') all.gaps.push({ ...item, path: source.path })
    else if (item.type === 'unknown') all.unknown.set(item.name, (all.unknown.get(item.name) ?? 0) + 1)
    else if (item.type === 'position') all.positions.set(source.path, structuredClone(item.position))
  }
}

const newSession = (): CollectedSession => ({
  facts: {},
  events: [],
  superseded: new Set(),
  repeated: new Set(),
})

/** An event that comes again from the same source replaces the first, in its place; one from another source does not. */
function keep(events: EventItem[], item: EventItem, inSource: EventItem[]): void {
  const same = (event: EventItem): boolean => event.key === item.key && event.session === item.session
  const seenAt = inSource.findIndex(same)
  const at = events.findIndex(same)
  if (at === -1) events.push(item)
  else if (seenAt !== -1) events[at] = item
  if (seenAt === -1) inSource.push(item)
  else inSource[seenAt] = item
}

function mergeFacts(known: Partial<SessionItem>, item: SessionItem): void {
  for (const [field, value] of Object.entries(item)) {
    if (value === undefined) continue
    if (field === 'title' && known.titleByPerson && !item.titleByPerson) continue
    if (field === 'startedAt' && known.startedAt !== undefined && known.startedAt <= (value as number))
      continue
    Object.assign(known, { [field]: value })
  }
}

function supersede(session: CollectedSession, item: SupersedeItem, inSource: EventItem[]): void {
  for (const key of item.keys ?? []) {
    session.superseded.add(key)
    if (item.isRepetition) session.repeated.add(key)
  }
  if (item.sinceKey === undefined) return
  const start = inSource.findIndex((event) => event.key === item.sinceKey && event.session === item.session)
  if (start === -1) throw new Error(`sinceKey ${item.sinceKey} was never seen in this source`)
  for (const event of inSource.slice(start))
    if (event.session === item.session) session.superseded.add(event.key)
}
