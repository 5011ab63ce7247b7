// Whether a thread was gone on with by another process. A resume leaves no mark of its own, but `codex exec` runs one
// turn and ends: a second turn of such a thread was a resume, whoever made it. Told once, for the first time it happened.
import type { Item } from '../adapter.ts'
import { isRecord, str } from '../kit/guards.ts'
import type { Spot } from './state.ts'

/** At each prompt of a person. */
export function resumeAtPrompt(spot: Spot): Item[] {
  const { state } = spot
  if (spot.inherited || state.isSubagent) return []
  const isSecond = state.promptCount++ > 0
  return state.isExec && isSecond ? told(spot, 'second turn of `codex exec`') : []
}

/** At the begin of each turn; says who set it off since 0.166. */
export function resumeAtTurn(spot: Spot): Item[] {
  const { state } = spot
  if (spot.inherited || state.isSubagent) return []
  const by = spot.payload['turn_attribution']
  const isExec = isRecord(by) && str(by['turn_trigger']) === 'exec'
  return isExec && state.promptCount > 0 ? told(spot, 'later turn by `codex exec`') : []
}

function told({ state, session, ts }: Spot, evidence: string): Item[] {
  if (state.isResumed) return []
  state.isResumed = true
  return [{ type: 'edge', kind: 'resumed', session, parent: null, at: ts, evidence }]
}
