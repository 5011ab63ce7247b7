// Digests and decisions as files, one each, for a hub to index. A file is written when it is new, changed or missing, and
// always whole; one that we wrote is removed once, when its session is forgotten or its decision taken back, and for no
// other reason: several memories may share a directory. What is to be written is noted in memory.db before the file, so that a kill leaves none that nobody
// would remove, and again after it: a kill in between makes it looked at once more.
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { syncDirectory } from '../files/directory.ts'
import { replaceFile } from '../files/replace.ts'
import { SCHEMA_VERSION } from '../model.ts'
import type { Notes, OutboxItem, ToldItem } from '../store/notes.ts'
import type { Reader } from '../store/reader/index.ts'

export interface FileChanges {
  written: number
  removed: number
  problems: RecollectError[]
}

const DIGEST = 'digest'
const MAX_SLUG = 80
/** A directory that refuses this often will refuse the rest as well. */
const MAX_FAILURES = 3
const HOUR = 3_600_000
/** Noted for a file that is about to be written: older than any digest. */
const NOT_YET = 0

/** Readable where possible, safe on every file system, and different for different uids. */
export function baseName(uid: string): string {
  const slug = uid.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_SLUG)
  return `${slug}.${createHash('sha256').update(uid).digest('hex').slice(0, 16)}`
}

const fileName = (uid: string, item: string): string =>
  `${baseName(uid)}.${item === DIGEST ? DIGEST : `decision-${item}`}.json`

type Told = Pick<Notes, 'reader' | 'outbox'>

export function syncFiles({ reader, outbox }: Told, directory: string): FileChanges {
  const changes: FileChanges = { written: 0, removed: 0, problems: [] }
  let names: string[]
  try {
    names = readdirSync(directory)
  } catch (cause) {
    changes.problems.push(unusable(cause, directory))
    return changes
  }
  removeGone({ reader, outbox }, directory, names, changes)
  removeLeftovers(directory, names)
  const there = new Set(names)
  const due = outbox
    .items()
    .filter(
      ({ session_uid, item, made_at, ...last }) =>
        last.directory !== directory ||
        last.written_at !== made_at ||
        !there.has(fileName(session_uid, item)),
    )
  outbox.noteWritten(
    directory,
    due.filter((item) => item.directory !== directory).map((item) => ({ ...item, made_at: NOT_YET })),
  )
  const done: OutboxItem[] = []
  for (const item of due) {
    const name = fileName(item.session_uid, item.item)
    if (changes.problems.length >= MAX_FAILURES) break
    try {
      if (put(join(directory, name), contentOf(reader, item))) changes.written++
      done.push(item)
    } catch (error) {
      changes.problems.push(fromSystem(error, 'cannot write a file for the hub', join(directory, name)))
    }
  }
  outbox.noteWritten(directory, done)
  return changes
}

function unusable(cause: unknown, directory: string): RecollectError {
  if (errnoOf(cause) !== 'ENOENT') return fromSystem(cause, 'cannot use hub.digests_dir', directory, 'read')
  return new RecollectError('NOT_FOUND', 'hub.digests_dir does not exist; no digest was written there', {
    where: directory,
    cause,
    hint: `mkdir -p ${directory} (or mount it); the next sweep writes what is missing`,
  })
}

function contentOf(reader: Reader, { session_uid: uid, item }: OutboxItem): string {
  if (item === DIGEST) return `${reader.digests.of(uid)}\n`
  const decision = reader.sessions.decisions([uid]).find((one) => one.id === item)
  return `${JSON.stringify({ ...decision, kind: 'decision', schema_version: SCHEMA_VERSION })}\n`
}

/** False when the file already says so: a digest made again is most often the same. */
function put(path: string, content: string): boolean {
  // Looked at first: reading a pipe that somebody put there would never end.
  const isFile = lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false
  if (isFile && readFileSync(path, 'utf8') === content) return false
  replaceFile(path, content, { tidy: false })
  return true
}

/** Those that we wrote, once: a file that comes again is another memory's, or from a backup, and whose it is we cannot tell. */
function removeGone(
  { reader, outbox }: Told,
  directory: string,
  names: string[],
  changes: FileChanges,
): void {
  const ours = new Set<string>()
  const removed: ToldItem[] = []
  for (const item of outbox.removedIn(directory)) {
    const name = fileName(item.session_uid, item.item)
    ours.add(name)
    try {
      rmSync(join(directory, name), { force: true })
      removed.push(item)
      if (names.includes(name)) changes.removed++
    } catch (error) {
      changes.problems.push(fromSystem(error, 'cannot remove a file for the hub', join(directory, name)))
    }
  }
  if (removed.length > 0) {
    // Before that is noted: a power cut would bring back what nobody removes any more.
    syncDirectory(directory)
    outbox.noteRemoved(removed)
  }
  nameOthers(reader, directory, new Set(names.filter((one) => !ours.has(one))), changes)
}

function nameOthers(
  reader: Reader,
  directory: string,
  names: ReadonlySet<string>,
  changes: FileChanges,
): void {
  const gone = new Set([...reader.storage.forgotten()].map(baseName))
  // A base name has one dot.
  const [first, ...rest] = [...names].filter((one) => gone.has(one.split('.', 2).join('.')))
  if (first === undefined) return
  const more = rest.length > 0 ? ` (and ${rest.length} more)` : ''
  changes.problems.push(
    new RecollectError('EXISTS', `a session that was forgotten has a file again${more}`, {
      where: join(directory, first),
      hint: 'forget it in the other memory that shares hub.digests_dir, or remove the file',
    }),
  )
}

/** Temporary files of a writer that was killed; a young one may be another program's, in use. */
function removeLeftovers(directory: string, names: readonly string[]): void {
  for (const name of names) {
    if (!/^\..*\.(?:digest|decision-[0-9a-f-]+)\.json\.[0-9a-f]{12}\.tmp$/.test(name)) continue
    const path = join(directory, name)
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats && Date.now() - stats.mtimeMs > HOUR) rmSync(path, { force: true })
  }
}
