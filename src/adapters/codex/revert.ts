// A reverted thread goes on in a second file that names where in the first one it branched off. What the older files of
// the thread hold behind that point was taken back: their keys are looked up here, once, when the new file begins.
import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RecollectError } from '../../errors.ts'
import type { Item } from '../adapter.ts'
import { isRecord, num, str } from '../guards.ts'
import { readRecords } from './lines.ts'
import { claim, homeOf, rolloutName } from './paths.ts'
import type { Spot } from './state.ts'

interface Base {
  rollout: string
  endOrdinal: number
}

function baseOf(meta: unknown): Base | undefined {
  const base = isRecord(meta) ? meta['history_base'] : undefined
  const rollout = isRecord(base) ? str(base['thread_id']) : undefined
  const endOrdinal = isRecord(base) ? num(base['end_ordinal_exclusive']) : undefined
  return rollout !== undefined && endOrdinal !== undefined ? { rollout, endOrdinal } : undefined
}

export function supersedeReverted(spot: Spot): Item[] {
  const { segment } = spot
  const base = baseOf(spot.payload)
  if (!segment || !base) return []
  const older = olderFiles(spot.path, spot.session, segment)
  const visible = visibleEnds(base, older)
  const keys = older.flatMap((file) => {
    const suffix = file.segment ? `@${file.segment}` : ''
    return ordinalsFrom(file.path, visible.get(file.segment ?? spot.session) ?? 0).flatMap((ordinal) => [
      `o${ordinal}${suffix}`,
      `o${ordinal}${suffix}/result`,
    ])
  })
  return keys.length > 0
    ? [{ type: 'supersede', session: spot.session, keys, reason: 'thread reverted' }]
    : []
}

interface ThreadFile {
  path: string
  segment: string | undefined
}

/** The thread's files before this one. Segment ids are version 7 uuids: their order is that of time. */
function olderFiles(path: string, thread: string, segment: string): ThreadFile[] {
  const home = homeOf(path)
  const folders = home ? [join(home, 'sessions'), join(home, 'archived_sessions')] : [dirname(path)]
  return folders
    .flatMap((folder) => rolloutsBelow(folder, thread))
    .map((file) => ({ path: file, segment: rolloutName(file).segment }))
    .filter((file) => file.path !== path && (file.segment === undefined || file.segment < segment))
}

function rolloutsBelow(directory: string, thread: string): string[] {
  let entries: ReturnType<typeof entriesOf>
  try {
    entries = entriesOf(directory)
  } catch {
    // The directory of a day may be gone by now; the rollouts in it are gone with it.
    return []
  }
  return entries.flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) return rolloutsBelow(path, thread)
    return entry.isFile() && entry.name.includes(thread) && claim(path, true) ? [path] : []
  })
}

const entriesOf = (directory: string) => readdirSync(directory, { withFileTypes: true })

/** For each file the new one builds on: the ordinal where what is still valid ends. */
function visibleEnds(first: Base, files: ThreadFile[]): Map<string, number> {
  const ends = new Map<string, number>()
  for (let base: Base | undefined = first; base && !ends.has(base.rollout); ) {
    const { rollout, endOrdinal }: Base = base
    ends.set(rollout, endOrdinal)
    const file = files.find((one) => (one.segment ?? rolloutName(one.path).thread) === rollout)
    base = undefined
    for (const record of file ? recordsOf(file.path) : []) {
      base = baseOf(record['payload'])
      break
    }
  }
  return ends
}

function ordinalsFrom(path: string, start: number): number[] {
  const ordinals: number[] = []
  for (const record of recordsOf(path)) {
    const ordinal = num(record['ordinal'])
    if (ordinal !== undefined && ordinal >= start) ordinals.push(ordinal)
  }
  return ordinals
}

/** An older file that is gone or unreadable tells nothing; that must not keep the new one from being read. */
function* recordsOf(path: string): Generator<Record<string, unknown>> {
  try {
    yield* readRecords(path)
  } catch (error) {
    if (!(error instanceof RecollectError)) throw error
  }
}
