// The first bytes of a file, for those who need no more of it.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { fromSystem } from '../errors.ts'
import { openForReading } from './jsonl.ts'

export interface Beginning {
  bytes: Buffer
  /** Of the whole file. */
  size: number
}

/** At most `limit` bytes of a regular file. */
export function readBeginning(path: string, limit: number): Beginning {
  const fd = openForReading(path)
  try {
    const { size } = fstatSync(fd)
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
