// Reads the small files beside a session whole, with a limit; a missing file is no error, a broken one is named.
import { existsSync } from 'node:fs'
import { type Beginning, readBeginning } from '../../files/reading.ts'
import type { GapItem } from '../adapter.ts'
import { nameOf, unreadable } from '../kit/companions.ts'
import { isRecord } from '../kit/guards.ts'

const JSON_LIMIT = 8 << 20

/** Undefined where there is none. */
const beginningOf = (path: string, limit: number): Beginning | undefined =>
  existsSync(path) ? readBeginning(path, limit) : undefined

/** The same for files whose loss is none: what matters of them stands in the session itself too. */
export function readable(path: string, limit: number): Beginning | undefined {
  try {
    return beginningOf(path, limit)
  } catch {
    return undefined
  }
}

/** The object in a JSON file. These are replaced as a whole, so a broken one may be whole at the next sweep. */
export function readJson(path: string, gaps: GapItem[]): Record<string, unknown> | undefined {
  let found: Beginning | undefined
  try {
    found = beginningOf(path, JSON_LIMIT)
  } catch (error) {
    gaps.push(unreadable(path, error))
  }
  if (!found) return undefined
  try {
    const value: unknown = JSON.parse(found.bytes.toString('utf8'))
    if (isRecord(value)) return value
  } catch {
    // Named below, together with JSON that is no object.
  }
  const detail = found.size > JSON_LIMIT ? 'too large' : 'no JSON object'
  gaps.push({
    type: 'gap',
    reason: 'companion',
    detail,
    file: nameOf(path),
    offset: 0,
    length: found.size,
    pending: true,
  })
  return undefined
}
