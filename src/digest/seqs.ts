// Which events show something: how many there are, and of many the first and the last ones. Takes the same room
// however long a session gets.

export interface Seqs {
  count: number
  first: number[]
  last: number[]
}

const HALF = 6

export const noSeqs = (): Seqs => ({ count: 0, first: [], last: [] })

export function addSeq(seqs: Seqs, seq: number): void {
  seqs.count++
  if (seqs.first.length < HALF) {
    seqs.first.push(seq)
    return
  }
  seqs.last.push(seq)
  if (seqs.last.length > HALF) seqs.last.shift()
}

/** All of them, or the first and the last ones of many. */
export const cited = ({ first, last }: Seqs): number[] => [...first, ...last]

/** The same with one more. */
export function withSeq(seqs: Seqs, seq: number): Seqs {
  const more = { count: seqs.count, first: [...seqs.first], last: [...seqs.last] }
  addSeq(more, seq)
  return more
}

/** Of both, in order. */
export function joinedSeqs(a: Seqs, b: Seqs): Seqs {
  const joined = noSeqs()
  for (const seq of [...cited(a), ...cited(b)].sort((one, other) => one - other)) addSeq(joined, seq)
  return { ...joined, count: a.count + b.count }
}

/** `cited` for a list that is at hand whole. */
export function cite(all: readonly number[]): number[] {
  return all.length <= 2 * HALF ? [...all] : [...all.slice(0, HALF), ...all.slice(-HALF)]
}

/** Both, in the order of their numbers. */
export function joinSeqs(a: Seqs, b: Seqs): Seqs {
  const all = [...cited(a), ...cited(b)].sort((one, other) => one - other)
  const isAll = all.length <= 2 * HALF
  return {
    count: a.count + b.count,
    first: all.slice(0, HALF),
    last: isAll ? all.slice(HALF) : all.slice(-HALF),
  }
}
