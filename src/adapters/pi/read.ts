import { type Item, type Position, readLines, type Source, toolsBy } from '../kit/index.ts'
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
