// What there is to read, and what has moved, gone or come back: a plan first, which `sweep --dry-run` shows; then the
// latter are written down at once. Very many sources are planned and read in slices: of a million files only so much is
// held at a time.

import { lstatSync } from 'node:fs'
import { sep } from 'node:path'
import type { Source } from '../adapters/adapter.ts'
import { errnoOf } from '../errors.ts'
import { DAY } from '../model.ts'
import { type Found, find, rootPaths } from '../sources/discover.ts'
import { type Change, changeOf, type FileFacts, factsOf, isUnchanged } from '../sources/identity.ts'
import { addProblem, problemOf } from '../sources/problem.ts'
import { extraRoots } from '../sources/roots.ts'
import { discoverTouched, type Touched } from '../sources/touched.ts'
import type { Cursor, CursorMark } from '../store/batch.ts'
import type { Reader } from '../store/reader/index.ts'
import type { Store } from '../store/store.ts'
import type { EvictedFilter } from './evicted-filter.ts'
import type { SweepOptions } from './index.ts'
import { newReport, type SweepReport } from './report.ts'
import type { ReadTask } from './tasks.ts'

export interface Task extends ReadTask {
  change: Change
  /** Bytes that are to be read. */
  bytes: number
}

/** What a sweep is about to do next: nothing of it is written yet. */
interface Plan {
  tasks: Task[]
  /** From which path to which. */
  moved: Map<string, string>
  /** Sources that are there again, and those that are not there any more. */
  back: string[]
  lost: string[]
}

type Known = Pick<Reader['sources'], 'mark' | 'marks' | 'marksOf' | 'cursor'>

/** Sources of a slice that there is something to do about. More than nearly anyone has: sessions whose files are in two slices are seen to only within one. */
const SLICE = 10_000

/** At least one, which may be empty; the last ones name what is gone. Each is to be carried out before the next is asked for. */
export function* plans(
  known: Known,
  options: SweepOptions,
  scope: Scope,
  evicted: EvictedFilter,
  report: SweepReport,
  slice = SLICE,
): Generator<Plan> {
  const { found, where } = look(options, scope, report)
  const marks = new Marks(known, where, 4 * slice)
  const planner = new Planner(known, marks, options, evicted, report)
  const again = (): Iterable<Found> => look(options, scope, newReport(true)).found
  // Where there is more to do than fits into a slice, the newest of all come first, whatever directories they lie in.
  let count = 0
  let since: number | undefined
  // By name: one that is written meanwhile is newer when it is come by again.
  const newest = new Set<string>()
  for (const one of found) {
    if (since === undefined) count++
    else if (changedAt(one) > since) newest.add(one.source.path)
    else continue
    planner.add(one)
    if (planner.size >= slice) since ??= newestSince(again(), slice)
  }
  for (const one of since === undefined ? [] : again()) {
    if (count-- > 0 || newest.has(one.source.path)) continue
    if (planner.size >= slice) {
      yield planner.take([])
      planner.forgetMoves()
    }
    planner.add(one)
  }
  let lost: string[] = []
  for (const { path, flavor, missingAt } of marks.unseen()) {
    // Not found below the roots is not gone: they may have been others, or not readable.
    if (missingAt !== null || !isInScope(flavor, options) || planner.isMoved(path) || !isGone(path)) continue
    report.counts.missing++
    lost.push(path)
    if (lost.length < slice) continue
    yield planner.take(lost)
    planner.forgetMoves()
    lost = []
  }
  yield planner.take(lost)
}

/** A time after which no more than so many sources changed. */
function newestSince(found: Iterable<Found>, most: number): number {
  const times: number[] = []
  for (const one of found) times.push(changedAt(one))
  return (
    Float64Array.from(times)
      .sort()
      .at(-most - 1) ?? 0
  )
}

/** One that cannot be looked at is as new as any: it has to be named. */
function changedAt({ source }: Found): number {
  try {
    return lstatSync(source.path).mtimeMs
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/**
 * What tells whether sources changed. Read in one go where a whole sweep looks at all of them anyway, if they are not too many;
 * those it then comes by are there.
 */
class Marks {
  readonly #known: Known
  readonly #where: string[] | undefined
  readonly #held: Map<string, CursorMark & { isSeen?: true }> | undefined

  constructor(known: Known, where: string[] | undefined, most: number) {
    this.#known = known
    this.#where = where
    if (where !== undefined) return
    const held = new Map<string, CursorMark>()
    for (const mark of known.marks()) {
      if (held.size === most) return
      held.set(mark.path, mark)
    }
    this.#held = held
  }

  of(path: string): CursorMark | undefined {
    return this.#held ? this.see(path) : this.#known.mark(path)
  }

  /** It is there, or known by another name. */
  see(path: string): CursorMark | undefined {
    const mark = this.#held?.get(path)
    if (mark) mark.isSeen = true
    return mark
  }

  /** Nothing is known by this name any more. */
  drop(path: string): void {
    this.#held?.delete(path)
  }

  /** Those that may be gone. */
  *unseen(): Generator<CursorMark> {
    if (!this.#held) yield* this.#known.marks(this.#where)
    else for (const mark of this.#held.values()) if (!mark.isSeen) yield mark
  }
}

class Planner {
  /** Paths that sources had before, as far as it is not written down. */
  readonly #moved = new Set<string>()
  readonly #known: Known
  readonly #marks: Marks
  readonly #options: SweepOptions
  readonly #evicted: EvictedFilter
  readonly #report: SweepReport
  #slice: Omit<Plan, 'lost'> = emptyPlan()

  constructor(
    known: Known,
    marks: Marks,
    options: SweepOptions,
    evicted: EvictedFilter,
    report: SweepReport,
  ) {
    this.#known = known
    this.#marks = marks
    this.#options = options
    this.#evicted = evicted
    this.#report = report
  }

  get size(): number {
    return this.#slice.tasks.length + this.#slice.back.length
  }

  take(lost: string[]): Plan {
    const plan = { ...this.#slice, lost }
    this.#slice = emptyPlan()
    // By days, the last first: a first sweep begins with what people ask for. What grows old together lies together, and goes
    // at little cost. Within a day as the paths have it, so that a session is read before its sub-agents.
    plan.tasks.sort((a, b) => dayOf(b.facts.modifiedAt) - dayOf(a.facts.modifiedAt) || byPath(a, b))
    return plan
  }

  add(one: Found): void {
    const facts = attempt(one, this.#report, () => factsOf(one.source))
    if (!facts) return
    const { path } = one.source
    const isAll = this.#options.full ?? false
    const mark = this.#marks.of(path)
    if (mark && !isAll && isUnchanged(facts, mark, one.adapter.version)) {
      this.#report.counts.unchanged++
      if (mark.missingAt !== null) this.#slice.back.push(path)
      return
    }
    const before = mark ? path : this.#nameBefore(one, facts)
    const cursor = mark || before !== path ? this.#known.cursor(before) : undefined
    if (cursor && before !== path) {
      this.#moved.add(before)
      this.#marks.see(before)
      this.#slice.moved.set(before, path)
    }
    const owned = one.source.isShared ? undefined : cursor && { ...cursor, path }
    const isSettled = (change: Change): boolean => this.#evicted.isSettled(owned, facts, change, isAll)
    const placed = { ...one, source: { ...one.source, ...this.#placeOf(one) } }
    const task = taskFor(placed, facts, cursor && { ...cursor, path }, isSettled, this.#options, this.#report)
    if (cursor && cursor.missingAt !== null && task !== undefined) this.#slice.back.push(path)
    if (task) this.#slice.tasks.push(task)
  }

  #placeOf({ adapter, source: { path, isDatabase } }: Found): Pick<Source, 'ownRoots'> {
    if (!isDatabase) return {}
    // The roots of another machine are none of this one's.
    if (this.#options.host) return { ownRoots: [] }
    const ownRoots = rootPaths([adapter], this.#options.env, {})
    const isOwn = ownRoots.some((root) => path === root || path.startsWith(root + sep))
    return isOwn ? {} : { ownRoots }
  }

  /** Of a source that is not known under its name: that of the file it was, or of what stood in for it. */
  #nameBefore({ adapter, source }: Found, facts: FileFacts): string {
    // A file that is there under its old name has a second one now: a hard link is another name, not a move.
    const old = this.#known
      .marksOf(facts)
      .findLast((mark) => mark.flavor === adapter.flavor && !this.isMoved(mark.path) && isGone(mark.path))
    if (old) {
      this.#report.counts.moved++
      return old.path
    }
    const { path, standIn } = source
    return standIn !== undefined && !this.isMoved(standIn) ? standIn : path
  }

  isMoved(path: string): boolean {
    return this.#moved.has(path)
  }

  /** What was carried out is not known under its old name any more. */
  forgetMoves(): void {
    for (const path of this.#moved) {
      if (this.#known.mark(path)) continue
      this.#moved.delete(path)
      this.#marks.drop(path)
    }
  }
}

const emptyPlan = (): Omit<Plan, 'lost'> => ({ tasks: [], moved: new Map(), back: [] })

/** Not as directories are walked: `s/…` would come before `s.jsonl`. */
const byPath = (a: Task, b: Task): number => (a.source.path < b.source.path ? -1 : 1)

const dayOf = (time: number): number => Math.floor(time / DAY)

/** Writes down what needs no reading: one row each. */
export function carryOut(
  { ingest }: Store,
  { tasks, moved, back, lost }: Plan,
  evicted: EvictedFilter,
): void {
  for (const [from, to] of moved) ingest.moveSource(from, to)
  evicted.noteTouched(ingest)
  evicted.revive(ingest, tasks)
  if (back.length > 0) ingest.markMissing(back, null)
  if (lost.length > 0) ingest.markMissing(lost, Date.now())
}

/** Where to look: only where something happened, or everywhere and at what hooks named besides. */
export interface Scope extends Touched {
  isFull: boolean
}

/** The sources there are within the scope, each when it is asked for, and what the scope is: undefined for everywhere. */
function look(
  { adapters, env, config, host }: SweepOptions,
  scope: Scope,
  report: SweepReport,
): { found: Iterable<Found>; where: string[] | undefined } {
  const more = host ? {} : extraRoots(config, adapters)
  const touched = discoverTouched(adapters, env, more, scope)
  for (const problem of touched.problems) addProblem(report, problem)
  report.problemCount += touched.problemCount - touched.problems.length
  if (scope.isFull)
    return { found: everywhere(touched.found, find(adapters, env, more, report)), where: undefined }
  report.roots = touched.roots
  return { found: touched.found, where: touched.scope }
}

/** What hooks named may lie outside the roots. */
function* everywhere(named: readonly Found[], all: Iterable<Found>): Generator<Found> {
  const outside = new Map(named.map((one) => [one.source.path, one]))
  for (const one of all) {
    outside.delete(one.source.path)
    yield one
  }
  yield* outside.values()
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
      : attempt(one, report, () => changeOf(facts, known, one.adapter.version, one.source.isDatabase))
  if (seen === undefined) return undefined
  const change = attempt(one, report, () => (isSettled(seen) ? 'unchanged' : seen))
  if (change === undefined) return undefined
  report.counts[change]++
  if (change === 'unchanged') return null
  const isResumed = change === 'appended'
  // What only a read that goes on needs is not handed around.
  const cursor = isResumed || !known ? known : { ...known, state: '' }
  const bytes = Math.max(0, facts.size - (isResumed ? (cursor?.offset ?? 0) : 0))
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
    addProblem(report, problemOf(error, one.source.path))
    return undefined
  }
}

function isGone(path: string): boolean {
  try {
    lstatSync(path)
    return false
  } catch (error) {
    return errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR'
  }
}

/** A sweep of one flavor knows nothing about the files of another. */
function isInScope(flavor: string, options: SweepOptions): boolean {
  return options.adapters.some((adapter) => adapter.flavor === flavor)
}
