// OpenAI Codex CLI: rollouts from the single-JSON files of early 2025 to 0.166. The format is described in README.md.
import { basename } from 'node:path'
import type { Adapter, Item, Position } from '../adapter.ts'
import { endAtEnd } from './ending.ts'
import { readRollout } from './lines.ts'
import { readIndex } from './names.ts'
import { parserOf } from './parse.ts'
import { claim, FLAVOR, INDEX, roots } from './paths.ts'
import { forgetFiles } from './revert.ts'
import { newState, type State } from './state.ts'

export const codex: Adapter = {
  flavor: FLAVOR,
  version: 13,
  roots(env) {
    // A sweep asks for them first.
    forgetFiles()
    return roots(env)
  },
  claim,
  read: ({ path }, from) => (basename(path) === INDEX ? readIndex(path, from) : readThread(path, from)),
}

/** The present end of a file may be the end of a turn. */
function* readThread(path: string, from: Position | null): Generator<Item> {
  // It may have been read up to its end, and no further.
  let position = structuredClone(from)
  let isTorn = false
  for (const item of readRollout(path, from, newState, parserOf(path))) {
    if (item.type === 'position') position = item.position
    isTorn = item.type === 'gap' && item.pending === true
    yield item
  }
  const ended = isTorn || !position ? [] : endAtEnd(position.state as State)
  yield* ended
  if (position && ended.length > 0) yield { type: 'position', position }
}
