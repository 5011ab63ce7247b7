import type { Item, Position, Source } from '../adapter.ts'
import { readLines } from '../kit/lines.ts'
import { toolsBy } from '../kit/tools.ts'
import { newSession, recordItems } from './session.ts'

const TOOLS = toolsBy({
  shell: 'bash',
  edit: 'edit write',
  read: 'ls read',
  search: 'find grep',
})

export function read({ path }: Source, from: Position | null): Iterable<Item> {
  return readLines(
    path,
    from,
    () => newSession(path),
    (session, { record }) => recordItems(session, record, TOOLS),
  )
}
