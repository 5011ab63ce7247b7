// Reads the small files beside a session whole, with a limit; a missing file is no error, a broken one is named.
import { existsSync } from 'node:fs'
import { type Beginning, readBeginning } from '../../files/reading.ts'
import type { GapItem } from '../adapter.ts'
import { jsonBeside } from '../kit/document.ts'

const JSON_LIMIT = 8 << 20

/** The beginning of a file whose loss is none: what matters of it stands in the session itself too. */
export function readable(path: string, limit: number): Beginning | undefined {
  try {
    return existsSync(path) ? readBeginning(path, limit) : undefined
  } catch {
    return undefined
  }
}

/** The object in a JSON file; undefined where there is none, or none yet. */
export function readJson(path: string, gaps: GapItem[]): Record<string, unknown> | undefined {
  const { value, gaps: found } = jsonBeside(path, JSON_LIMIT)
  gaps.push(...found)
  return Object.keys(value).length > 0 ? value : undefined
}
