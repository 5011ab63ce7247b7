// Above a transcript: finding text in it, and what of it is shown.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Found } from '../../../query/find.ts'
import { type Problem, useAnswer } from '../api.ts'
import { count, plural } from '../format.ts'
import { useKeys } from '../keys.ts'
import { param, setParams } from '../router.ts'
import { placeLeft } from './transcript-place.ts'

export interface Find {
  query: string
  seqs: number[]
  /** Whether the answer to this query is here. */
  state: 'here' | 'looking' | 'failed'
  current: number | undefined
  move: (by: number) => void
}

export function useFind(uid: string): Find {
  const query = param('find') ?? ''
  const path =
    query.trim() === ''
      ? undefined
      : `sessions/${encodeURIComponent(uid)}/find?q=${encodeURIComponent(query)}`
  const { data, problem } = useAnswer<Found>(path).match<{ data?: Found; problem?: Problem }>({
    loading: () => ({}),
    failed: (problem) => ({ problem }),
    answered: (data) => ({ data }),
  })
  const [at, setAt] = useState(-1)
  const isAnswered = path === undefined || data?.query === query
  const seqs = path === undefined || data?.query !== query ? NONE : data.seqs
  const now = Number(param('seq'))
  const known = seqs.indexOf(now)
  /**
   * Asked to move before the answer was here: done when it comes. Who comes with words, as from a search, and to no place
   * comes for the first hit.
   */
  const waiting = useRef(query !== '' && param('seq') === undefined && !placeLeft() ? 1 : 0)
  const move = (by: number): void => {
    waiting.current = seqs.length === 0 ? by : 0
    if (seqs.length === 0) return
    const from = known === -1 ? (at === -1 && by > 0 ? -1 : Math.max(at, 0)) : known
    const next = (from + by + seqs.length) % seqs.length
    setAt(next)
    setParams({ seq: String(seqs[next]) }, { replace: true })
  }
  useEffect(() => {
    if (waiting.current !== 0 && seqs.length > 0) move(waiting.current)
  })
  const state = problem ? 'failed' : isAnswered ? 'here' : 'looking'
  return { query, seqs, state, current: known === -1 ? undefined : now, move }
}

const NONE: number[] = []

const SWITCHES = ['thinking', 'tools', 'housekeeping'] as const

function stateOf({ seqs, current, state }: Find): string {
  if (state === 'failed') return 'could not be asked'
  if (state === 'looking') return 'looking…'
  if (seqs.length === 0) return 'not found'
  return `${current === undefined ? '–' : seqs.indexOf(current) + 1} of ${count(seqs.length)}`
}

export function Toolbar(props: {
  shown: Record<(typeof SWITCHES)[number], boolean>
  find: Find
  total: number
  children: ComponentChildren
}): JSX.Element {
  const { find, shown } = props
  useKeys({
    '/': () => document.getElementById('find')?.focus(),
    n: () => find.move(1),
    N: () => find.move(-1),
  })
  return (
    <div class="toolbar">
      <input
        id="find"
        type="search"
        placeholder="Find in this session   ( / )"
        aria-label="find in this session"
        value={find.query}
        onInput={(event) => setParams({ find: event.currentTarget.value || undefined }, { replace: true })}
        onKeyDown={(event) => {
          if (event.key === 'Enter') find.move(event.shiftKey ? -1 : 1)
        }}
      />
      {find.query !== '' && (
        <span class="find-state" role="status">
          {stateOf(find)}
          <button type="button" class="quiet" onClick={() => find.move(-1)} aria-label="previous hit">
            ↑
          </button>
          <button type="button" class="quiet" onClick={() => find.move(1)} aria-label="next hit">
            ↓
          </button>
        </span>
      )}
      <fieldset class="switches">
        <legend class="visually-hidden">show</legend>
        {SWITCHES.map((name) => (
          <label>
            <input
              type="checkbox"
              checked={shown[name]}
              onChange={(event) => {
                const isOn = event.currentTarget.checked
                if (name === 'housekeeping') setParams({ all: isOn ? '1' : undefined }, { replace: true })
                else setParams({ [name]: isOn ? undefined : '0' }, { replace: true })
              }}
            />{' '}
            {name}
          </label>
        ))}
      </fieldset>
      <span class="muted">{plural(props.total, 'event')}</span>
      {props.children}
    </div>
  )
}
