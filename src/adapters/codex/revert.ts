// A reverted thread goes on in a second file that names where in the first one it branched off. What the older files of
// the thread hold behind that point was taken back. Both sides say so: a new file names the keys in the older ones when
// it begins, and an older file marks its own lines as it is read, so that it does not matter which is read first.

import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { RecollectError } from '../../errors.ts'
import { DAY } from '../../model.ts'
import type { Item, SweepMemo } from '../adapter.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import { readRecords } from './lines.ts'
import { claim, homeOf, rolloutName } from './paths.ts'
import { birthOf, type Spot } from './state.ts'

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

/** When a file of a reverted thread begins: the keys of what the others hold and newer ones do not build on. */
export function supersedeReverted(spot: Spot): Item[] {
  const { path, segment, session, memo } = spot
  if (!segment || !baseOf(spot.payload)) return []
  const { thread } = rolloutName(path)
  const keys = filesOf(path, thread, memo).flatMap((file) => {
    const end = file.path === path ? undefined : revertedFrom(file.path, thread, memo).from
    const suffix = file.segment ? `@${file.segment}` : ''
    const ordinals = end === undefined ? [] : ordinalsFrom(file.path, end)
    return ordinals.flatMap((ordinal) => [`o${ordinal}${suffix}`, `o${ordinal}${suffix}/result`])
  })
  return keys.length > 0 ? [{ type: 'supersede', session, keys }] : []
}

/** Of a line behind the point where a newer file branched off: what it says, and that it was taken back. */
export function takenBack(session: string, items: Item[]): Item[] {
  const keys = items.flatMap((item) => (item.type === 'event' ? [item.key] : []))
  return keys.length > 0 ? [...items, { type: 'supersede', session, keys }] : items
}

export interface Reverted {
  /** Newer files of the thread are there. */
  goesOnElsewhere: boolean
  /** The ordinal from which on they take back what this one says, as far as they tell. */
  from: number | undefined
}

export function revertedFrom(path: string, thread: string, memo: SweepMemo): Reverted {
  const { segment } = rolloutName(path)
  const files = filesOf(path, thread, memo)
  const reverted: Reverted = { goesOnElsewhere: false, from: undefined }
  for (const newer of files) {
    if (newer.path === path || newer.segment === undefined || !isOlder(segment, newer.segment)) continue
    reverted.goesOnElsewhere = true
    const end = visibleEnd(segment ?? thread, newer.path, thread, files)
    if (end !== undefined) reverted.from = Math.min(reverted.from ?? end, end)
  }
  return reverted
}

interface ThreadFile {
  path: string
  segment: string | undefined
}

/** Segment ids are version 7 uuids: their order is that of time. A thread's first file has none. */
const isOlder = (segment: string | undefined, than: string): boolean =>
  segment === undefined || segment < than

function foldersOf(path: string): string[] {
  const home = homeOf(path)
  return home ? [join(home, 'sessions'), join(home, 'archived_sessions')] : [dirname(path)]
}

/** Below `sessions` lie years, months and days: those before a day are passed over. */
function rolloutsBelow(directory: string, since: string, date = ''): ThreadFile[] {
  let entries: ReturnType<typeof entriesOf>
  try {
    entries = entriesOf(directory)
  } catch {
    // The directory of a day may be gone by now; the rollouts in it are gone with it.
    return []
  }
  return entries.flatMap((entry) => {
    const path = join(directory, entry.name)
    if (entry.isDirectory()) {
      const at = date === '' ? entry.name : `${date}/${entry.name}`
      const isBefore = /^\d{4}(?:\/\d\d){0,2}$/.test(at) && at < since.slice(0, at.length)
      return isBefore ? [] : rolloutsBelow(path, since, at)
    }
    return entry.isFile() && claim(path, true) ? [{ path, segment: rolloutName(path).segment }] : []
  })
}

const entriesOf = (directory: string) => readdirSync(directory, { withFileTypes: true })

interface Looked {
  /** Where the looking began. */
  since: string
  threads: Map<string, ThreadFile[]>
}

/** Looks no further back than the thread can go; the second time everywhere, because then old threads are read. */
function filesOf(path: string, thread: string, memo: SweepMemo): ThreadFile[] {
  /** The files of reverted threads of each home that was looked into. */
  const known = memo.get('codex threads', () => new Map<string, Looked>())
  const folders = foldersOf(path)
  const place = folders.join('\n')
  const since = dayBefore(thread)
  let found = known.get(place)
  if (!found || found.since > since) {
    const from = found ? '' : since
    found = { since: from, threads: revertedThreads(folders.flatMap((one) => rolloutsBelow(one, from))) }
    known.set(place, found)
  }
  return found.threads.get(thread) ?? []
}

/** `2026/11/15`: directories have local dates, ids the time. */
function dayBefore(thread: string): string {
  const born = birthOf(thread)
  return born === undefined ? '' : new Date(born - DAY).toISOString().slice(0, 10).replaceAll('-', '/')
}

function revertedThreads(files: ThreadFile[]): Map<string, ThreadFile[]> {
  const threads = new Map<string, ThreadFile[]>()
  const threadOf = (file: ThreadFile): string => rolloutName(file.path).thread
  for (const file of files) if (file.segment !== undefined) threads.set(threadOf(file), [])
  if (threads.size > 0) for (const file of files) threads.get(threadOf(file))?.push(file)
  return threads
}

/** The ordinal where what a newer file builds on ends in a rollout: 0 for nothing of it, undefined where a file in between is missing. */
function visibleEnd(rollout: string, newer: string, thread: string, files: ThreadFile[]): number | undefined {
  const passed = new Set<string>()
  for (let base = firstBase(newer); base && !passed.has(base.rollout); ) {
    if (base.rollout === rollout) return base.endOrdinal
    // What is older than the thread is the one it was forked from: it was reverted to before its own beginning.
    if (base.rollout <= thread) return 0
    passed.add(base.rollout)
    const { rollout: before }: Base = base
    const file = files.find((one) => one.segment === before)
    base = file ? firstBase(file.path) : undefined
  }
  return undefined
}

function firstBase(path: string): Base | undefined {
  for (const record of recordsOf(path)) return baseOf(record['payload'])
  return undefined
}

function ordinalsFrom(path: string, start: number): number[] {
  const ordinals: number[] = []
  for (const record of recordsOf(path)) {
    const ordinal = num(record['ordinal'])
    if (ordinal !== undefined && ordinal >= start) ordinals.push(ordinal)
  }
  return ordinals
}

/** A file that is gone or unreadable tells nothing; that must not keep the others from being read. */
function* recordsOf(path: string): Generator<Record<string, unknown>> {
  try {
    yield* readRecords(path)
  } catch (error) {
    if (!(error instanceof RecollectError)) throw error
  }
}
