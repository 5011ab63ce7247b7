// Whether a file is still the one we read, and where it has changed: by device, inode and time of birth, by size and
// time, and by hashes of its first bytes and of the bytes just before the cursor. A name alone proves nothing, and inodes
// are reused at once.
import { hash } from 'node:crypto'
import { closeSync, existsSync, lstatSync, readSync, type Stats } from 'node:fs'
import type { Source } from '../adapters/adapter.ts'
import { errnoOf, fromSystem } from '../errors.ts'
import { openForReading } from '../files/reading.ts'
import type { Cursor, CursorMark } from '../store/batch.ts'

export interface FileFacts {
  device: number
  inode: number
  bornAt: number
  size: number
  modifiedAt: number
  companions: string
}

/** `appended`: go on from the cursor. `changed`: read from the beginning; keys keep what is known from doubling. */
export type Change = 'unchanged' | 'new' | 'appended' | 'changed'

const PROBE_BYTES = 1024

/** Facts of a source's file, or undefined when it is gone. One `stat` for the file and one per companion. */
export function factsOf(source: Source): FileFacts | undefined {
  let stats: Stats
  try {
    stats = lstatSync(source.path)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw fromSystem(error, 'cannot look at file', source.path, 'read')
  }
  return {
    device: stats.dev,
    inode: stats.ino,
    bornAt: Math.trunc(stats.birthtimeMs),
    size: stats.size,
    modifiedAt: stats.mtimeMs,
    companions: marksOf(source),
  }
}

function marksOf({ companions = [], standIn }: Source): string {
  const marks = companions.map(companionMark)
  // Whether it is there, not how it grows: it may hold what the source in whose place it stood does not.
  if (standIn !== undefined && existsSync(standIn)) marks.push(standIn)
  return marks.join('\n')
}

function companionMark(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats ? `${path}\t${stats.size}\t${stats.mtimeMs}` : `${path}\t-`
}

/** Whether there is nothing to do, as far as times and sizes tell. */
export function isUnchanged(facts: FileFacts, mark: CursorMark, adapterVersion: number): boolean {
  return (
    mark.size === facts.size &&
    mark.modifiedAt === facts.modifiedAt &&
    mark.adapterVersion === adapterVersion &&
    isSameFile(facts, mark) &&
    mark.companions === facts.companions
  )
}

/** What happened to a source since its cursor was written. Opens the file only when something did. */
export function changeOf(
  facts: FileFacts,
  cursor: Cursor | undefined,
  adapterVersion: number,
  isDatabase = false,
): Change {
  if (!cursor) return 'new'
  if (isUnchanged(facts, cursor, adapterVersion)) return 'unchanged'
  if (cursor.adapterVersion !== adapterVersion || !isSameFile(facts, cursor)) return 'changed'
  if (isDatabase) return 'appended'
  // Same size, other time: rewritten in place, or only touched. Reading again is right in both cases.
  if (facts.size < cursor.offset || facts.size === cursor.size) return 'changed'
  return hasSameEnds(cursor) ? 'appended' : 'changed'
}

type Identity = Pick<FileFacts, 'device' | 'inode' | 'bornAt'>

export const isSameFile = (a: Identity, b: Identity): boolean =>
  a.device === b.device && a.inode === b.inode && a.bornAt === b.bornAt

/** Whether the bytes before the cursor look as they did. */
export function hasSameEnds(cursor: Cursor): boolean {
  const fd = openForReading(cursor.path)
  try {
    return (
      probe(fd, 0, cursor.headLength) === cursor.headHash && tailProbe(fd, cursor.offset) === cursor.tailHash
    )
  } finally {
    closeSync(fd)
  }
}

/** Hashes for the next cursor. */
export function probes(path: string, offset: number): Pick<Cursor, 'headHash' | 'headLength' | 'tailHash'> {
  const fd = openForReading(path)
  try {
    const headLength = Math.min(PROBE_BYTES, offset)
    return { headLength, headHash: probe(fd, 0, headLength), tailHash: tailProbe(fd, offset) }
  } finally {
    closeSync(fd)
  }
}

function tailProbe(fd: number, offset: number): string {
  const length = Math.min(PROBE_BYTES, offset)
  return probe(fd, offset - length, length)
}

function probe(fd: number, at: number, length: number): string {
  const bytes = Buffer.alloc(length)
  const count = length === 0 ? 0 : readSync(fd, bytes, 0, length, at)
  return hash('sha1', bytes.subarray(0, count), 'hex')
}
