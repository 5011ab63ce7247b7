// What of an item goes into the body of its event.
import type { EventItem } from '../adapters/adapter.ts'
import type { Told } from '../event/body.ts'
import type { EventKind } from '../model.ts'

const CALLS: ReadonlySet<EventKind> = new Set(['tool_call', 'edit', 'test_run', 'retry'])

export function toldBy({ said, text, kind, act, original, made }: EventItem): Told {
  const { input, command, cwd, edits } = act ?? {}
  return {
    ...(said !== undefined ? { said } : text !== undefined && !act && !CALLS.has(kind) ? { said: text } : {}),
    ...(input !== undefined && { input }),
    ...(command !== undefined && { command }),
    ...(cwd !== undefined && { cwd }),
    ...(edits !== undefined && { edits }),
    ...(original !== undefined && { original }),
    ...(made !== undefined && { made }),
  }
}
