// The order of the conversation, which everything that reads a session's events one after another goes by. Numbers are given
// in the order of reading and stay for good. Where several files tell one session, which of them was read first says
// nothing about what came first: their events are merged by time. Each file keeps its own order, also of what another file
// told as well, and nothing stands before the event it hangs on, so a clock that went back turns nothing around.

import { addTo } from '../lists.ts'
import { type Database, prepared } from './database.ts'
import type { Range } from './evicted-seqs.ts'

export interface Order {
  /** Whether it is that of the numbers, as it is of every session told by one file. */
  readonly isByNumber: boolean
  /** Places are the session's own numbers, handed out anew: from one place to another there are as many events as between such numbers. */
  placeOf(seq: number): number
  /** The seqs from one place to another, both included. Only where it is not by number. */
  seqs(fromPlace: number, toPlace: number): number[]
}

const BY_NUMBER: Order = { isByNumber: true, placeOf: (seq) => seq, seqs: () => [] }

type Row = [seq: number, ts: number | null, parentSeq: number | null]

/** What one file told, in its own order; several may have told the same event. */
interface Chain {
  rows: Row[]
  /** The time of each as far as the order goes: never before that of the one above it in the file. */
  times: number[]
  /** How many of them have their place. */
  done: number
}

export function orderOf(cache: Database, uid: string): Order {
  const row = prepared(cache, 'SELECT id FROM cached WHERE session_uid = ?').get(uid)
  return row === undefined ? BY_NUMBER : conversationOrder(cache, (row as { id: number }).id)
}

export function conversationOrder(cache: Database, session: number): Order {
  const files = prepared(cache, 'SELECT runs FROM source_sessions WHERE session = ? ORDER BY path').all(
    session,
  ) as unknown as { runs: string }[]
  if (files.length < 2) return BY_NUMBER
  const read = prepared(cache, 'SELECT seq, ts, parent_seq FROM events WHERE session = ? ORDER BY seq')
  read.setReturnArrays(true)
  const rows = read.all(session) as unknown as Row[]
  const order = merged(
    chainsOf(
      rows,
      files.map(({ runs }) => JSON.parse(runs) as Range[]),
    ),
  )
  const numbers = rows.map(([seq]) => seq)
  return order.every((seq, at) => seq === numbers[at]) ? BY_NUMBER : newOrder(numbers, order)
}

function newOrder(numbers: readonly number[], order: readonly number[]): Order {
  const places = new Map(order.map((seq, at) => [seq, numbers[at] as number]))
  return {
    isByNumber: false,
    placeOf: (seq) => places.get(seq) ?? seq,
    seqs(fromPlace, toPlace) {
      const from = numbers.findIndex((place) => place >= fromPlace)
      const end = numbers.findIndex((place) => place > toPlace)
      return from === -1 ? [] : order.slice(from, end === -1 ? undefined : end)
    },
  }
}

function chainsOf(rows: readonly Row[], files: readonly (readonly Range[])[]): Chain[] {
  const bySeq = new Map(rows.map((row) => [row[0], row]))
  const untold = new Set(bySeq.keys())
  const told = files.map((runs) =>
    runs.flatMap(([first, last]) => {
      const some: Row[] = []
      for (let seq = first; seq <= last; seq++) {
        const row = bySeq.get(seq)
        if (row) some.push(row)
        untold.delete(seq)
      }
      return some
    }),
  )
  // What a file no longer holds.
  const left = rows.filter(([seq]) => untold.has(seq))
  return [left, ...told]
    .filter((chain) => chain.length > 0)
    .map((chain) => ({ rows: chain, times: timesOf(chain), done: 0 }))
}

/** What has no time has that of the event before it in its file; what stands first has that of the next. */
function timesOf(rows: readonly Row[]): number[] {
  let latest = rows.find(([, ts]) => ts !== null)?.[1] ?? Number.NEGATIVE_INFINITY
  return rows.map(([, ts]) => {
    latest = Math.max(latest, ts ?? latest)
    return latest
  })
}

/**
 * Always the earliest that does not wait: for what stands above it in any file that told it, or for its parent, which only
 * others told. Files that wait for each other go by time alone; of equal times the file whose path comes first.
 */
function merged(chains: readonly Chain[]): number[] {
  const tellers = new Map<number, Chain[]>()
  for (const chain of chains) for (const [seq] of chain.rows) addTo(tellers, seq, chain)
  const placed = new Set<number>()
  const isWaiting = ([seq, , parent]: Row): boolean => {
    const own = tellers.get(seq) as Chain[]
    if (own.length > 1 && own.some((chain) => chain.rows[chain.done]?.[0] !== seq)) return true
    if (parent === null || placed.has(parent)) return false
    const others = tellers.get(parent)
    return others !== undefined && !others.some((chain) => own.includes(chain))
  }
  // The latest that any file says: it stands behind what is above it in each.
  const timeOf = ([seq]: Row): number =>
    Math.max(...(tellers.get(seq) as Chain[]).map((chain) => chain.times[chain.done] ?? 0))
  for (;;) {
    let first: Row | undefined
    let firstAt = Number.POSITIVE_INFINITY
    let isFree = false
    for (const chain of chains) {
      const head = chain.rows[chain.done]
      if (!head) continue
      const isHeadFree = !isWaiting(head)
      if (isFree && !isHeadFree) continue
      const at = isHeadFree ? timeOf(head) : (chain.times[chain.done] as number)
      if (first !== undefined && isHeadFree === isFree && at >= firstAt) continue
      first = head
      firstAt = at
      isFree = isHeadFree
    }
    if (first === undefined) return [...placed]
    placed.add(first[0])
    for (const chain of tellers.get(first[0]) as Chain[])
      while (placed.has(chain.rows[chain.done]?.[0] as number)) chain.done++
  }
}
