// Copies what agents left on another machine: only what is new, and never more than once at a time. What is removed there
// is removed here; the memory keeps what it read. A file that only grew is continued; any other that changed is fetched whole
// and put in its place when it has arrived, so that a sweep takes it for another file.
import { statfsSync } from 'node:fs'
import type { AnyAdapter } from '../adapters/adapter.ts'
import { RecollectError } from '../errors.ts'
import { addProblem, type Problem, type Problems, problemOf } from '../sources/problem.ts'
import { rootsOf } from '../sources/roots.ts'
import { Arrival } from './arrival.ts'
import { isPlain, type Mirror, sizeAt } from './mirror.ts'
import { type FileGroup, type Found, type Listed, selectFiles } from './select.ts'
import type { RemoteFile, RemoteShell } from './shell.ts'

export interface CopyReport extends Problems {
  copiedCount: number
  copiedBytes: number
}

/** Requests that are under way at a time: a far machine answers late, and then all at once. */
const AHEAD = 32
/** The last bytes of a copy, asked for again: if they are not the same, the file there is another one. */
const OVERLAP = 1024
/** What stays free on the disk. */
const RESERVE_BYTES = 256 << 20
const TRIES = 3
/** Of a log of SQLite: what changes when it is begun anew. */
const LOG_HEADER_BYTES = 32

export async function copyFiles(
  shell: RemoteShell,
  mirror: Mirror,
  adapters: readonly AnyAdapter[],
): Promise<CopyReport> {
  const report: CopyReport = { copiedCount: 0, copiedBytes: 0, problems: [], problemCount: 0 }
  const { files, databases, listed } = await look(shell, mirror, adapters, report)
  if (listed.every(({ state }) => state === 'absent')) return report
  removeGone(mirror, [...files, ...databases.flat()], listed)
  const wanted = files.filter((file) => !isCurrent(mirror, file))
  const due = databases.filter((all) => !all.every((file) => isCurrent(mirror, file)))
  checkRoom(mirror, [...wanted, ...due.flat()])
  for (const file of wanted)
    if (!isContinued(mirror, file) && sizeAt(mirror.placeOf(file.path)) === undefined)
      mirror.note(file, false)
  mirror.save()
  try {
    await copyAll(shell, mirror, wanted, report)
    for (const all of due) await copyDatabase(shell, mirror, all, report)
  } finally {
    mirror.save()
  }
  return report
}

type Looked = Omit<Found, 'companions'> & { listed: Listed[] }

async function look(
  shell: RemoteShell,
  mirror: Mirror,
  adapters: readonly AnyAdapter[],
  report: CopyReport,
): Promise<Looked> {
  const env = { HOME: mirror.placeOf(shell.home) }
  const roots = new Map<string, AnyAdapter[]>()
  for (const adapter of adapters)
    for (const place of rootsOf(adapter, env, {})) {
      const root = mirror.remoteOf(place)
      // An agent that names places elsewhere means this machine.
      if (root !== undefined) roots.set(root, [...(roots.get(root) ?? []), adapter])
    }
  const listed = await listAll(shell, mirror, [...roots.keys()], report)
  const isListed = (path: string): boolean => listed.some(({ root }) => `${path}/`.startsWith(`${root}/`))
  const { companions } = selectFiles(listed, roots, mirror)
  const more = await listAll(
    shell,
    mirror,
    companions.filter((path) => !isListed(path)),
    report,
  )
  // Once more, with what lies beside: the logs of a database belong to it.
  return { ...selectFiles(listed, roots, mirror, more), listed: [...listed, ...more] }
}

async function listAll(
  shell: RemoteShell,
  mirror: Mirror,
  roots: readonly string[],
  report: CopyReport,
): Promise<Listed[]> {
  const listed: Listed[] = []
  for (const root of roots.slice(0, AHEAD)) shell.ask(root)
  for (const [at, root] of roots.entries()) {
    const listing = await shell.listing()
    const next = roots[at + AHEAD]
    if (next !== undefined) shell.ask(next)
    const files = listing.files.filter(({ path }) => isPlain(path) && `${path}/`.startsWith(`${root}/`))
    const badNames = listing.badNames + listing.files.length - files.length
    if (badNames > 0) addProblem(report, badName(mirror.placeOf(root), badNames))
    if (listing.state === 'partly') addProblem(report, NOT_ALL(mirror.placeOf(root)))
    listed.push({ ...listing, files: files.filter(({ path }) => !mirror.isForgotten(path)), root })
  }
  return listed
}

const badName = (path: string, count: number): Problem => ({
  path,
  code: 'BAD_NAME',
  reason: `${count === 1 ? 'a name that' : `${count} names that`} cannot be asked for`,
  hint: 'rename them on that machine: no line breaks, letters in UTF-8',
})

const NOT_ALL = (path: string): Problem => ({
  path,
  code: 'NOT_READABLE',
  reason: 'some of it could not be listed on that machine',
  hint: 'look at owner and permissions there',
})

/** What was there and is not any more, as far as everything could be looked at. */
function removeGone(mirror: Mirror, files: readonly RemoteFile[], listed: Looked['listed']): void {
  const there = new Set(files.map(({ path }) => path))
  const isLookedAt = (path: string): boolean =>
    listed.some(({ root, state }) => state !== 'partly' && `${path}/`.startsWith(`${root}/`))
  for (const path of mirror.paths()) if (!there.has(path) && isLookedAt(path)) mirror.drop(path)
}

function isCurrent(mirror: Mirror, { path, size, inode, modified }: RemoteFile): boolean {
  const known = mirror.copyOf(path)
  return known?.inode === inode && known.modified === modified && sizeAt(mirror.placeOf(path)) === size
}

/** Whether what is here is, as far as is known, its beginning. */
function isContinued(mirror: Mirror, { path, size, inode }: RemoteFile): boolean {
  const known = mirror.copyOf(path)
  const here = sizeAt(mirror.placeOf(path))
  if (known?.inode !== inode || here === undefined) return false
  return here < size || (here === size && known.modified === '')
}

function checkRoom(mirror: Mirror, files: readonly RemoteFile[]): void {
  const bytes = files.reduce(
    (sum, file) =>
      sum + file.size - (isContinued(mirror, file) ? (sizeAt(mirror.placeOf(file.path)) ?? 0) : 0),
    0,
  )
  const { bavail, bsize } = statfsSync(mirror.directory)
  if (bytes + RESERVE_BYTES <= bavail * bsize) return
  throw new RecollectError('DISK_FULL', `there is no room for ${bytes} bytes of that machine`, {
    where: mirror.directory,
    hint: 'free some space, or name one agent with --flavor',
  })
}

interface Part {
  file: RemoteFile
  from: number
  length: number
  overlap: number
}

function partOf(mirror: Mirror, file: RemoteFile, isWhole = false): Part {
  const here = isContinued(mirror, file) && !isWhole ? (sizeAt(mirror.placeOf(file.path)) as number) : 0
  const overlap = Math.min(OVERLAP, here)
  const from = here - overlap
  return { file, from, length: file.size - from, overlap }
}

async function copyAll(
  shell: RemoteShell,
  mirror: Mirror,
  files: readonly RemoteFile[],
  report: CopyReport,
): Promise<void> {
  const parts = files.map((file) => partOf(mirror, file))
  const ask = (part: Part | undefined): void => {
    if (part) shell.askFor(part.file.path, part.from, part.length)
  }
  for (const part of parts.slice(0, AHEAD)) ask(part)
  const again: RemoteFile[] = []
  for (const [at, part] of parts.entries()) {
    const isTaken = await takePart(shell, mirror, part, report)
    ask(parts[at + AHEAD])
    if (!isTaken) again.push(part.file)
  }
  for (const file of again) {
    const part = partOf(mirror, file, true)
    ask(part)
    if (!(await takePart(shell, mirror, part, report)))
      addProblem(report, CHANGING(mirror.placeOf(file.path)))
  }
}

const CHANGING = (path: string): Problem => ({
  path,
  code: 'BUSY',
  reason: 'it changed, or went, while it was copied',
  hint: 'nothing is lost: the next sweep of that machine tries again',
})

/** False where what came is not what was asked for; the copy is then as before. */
async function takePart(
  shell: RemoteShell,
  mirror: Mirror,
  { file, from, length, overlap }: Part,
  report: CopyReport,
): Promise<boolean> {
  const place = mirror.placeOf(file.path)
  const options = { place, beside: mirror.arriving, size: from + overlap, overlap }
  const into = attempt(report, place, () => new Arrival(options))
  // What cannot be kept has to be taken off the line all the same.
  const isRight = await shell.receive(length, (bytes) => into?.take(bytes))
  if (!into) return true
  if (!isRight || into.isOther) {
    into.undo()
    return false
  }
  if (!attempt(report, place, () => into.finish(file.modified))) return true
  mirror.note(file, true)
  report.copiedCount++
  report.copiedBytes += length - overlap
  return true
}

/** What finds no place here is named, and the rest is copied all the same. */
function attempt<T>(report: CopyReport, place: string, work: () => T): T | undefined {
  try {
    return work()
  } catch (error) {
    addProblem(report, problemOf(error, place, 'cannot copy'))
    return undefined
  }
}

/**
 * A database is two files or three, which change under our hands: all of them are fetched whole, and used if the log was not
 * begun anew meanwhile (`sqlite/copy.ts` says why that is enough), or, without a log, if the main file is still the same.
 */
async function copyDatabase(
  shell: RemoteShell,
  mirror: Mirror,
  [main, ...logs]: FileGroup,
  report: CopyReport,
): Promise<void> {
  const all = [main, ...logs]
  const log = logs.find(({ path, size }) => path.endsWith('-wal') && size > 0)
  const watched = log
    ? { path: log.path, length: Math.min(log.size, LOG_HEADER_BYTES) }
    : { path: main.path, length: main.size }
  for (let tries = 0; tries < TRIES; tries++) {
    const arrivals = arrivalsOf(mirror, all, report)
    if (!arrivals) return
    const before = await shell.sumOf(watched.path, watched.length)
    for (const [at, { path, size }] of all.entries()) {
      const into = arrivals[at] as Arrival
      shell.askFor(path, 0, size)
      if (!(await shell.receive(size, (bytes) => into.take(bytes)))) into.isOther = true
    }
    if (
      arrivals.some(({ isOther }) => isOther) ||
      (await shell.sumOf(watched.path, watched.length)) !== before
    ) {
      for (const one of arrivals) one.undo()
      continue
    }
    // Its copy is of two minds until all of them are in place: until then it counts as not there.
    mirror.forgetCopy(all.map(({ path }) => path))
    for (const suffix of ['-wal', '-journal'])
      if (!logs.some(({ path }) => path === `${main.path}${suffix}`)) mirror.drop(`${main.path}${suffix}`)
    const isThere = arrivals.map((one, at) => {
      const { path, modified } = all[at] as RemoteFile
      return attempt(report, mirror.placeOf(path), () => one.finish(modified))
    })
    if (isThere.includes(undefined)) return
    for (const file of all) mirror.note(file, true)
    report.copiedCount += all.length
    report.copiedBytes += all.reduce((sum, { size }) => sum + size, 0)
    return
  }
  addProblem(report, CHANGING(mirror.placeOf(main.path)))
}

/** Undefined where one of them finds no place here. */
function arrivalsOf(mirror: Mirror, files: readonly RemoteFile[], report: CopyReport): Arrival[] | undefined {
  const arrivals: Arrival[] = []
  for (const [at, { path }] of files.entries()) {
    const place = mirror.placeOf(path)
    const options = { place, beside: `${mirror.arriving}-${at}`, isInPlace: at === 0 }
    const into = attempt(report, place, () => new Arrival(options))
    if (into) arrivals.push(into)
  }
  if (arrivals.length === files.length) return arrivals
  for (const one of arrivals) one.undo()
  return undefined
}
