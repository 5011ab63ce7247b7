// Codex says most things twice: as a response item (what the model sees) and as a notice (what the screen shows), in
// either order, and a kill can leave only the first. So the first of the two becomes the event, the second nothing.
import { shortHash } from '../kit/text.ts'
import type { State } from './state.ts'

export type Side = 'item' | 'notice'
type Speaker = 'user' | 'assistant' | 'reasoning'

const MAX_TWINS = 64

/** Whether this text has been told by the other side already; if not, it is remembered for the other side. */
export function isTold(state: State, side: Side, speaker: Speaker, text: string): boolean {
  const other: Side = side === 'item' ? 'notice' : 'item'
  const hash = shortHash(text)
  const at = state.twins.indexOf(`${speaker} ${other} ${hash}`)
  if (at !== -1) {
    state.twins.splice(at, 1)
    return true
  }
  if (speaker === 'user') {
    // The screen may show a prompt otherwise than the model sees it; a notice follows its item at once.
    if (side === 'notice' && takeUnmatchedPrompt(state)) return true
    // What is still unmatched when the next prompt comes was lost in a kill, and must not swallow a later equal text.
    state.twins = []
  }
  state.twins.push(`${speaker} ${side} ${hash}`)
  if (state.twins.length > MAX_TWINS) state.twins.shift()
  return false
}

function takeUnmatchedPrompt(state: State): boolean {
  const at = state.twins.findIndex((twin) => twin.startsWith('user item '))
  if (at === -1) return false
  state.twins.splice(at, 1)
  return true
}

/** The parts of a reasoning block told one by one on one side and together on the other. */
export function areTold(state: State, side: Side, parts: string[]): boolean {
  let allTold = parts.length > 0
  for (const part of parts) if (!isTold(state, side, 'reasoning', part)) allTold = false
  return allTold
}
