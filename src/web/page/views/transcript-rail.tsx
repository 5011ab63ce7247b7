// A strip beside a transcript that shows where in all of it the hits, the errors and the prompts are.
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { setParams } from '../router.ts'
import type { Row } from './transcript-rows.ts'

const MAX_TICKS = 400

/** The row of each event of the session itself. */
export function useRowNumbers(rows: readonly Row[], uid: string): ReadonlyMap<number, number> {
  return useMemo(() => {
    const numbers = new Map<number, number>()
    for (const [index, row] of rows.entries()) {
      if (row.uid !== uid || row.agent) continue
      numbers.set(row.seq, index)
      if (row.answer > 0) numbers.set(row.answer, index)
    }
    return numbers
  }, [rows, uid])
}

/** For pointers only: keys and buttons lead to the same places. */
export function HitRail(props: {
  rows: readonly Row[]
  numbers: ReadonlyMap<number, number>
  hits: readonly number[]
  errors: ReadonlySet<number>
  current: number | undefined
}): JSX.Element | null {
  const { hits, errors, numbers, rows, current } = props
  // Scrolling draws the transcript with every frame, and this stays as it is.
  return useMemo(() => {
    const isFinding = hits.length > 0
    const seqs = isFinding ? hits : [...errors]
    if (seqs.length === 0 || rows.length === 0) return null
    const every = Math.ceil(seqs.length / MAX_TICKS)
    const shown = seqs.filter((seq, i) => i % every === 0 || seq === current)
    return (
      <div class="hit-rail" aria-hidden="true" data-ticks={seqs.length}>
        {shown.map((seq) => (
          <button
            type="button"
            tabIndex={-1}
            title={`${isFinding ? 'hit' : 'error'} at #${seq}`}
            class={`tick ${isFinding ? 'is-hit' : 'is-error'} ${seq === current ? 'is-here' : ''}`}
            style={{ top: `${((((numbers.get(seq) ?? 0) + 0.5) / rows.length) * 100).toFixed(2)}%` }}
            onClick={() => setParams({ seq: String(seq) }, { replace: true })}
          />
        ))}
      </div>
    )
  }, [hits, errors, numbers, rows, current])
}
