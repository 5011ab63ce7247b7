import { type Item, type Position, readLines, type Source, type Tools } from '../kit/index.ts'
import { newSession, recordItems } from './session.ts'

const TOOLS: Tools = {
  bash: 'shell',
  edit: 'edit',
  find: 'search',
  grep: 'search',
  ls: 'read',
  read: 'read',
  write: 'edit',
}

export function read({ path }: Source, from: Position | null): Iterable<Item> {
  return readLines(
    path,
    from,
    () => newSession(path),
    (session, { record }) => recordItems(session, record, TOOLS),
  )
}
