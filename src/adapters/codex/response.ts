// Which event shows the tokens of a response: the first one of it. A count stands behind its response (from 0.66 on), or
// between its first words and its calls (before), or behind the outputs of its calls too (0.145). No record but the count
// says where a response ends; but between two of them something came back: an output, a prompt.

import type { EventItem, Item, UsageItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import type { Spot } from './state.ts'

export interface ResponseState {
  /** Key of the first event of the response, until its count comes. */
  first: string | null
  /** That event shows a count that stood before it: the next one is of the same response only if nothing came back meanwhile. */
  hasTaken: boolean
  /** The count of the response came: what follows until something comes back is still of it. */
  isCounted: boolean
  /** Something came back: what the model says next is another response. */
  isOver: boolean
  /** Counts whose response is still to come. */
  waiting: UsageItem[]
}

export const newResponse = (): ResponseState => ({
  first: null,
  hasTaken: false,
  isCounted: false,
  isOver: false,
  waiting: [],
})

const MAX_WAITING = 8

/** The items of a record, with the tokens in them tied to an event; those that waited for it are told again. */
export function withTokensTied(spot: Spot, items: Item[]): Item[] {
  // Copies are counted where they come from.
  if (spot.inherited) return items
  return items.flatMap((item): Item[] => {
    if (item.type === 'usage') return [item.session === spot.session ? counted(spot, item) : item]
    return item.type === 'event' ? [item, ...said(spot, item)] : [item]
  })
}

function counted({ state: { response } }: Spot, usage: UsageItem): UsageItem {
  const { first } = response
  response.isCounted = true
  if (first === null || (response.hasTaken && response.isOver)) {
    remember(response.waiting, usage, MAX_WAITING)
    return usage
  }
  response.first = null
  response.hasTaken = false
  return { ...usage, event: first }
}

function said(spot: Spot, event: EventItem): UsageItem[] {
  const { response } = spot.state
  const isCompaction = spot.type === 'compacted' || spot.metadata['compaction_output'] === true
  if (!isCompaction && !isByModel(spot, event)) {
    if (event.role !== 'system' || spot.payload['role'] !== undefined) response.isOver = true
    return []
  }
  // The screen is told of words before they are counted, in all versions.
  const isNext = response.isOver || (response.isCounted && spot.type === 'event_msg')
  if (isNext || isCompaction) Object.assign(response, { ...newResponse(), waiting: response.waiting })
  const tied = response.waiting.map((usage) => ({ ...usage, event: event.key }))
  response.waiting = []
  if (tied.length > 0) response.hasTaken = true
  if (!response.isCounted) response.first ??= event.key
  // Its own count stands before it; a summary told as an answer comes before its count.
  if (spot.type === 'compacted') response.isOver = true
  return tied
}

/** What the client puts into the model's mouth (0.45). */
const BY_CLIENT = 'Compact task completed'

/** What a script did is told as calls too, and is nothing the model said. */
function isByModel({ type }: Spot, { role, tool, summary }: EventItem): boolean {
  if (role !== 'assistant') return false
  return type !== 'event_msg' || (tool === undefined && summary !== BY_CLIENT)
}
