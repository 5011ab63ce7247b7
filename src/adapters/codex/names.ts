// session_index.jsonl: the names people gave to threads, one file for all of them, appended to at each renaming. It is a
// source of its own, so that a new name is seen where no rollout changed; a rollout read for the first time looks
// its name up, because the index may have been read before there was such a session.
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { RecollectError } from '../../errors.ts'
import { readJsonl } from '../../files/jsonl.ts'
import type { Item, Position, SweepMemo } from '../adapter.ts'
import { str } from '../kit/guards.ts'
import { readLines } from '../kit/lines.ts'
import { homeOf, INDEX } from './paths.ts'

type Entry = [thread: string, name: string]

/** An empty name takes back the one before. */
function entryOf(record: Record<string, unknown>): Entry | undefined {
  const thread = str(record['id'])
  const name = str(record['thread_name'])
  return thread && name !== undefined ? [thread, name.trim()] : undefined
}

export function readIndex(path: string, from: Position | null): Generator<Item> {
  return readLines(
    path,
    from,
    () => ({}),
    (_, { record }): Item[] => {
      const entry = entryOf(record)
      if (!entry) return [{ type: 'unknown', name: INDEX }]
      return [{ type: 'title', session: entry[0], title: entry[1] || null }]
    },
  )
}

/** The index last looked into. */
interface Looked {
  known?: { path: string; mark: string; names: Map<string, string> }
}

/** The latest name of a thread, undefined where it has none. */
export function threadName(rollout: string, thread: string, memo: SweepMemo): string | undefined {
  const home = homeOf(rollout)
  if (home === undefined) return undefined
  const path = join(home, INDEX)
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (!stats) return undefined
  const index = memo.get<Looked>('codex names', () => ({}))
  const mark = `${stats.ino} ${stats.size} ${stats.mtimeMs}`
  if (index.known?.path !== path || index.known.mark !== mark)
    index.known = { path, mark, names: namesIn(path) }
  return index.known.names.get(thread) || undefined
}

function namesIn(path: string): Map<string, string> {
  const names = new Map<string, string>()
  try {
    for (const item of readJsonl(path)) {
      const entry = 'record' in item ? entryOf(item.record) : undefined
      if (entry) names.set(...entry)
    }
  } catch (error) {
    // What cannot be read is named when it is read as a source.
    if (!(error instanceof RecollectError)) throw error
  }
  return names
}
