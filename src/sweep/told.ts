// What of an item goes into the body of its event.
import type { EventItem } from '../adapters/adapter.ts'
import type { Told } from '../event/body.ts'

export function toldBy({ said, act, original, made }: EventItem): Told {
  const { input, command, cwd, edits } = act ?? {}
  return {
    ...(said !== undefined && { said }),
    ...(input !== undefined && { input }),
    ...(command !== undefined && { command }),
    ...(cwd !== undefined && { cwd }),
    ...(edits !== undefined && { edits }),
    ...(original !== undefined && { original }),
    ...(made !== undefined && { made }),
  }
}
