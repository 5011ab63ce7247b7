// The order of the conversation, which everything that reads a session's events one after another goes by. Numbers are given
// in the order of reading and stay for good. Where several files tell one session, which of them was read first says
// nothing about what came first: their events are merged by time. Each file keeps its own order, and nothing stands before
// the event it hangs on, so a clock that went back turns nothing around.
import { type Database, prepared } from './database.ts'

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
/** What stands above an event in its file, where another file told it first. */
type Above = ReadonlyMap<number, number>

/** What one file told, in its own order. */
interface Chain {
  path: string
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
  const stretches = prepared(
    cache,
    'SELECT first_seq AS firstSeq, path, after_seq AS afterSeq FROM stretches WHERE session = ? ORDER BY first_seq',
  ).all(session) as unknown as Stretch[]
  if (new Set(stretches.map(({ path }) => path)).size < 2) return BY_NUMBER
  const read = prepared(cache, 'SELECT seq, ts, parent_seq FROM events WHERE session = ? ORDER BY seq')
  read.setReturnArrays(true)
  const rows = read.all(session) as unknown as Row[]
  const above = new Map(
    stretches.flatMap(({ firstSeq, afterSeq }) => (afterSeq === null ? [] : [[firstSeq, afterSeq] as const])),
  )
  const order = merged(chainsOf(rows, stretches, above), above)
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

/** From a number on, those of a session were given to what one file told. */
interface Stretch {
  firstSeq: number
  path: string
  afterSeq: number | null
}

function chainsOf(rows: readonly Row[], stretches: readonly Stretch[], above: Above): Chain[] {
  const chains = new Map<string, Chain>()
  let at = -1
  for (const row of rows) {
    while ((stretches[at + 1]?.firstSeq ?? Number.POSITIVE_INFINITY) <= row[0]) at++
    // Before this was noted.
    const path = stretches[at]?.path ?? ''
    const chain = chains.get(path) ?? { path, rows: [], times: [], done: 0 }
    chains.set(path, chain)
    chain.rows.push(row)
  }
  const told = new Map(rows.map(([seq, ts]) => [seq, ts]))
  const timeAbove = (seq: number): number | null => told.get(above.get(seq) ?? -1) ?? null
  for (const chain of chains.values()) chain.times = timesOf(chain.rows, timeAbove)
  return [...chains.values()].sort((a, b) => (a.path < b.path ? -1 : 1))
}

/** What has no time has that of the event before it in its file; what stands first has that of the next. */
function timesOf(rows: readonly Row[], timeAbove: (seq: number) => number | null): number[] {
  const timeOf = ([seq, ts]: Row): number | null => ts ?? timeAbove(seq)
  let latest = rows.map(timeOf).find((time) => time !== null) ?? Number.NEGATIVE_INFINITY
  return rows.map((row) => {
    latest = Math.max(latest, timeAbove(row[0]) ?? latest, row[1] ?? latest)
    return latest
  })
}

/**
 * Always the earliest that does not wait for an event of another file, its parent or the one above it; files that wait for
 * each other go by time alone.
 */
function merged(chains: readonly Chain[], above: Above): number[] {
  const chainOf = new Map(chains.flatMap((chain) => chain.rows.map(([seq]) => [seq, chain] as const)))
  const placed = new Set<number>()
  const isWaiting = (chain: Chain): boolean => {
    const [seq, , parent] = chain.rows[chain.done] as Row
    return [parent, above.get(seq)].some((before) => {
      if (before === null || before === undefined || placed.has(before)) return false
      const other = chainOf.get(before)
      return other !== undefined && other !== chain
    })
  }
  const timeOf = ({ times, done }: Chain): number => times[done] ?? Number.POSITIVE_INFINITY
  for (;;) {
    let first: Chain | undefined
    let isFree = false
    for (const chain of chains) {
      if (chain.done === chain.rows.length) continue
      const isNext = first === undefined || timeOf(chain) < timeOf(first)
      if ((isFree && !isNext) || isWaiting(chain)) {
        if (!isFree && isNext) first = chain
        continue
      }
      if (!isFree || isNext) first = chain
      isFree = true
    }
    if (first === undefined) return [...placed]
    placed.add(first.rows[first.done]?.[0] as number)
    first.done++
  }
}
