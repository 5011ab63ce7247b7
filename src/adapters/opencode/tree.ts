// Before 1.2: a file for each session, a directory of messages for it, and a directory of parts for each message. What was
// moved into the database later has the same ids there, so nothing is told twice.
import { lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Item, Position } from '../adapter.ts'
import { jsonBeside, readDocument } from '../kit/document.ts'
import { fields, str, time } from '../kit/guards.ts'
import { hashOf } from '../kit/text.ts'
import { type Message, type StoredPart, tellSession } from './tell.ts'

const MAX_BYTES = 10 << 20

/** `path` is `<storage>/session/<project>/<id>.json`. */
export function readTree(flavor: string, path: string, from: Position | null): Iterable<Item> {
  const storage = dirname(dirname(dirname(path)))
  const id = basename(path, '.json')
  const messages = jsonFiles(join(storage, 'message', id))
  const partsOf = (message: string): string[] => jsonFiles(join(storage, 'part', basename(message, '.json')))
  const tell = (document: unknown): Iterable<Item> => {
    const { time: times, revert, parentID, ...session } = fields(document)
    const parent = str(parentID)
    return tellSession(
      flavor,
      {
        id,
        createdAt: time(fields(times)['created']),
        directory: str(session['directory']),
        title: str(session['title']),
        version: str(session['version']),
        parent: parent === undefined ? undefined : { id: parent, kind: 'subagent' },
        revertedFrom: str(fields(revert)['messageID']),
      },
      readMessages(messages, partsOf),
    )
  }
  const marks = messages.flatMap((message) => [message, ...partsOf(message)].map(markOf))
  return readDocument(path, from, tell, hashOf(marks))
}

function* readMessages(
  paths: readonly string[],
  partsOf: (message: string) => string[],
): Generator<Message | { gap: Item }> {
  for (const path of paths) {
    const { value, gaps } = jsonBeside(path, MAX_BYTES)
    for (const gap of gaps) yield { gap }
    yield { id: basename(path, '.json'), data: value, parts: readParts(partsOf(path)) }
  }
}

function* readParts(paths: readonly string[]): Generator<StoredPart> {
  for (const path of paths) {
    const { value, gaps } = jsonBeside(path, MAX_BYTES)
    for (const gap of gaps) yield { gap }
    if (gaps.length === 0) yield { id: basename(path, '.json'), data: value }
  }
}

/** In the order of their names, which is that of their making. */
function jsonFiles(directory: string): string[] {
  try {
    const names = readdirSync(directory).filter((name) => name.endsWith('.json'))
    return names.sort().map((name) => join(directory, name))
  } catch {
    return []
  }
}

function markOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats ? `${path} ${stats.size} ${stats.mtimeMs}` : path
}
