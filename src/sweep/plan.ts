// What there is to read, and what has moved, gone or come back: a plan first, which `sweep --dry-run` shows; then the
// latter are written down at once.
import { lstatSync } from 'node:fs'
import type { Source } from '../adapters/adapter.ts'
import { errnoOf } from '../errors.ts'
import { discover, type Found } from '../sources/discover.ts'
import { type Change, changeOf, type FileFacts, factsOf, isUnchanged } from '../sources/identity.ts'
import { problemOf } from '../sources/problem.ts'
import { extraRoots } from '../sources/roots.ts'
import { discoverTouched, type Touched } from '../sources/touched.ts'
import type { Cursor, CursorMark } from '../store/batch.ts'
import type { Store } from '../store/store.ts'
import type { Gone } from './gone.ts'
import type { SweepOptions } from './index.ts'
import type { SweepReport } from './report.ts'
import type { ReadTask } from './tasks.ts'

export interface Task extends ReadTask {
  change: Change
  /** Bytes that are to be read. */
  bytes: number
}

/** What a sweep is about to do: nothing of it is written yet. */
interface Plan {
  tasks: Task[]
  /** From which path to which. */
  moved: Map<string, string>
  /** Sources that are there again, and those that are not there any more. */
  back: string[]
  lost: string[]
}

type Known = Pick<Store, 'cursors' | 'cursor'>

export function plan(
  known: Known,
  options: SweepOptions,
  scope: Scope,
  gone: Gone,
  report: SweepReport,
): Plan {
  const { found, marks } = look(known, options, scope, report)
  const here = new Set(found.map((one) => one.source.path))
  const absent = [...marks.values()].filter((one) => !here.has(one.path) && isInScope(one, options))
  const byFile = new Map(absent.map((one) => [fileId(one), one]))
  const { tasks, moved, back }: Omit<Plan, 'lost'> = { tasks: [], moved: new Map(), back: [] }
  for (const one of found) {
    const facts = attempt(one, report, () => factsOf(one.source))
    if (!facts) continue
    const { path, standIn } = one.source
    const mark = marks.get(path)
    if (mark && !options.full && isUnchanged(facts, mark, one.adapter.version)) {
      report.counts.unchanged++
      if (mark.missingAt !== null) back.push(path)
      continue
    }
    const old = mark ? undefined : byFile.get(fileId(facts))
    // A hard link is another name, not a move: both names are there.
    const isMoved = old && old.flavor === one.adapter.flavor && !moved.has(old.path) && isGone(old.path)
    if (isMoved) report.counts.moved++
    const before = isMoved ? old.path : !mark && standIn !== undefined && !moved.has(standIn) ? standIn : path
    const cursor = mark || before !== path ? known.cursor(before) : undefined
    if (cursor && before !== path) moved.set(before, path)
    const owned = one.source.isShared ? undefined : cursor && { ...cursor, path }
    const isSettled = (change: Change): boolean => gone.isSettled(owned, facts, change, options.full ?? false)
    const task = taskFor(one, facts, cursor && { ...cursor, path }, isSettled, options, report)
    if (cursor && cursor.missingAt !== null && task !== undefined) back.push(path)
    if (task) tasks.push(task)
  }
  const lost = absent
    .filter((one) => one.missingAt === null && !moved.has(one.path) && isGone(one.path))
    .map((one) => one.path)
  report.counts.missing = lost.length
  // By weeks: what grows old together then lies together, and goes at little cost. Within one as the paths have it, so that
  // a session is read before its sub-agents, whose files were written last a little earlier.
  tasks.sort((a, b) => weekOf(a.facts.modifiedAt) - weekOf(b.facts.modifiedAt) || byPath(a, b))
  return { tasks, moved, back, lost }
}

/** Not as directories are walked: `s/…` would come before `s.jsonl`. */
const byPath = (a: Task, b: Task): number => (a.source.path < b.source.path ? -1 : 1)

const weekOf = (time: number): number => Math.floor(time / (7 * 86_400_000))

/** Writes down what needs no reading: one row each. */
export function carryOut(store: Store, { tasks, moved, back, lost }: Plan, gone: Gone): void {
  for (const [from, to] of moved) store.moveSource(from, to)
  gone.noteTouched()
  gone.revive(tasks)
  if (back.length > 0) store.markMissing(back, null)
  if (lost.length > 0) store.markMissing(lost, Date.now())
}

/** Where to look: only where something happened, or everywhere and at what hooks named besides. */
export interface Scope extends Touched {
  isFull: boolean
}

/** The sources there are within the scope, and what is known of them. */
function look(
  known: Known,
  { adapters, env, config }: SweepOptions,
  scope: Scope,
  report: SweepReport,
): { found: Found[]; marks: Map<string, CursorMark> } {
  const more = extraRoots(config)
  const touched = discoverTouched(adapters, env, more, scope)
  const all = scope.isFull ? discover(adapters, env, more) : undefined
  report.roots = touched.roots
  report.problems.push(...(all?.problems ?? []), ...touched.problems)
  if (!all) return { found: touched.found, marks: known.cursors(touched.scope) }
  const marks = known.cursors()
  if (touched.found.length === 0) return { found: all.found, marks }
  const here = new Set(all.found.map((one) => one.source.path))
  const outside = touched.found.filter((one) => !here.has(one.source.path))
  return { found: [...all.found, ...outside], marks }
}

/** Null for nothing to do, undefined for a file that cannot be read. */
function taskFor(
  one: Found,
  facts: FileFacts,
  known: Cursor | undefined,
  isSettled: (change: Change) => boolean,
  options: SweepOptions,
  report: SweepReport,
): Task | null | undefined {
  const seen =
    options.full && known
      ? 'changed'
      : attempt(one, report, () => changeOf(facts, known, one.adapter.version))
  if (seen === undefined) return undefined
  const change = attempt(one, report, () => (isSettled(seen) ? 'unchanged' : seen))
  if (change === undefined) return undefined
  report.counts[change]++
  if (change === 'unchanged') return null
  const isResumed = change === 'appended'
  // What only a read that goes on needs is not handed around.
  const cursor = isResumed || !known ? known : { ...known, state: '' }
  const bytes = facts.size - (isResumed ? (cursor?.offset ?? 0) : 0)
  const source = known ? one.source : alone(one.source)
  return { ...one, source, facts, cursor, change, isResumed, bytes }
}

/** Of a session that is new nothing can have come from elsewhere. */
const alone = ({ standIn: _, ...source }: Source): Source => source

/** A file that cannot be looked at is named, and the sweep goes on. */
function attempt<T>(one: Found, report: SweepReport, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    report.problems.push(problemOf(error, one.source.path))
    return undefined
  }
}

/** Not found below the roots is not gone: they may have been others, or not readable this time. */
function isGone(path: string): boolean {
  try {
    lstatSync(path)
    return false
  } catch (error) {
    return errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR'
  }
}

/** A sweep of one flavor knows nothing about the files of another. */
function isInScope(cursor: CursorMark, options: SweepOptions): boolean {
  return options.adapters.some((adapter) => adapter.flavor === cursor.flavor)
}

const fileId = (file: { device: number; inode: number; bornAt: number }): string =>
  `${file.device}:${file.inode}:${file.bornAt}`
