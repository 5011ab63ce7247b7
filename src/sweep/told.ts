// What of an item goes into the body of its event.
import type { EventItem } from '../adapters/adapter.ts'
import type { Told } from '../event/body.ts'
import { isCallKind } from '../model.ts'

export function toldBy({ said, text, kind, act, original, made }: EventItem): Told {
  const { input, command, cwd, edits } = act ?? {}
  return {
    ...(said !== undefined
      ? { said }
      : text !== undefined && !act && !isCallKind(kind)
        ? { said: text }
        : {}),
    ...(input !== undefined && { input }),
    ...(command !== undefined && { command }),
    ...(cwd !== undefined && { cwd }),
    ...(edits !== undefined && { edits }),
    ...(original !== undefined && { original }),
    ...(made !== undefined && { made }),
  }
}
