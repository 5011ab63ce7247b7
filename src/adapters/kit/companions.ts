// The small files beside a session: what is told where one of them cannot be read.
import { basename, dirname, join } from 'node:path'
import { RecollectError } from '../../errors.ts'
import type { GapItem } from '../adapter.ts'

/** With its directory: every sub-agent has a meta.json. */
export const nameOf = (path: string): string => join(basename(dirname(path)), basename(path))

/** A companion that cannot be read (a pipe, a link, no permission) does not stop its session from being read. */
export function unreadable(path: string, error: unknown): GapItem {
  if (!(error instanceof RecollectError)) throw error
  const detail = `cannot be read: ${error.code}`
  return {
    type: 'gap',
    reason: 'companion',
    detail,
    file: nameOf(path),
    offset: 0,
    length: 0,
    pending: true,
  }
}
