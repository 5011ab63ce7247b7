// Where reading of a source goes on, and what is carried over to there.
import type { Adapter, Position, Source } from '../adapters/adapter.ts'
import { type FileFacts, probes } from '../sources/identity.ts'
import type { Cursor } from '../store/batch.ts'

/** The reader's own carry-over, beside the adapter's. */
export interface Carry {
  adapter: unknown
  main: string | null
}

export function cursorOf(
  adapter: Adapter,
  source: Source,
  facts: FileFacts,
  position: Position,
  carry: Carry,
  generation: number,
): Cursor {
  return {
    path: source.path,
    flavor: adapter.flavor,
    adapterVersion: adapter.version,
    ...facts,
    ...probes(source.path, position.offset),
    offset: position.offset,
    state: JSON.stringify({ ...carry, adapter: position.state }),
    generation,
    sessionUid: carry.main,
    missingAt: null,
  }
}
