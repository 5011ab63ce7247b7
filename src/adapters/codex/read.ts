// From a source to items: a rollout, or the index of names.
import { basename } from 'node:path'
import type { Item, Position, Source, SweepMemo } from '../adapter.ts'
import { newMemo } from '../kit/memo.ts'
import { endAtEnd } from './ending.ts'
import { readRollout } from './lines.ts'
import { readIndex } from './names.ts'
import { parserOf } from './parse.ts'
import { INDEX } from './paths.ts'
import { newState, type State } from './state.ts'

export const read = ({ path }: Source, from: Position | null, memo: SweepMemo = newMemo()): Iterable<Item> =>
  basename(path) === INDEX ? readIndex(path, from) : readThread(path, from, memo)

/** The present end of a file may be the end of a turn. */
function* readThread(path: string, from: Position | null, memo: SweepMemo): Generator<Item> {
  // It may have been read up to its end, and no further.
  let position = structuredClone(from)
  let isTorn = false
  for (const item of readRollout(path, from, newState, parserOf(path, memo))) {
    if (item.type === 'position') position = item.position
    isTorn = item.type === 'gap' && item.pending === true
    yield item
  }
  const ended = isTorn || !position ? [] : endAtEnd(position.state as State)
  yield* ended
  if (position && ended.length > 0) yield { type: 'position', position }
}
