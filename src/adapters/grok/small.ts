// Reads the small files beside a session whole, with a limit; a missing file is no error, a broken one is named.
import { closeSync, existsSync, fstatSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { fromSystem } from '../../errors.ts'
import { openForReading } from '../../files/jsonl.ts'
import type { GapItem } from '../adapter.ts'
import { isRecord } from '../guards.ts'

const JSON_LIMIT = 8 << 20

export interface Beginning {
  bytes: Buffer
  size: number
}

/** The first `limit` bytes of a file, or undefined where there is none. */
export function readBeginning(path: string, limit: number): Beginning | undefined {
  if (!existsSync(path)) return undefined
  const fd = openForReading(path)
  try {
    const size = fstatSync(fd).size
    const bytes = Buffer.alloc(Math.min(size, limit))
    let filled = 0
    while (filled < bytes.length) {
      const count = readSync(fd, bytes, filled, bytes.length - filled, filled)
      if (count === 0) break
      filled += count
    }
    return { bytes: bytes.subarray(0, filled), size }
  } catch (error) {
    throw fromSystem(error, 'cannot read file', path, 'read')
  } finally {
    closeSync(fd)
  }
}

/** The object in a JSON file. These are replaced as a whole, so a broken one may be whole at the next sweep. */
export function readJson(path: string, gaps: GapItem[]): Record<string, unknown> | undefined {
  const found = readBeginning(path, JSON_LIMIT)
  if (!found) return undefined
  try {
    const value: unknown = JSON.parse(found.bytes.toString('utf8'))
    if (isRecord(value)) return value
  } catch {
    // Named below, together with JSON that is no object.
  }
  const detail = `${basename(path)}: ${found.size > JSON_LIMIT ? 'too large' : 'no JSON object'}`
  gaps.push({ type: 'gap', reason: 'companion', detail, offset: 0, length: found.size, pending: true })
  return undefined
}
