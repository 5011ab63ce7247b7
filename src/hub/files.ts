// Digests and decisions as files, one each, for a hub to index. A file is written when it is new, changed or missing, and
// always whole; one that we wrote is removed once, when its session is forgotten, and for no other reason: several memories
// may share a directory. What is to be written is noted in memory.db before the file, so that a kill leaves none that nobody
// would remove, and again after it: a kill in between makes it looked at once more.
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { errnoOf, fromSystem, RecollectError } from '../errors.ts'
import { syncDirectory } from '../files/directory.ts'
import { replaceFile } from '../files/replace.ts'
import { SCHEMA_VERSION } from '../model.ts'
import { type Database, prepared, transaction } from '../store/database.ts'
import { decisionsIn } from '../store/decisions.ts'

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

interface Item {
  session_uid: string
  /** `digest`, or the id of a decision. */
  item: string
  made_at: number
  /** Where and when it was last written; null for never. */
  directory: string | null
  written_at: number | null
}

export function syncFiles(memory: Database, directory: string): FileChanges {
  const changes: FileChanges = { written: 0, removed: 0, problems: [] }
  let names: string[]
  try {
    names = readdirSync(directory)
  } catch (cause) {
    changes.problems.push(unusable(cause, directory))
    return changes
  }
  removeForgotten(memory, directory, names, changes)
  removeLeftovers(directory, names)
  const there = new Set(names)
  const due = itemsOf(memory).filter(
    ({ session_uid, item, made_at, ...last }) =>
      last.directory !== directory || last.written_at !== made_at || !there.has(fileName(session_uid, item)),
  )
  note(
    memory,
    directory,
    due.filter((item) => item.directory !== directory).map((item) => ({ ...item, made_at: NOT_YET })),
  )
  const done: Item[] = []
  for (const item of due) {
    const name = fileName(item.session_uid, item.item)
    if (changes.problems.length >= MAX_FAILURES) break
    try {
      if (put(join(directory, name), contentOf(memory, item))) changes.written++
      done.push(item)
    } catch (error) {
      changes.problems.push(fromSystem(error, 'cannot write a file for the hub', join(directory, name)))
    }
  }
  note(memory, directory, done)
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

function itemsOf(memory: Database): Item[] {
  return memory
    .prepare(
      `SELECT i.session_uid, i.item, i.made_at, f.directory, f.made_at AS written_at FROM
         (SELECT session_uid, '${DIGEST}' AS item, made_at FROM digests
          UNION ALL SELECT session_uid, id, at FROM decisions) i
       LEFT JOIN hub_files f ON f.session_uid = i.session_uid AND f.item = i.item`,
    )
    .all() as unknown as Item[]
}

function contentOf(memory: Database, { session_uid: uid, item }: Item): string {
  if (item === DIGEST) {
    const row = prepared(memory, 'SELECT digest FROM digests WHERE session_uid = ?').get(uid)
    return `${(row as { digest: string }).digest}\n`
  }
  const decision = decisionsIn(memory, [uid]).find((one) => one.id === item)
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

function note(memory: Database, directory: string, done: readonly Item[]): void {
  if (done.length === 0) return
  const insert = memory.prepare(
    'INSERT OR REPLACE INTO hub_files (session_uid, item, directory, made_at) VALUES (?, ?, ?, ?)',
  )
  transaction(memory, () => {
    for (const { session_uid, item, made_at } of done) insert.run(session_uid, item, directory, made_at)
  })
}

/** Those that we wrote, once: a file that comes again is another memory's, or from a backup, and whose it is we cannot tell. */
function removeForgotten(memory: Database, directory: string, names: string[], changes: FileChanges): void {
  const written = memory
    .prepare(
      `SELECT session_uid, item FROM hub_files f WHERE directory = ?
       AND EXISTS (SELECT 1 FROM receipts r WHERE r.session_uid = f.session_uid AND r.reason = 'forgotten')`,
    )
    .all(directory) as unknown as Item[]
  const ours = new Set<string>()
  const removed: Item[] = []
  for (const item of written) {
    const name = fileName(item.session_uid, item.item)
    ours.add(name)
    try {
      rmSync(join(directory, name), { force: true })
      removed.push(item)
      if (names.includes(name)) changes.removed++
    } catch (error) {
      changes.problems.push(
        fromSystem(error, 'cannot remove the file of a forgotten session', join(directory, name)),
      )
    }
  }
  if (removed.length > 0) {
    // Before that is noted: a power cut would bring back what nobody removes any more.
    syncDirectory(directory)
    const noted = memory.prepare('DELETE FROM hub_files WHERE session_uid = ? AND item = ?')
    transaction(memory, () => {
      for (const { session_uid, item } of removed) noted.run(session_uid, item)
    })
  }
  nameOthers(memory, directory, new Set(names.filter((one) => !ours.has(one))), changes)
}

function nameOthers(
  memory: Database,
  directory: string,
  names: ReadonlySet<string>,
  changes: FileChanges,
): void {
  const rows = memory
    .prepare("SELECT DISTINCT session_uid FROM receipts WHERE reason = 'forgotten'")
    .all() as unknown as { session_uid: string }[]
  const gone = new Set(rows.map((row) => baseName(row.session_uid)))
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
