// Outlines of the session on screen and of the sub-agents that are open in it: all of each once, then only what was added.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Outline } from '../../query/outline.ts'
import { ask, changes, type Problem } from './api.ts'
import { joined } from './views/transcript-rows.ts'

export interface Outlines {
  outlines: ReadonlyMap<string, Outline>
  problem: Problem | undefined
}

/** The first is the one that has to be there. */
export function useOutlines(uids: readonly string[]): Outlines {
  const [state, setState] = useState<Outlines>({ outlines: new Map(), problem: undefined })
  const known = useRef(new Map<string, Outline>())
  const tick = changes.value
  useEffect(() => {
    let isCurrent = true
    for (const uid of uids) {
      const after = (known.current.get(uid)?.seq ?? []).reduce((last, seq) => Math.max(last, seq), 0)
      ask<Outline>(`sessions/${encodeURIComponent(uid)}/outline?after=${after}`).then(
        (more) => {
          if (!isCurrent) return
          const old = known.current.get(uid)
          known.current.set(uid, old ? joined(old, more) : more)
          setState({ outlines: new Map(known.current), problem: undefined })
        },
        (problem: Problem) => {
          if (!isCurrent || uid !== uids[0]) return
          setState(({ outlines }) => ({ outlines, problem: outlines.has(uid) ? undefined : problem }))
        },
      )
    }
    return () => {
      isCurrent = false
    }
  }, [uids.join(), tick])
  return state
}
