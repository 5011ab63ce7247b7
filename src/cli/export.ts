// `recollect export`: one session after another, to stdout, a file, a directory or a collector. A file appears under its
// name only when it is whole.
import { createHash } from 'node:crypto'
import { closeSync, openSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fromSystem, RecollectError } from '../errors.ts'
import { EXPORT_FORMATS, ExportSource, FORMATS } from '../export/index.ts'
import { placeOf, send, tracesUrl } from '../export/send.ts'
import { ensureDirectory, isDirectory } from '../files/directory.ts'
import { replaceFile, writeAll } from '../files/replace.ts'
import type { Session } from '../model.ts'
import { resolveSession } from '../query/ids.ts'
import { meant } from '../query/meant.ts'
import { getSession } from '../query/sessions.ts'
import { isFiltering, type SessionFilter } from '../store/reader/filters.ts'
import type { Reader } from '../store/reader/index.ts'
import { EXIT } from './exit.ts'
import { filterFrom, refuseUnknown } from './filter-values.ts'
import type { FilterFlags } from './filters.ts'
import { plural } from './format.ts'
import { drained, Progress, tell, write } from './print.ts'
import { harmless } from './text.ts'
import { warnUnread } from './unread.ts'
import { parseChoice, parseName } from './values.ts'
import { withMemory } from './with-memory.ts'

export interface ExportCommand extends FilterFlags {
  all?: boolean
  format: string
  out?: string
  endpoint?: string
}

type Format = (typeof FORMATS)[keyof typeof FORMATS]

export async function runExport(ids: string[], options: ExportCommand): Promise<void> {
  const name = parseChoice(options.format, EXPORT_FORMATS, '--format', 'format')
  const format = FORMATS[name]
  if (options.endpoint !== undefined && name !== 'otlp')
    throw usage('--endpoint', 'a collector takes spans only', '--format otlp')
  if (options.endpoint !== undefined && options.out !== undefined)
    throw usage('--endpoint', 'either --out or --endpoint', 'leave one out')
  if (options.out !== undefined) parseName(options.out, '--out')
  const url = options.endpoint === undefined ? undefined : tracesUrl(options.endpoint)
  await withMemory(async (handle) => {
    const uids = pick(handle, ids, options, format)
    const isDirectory = options.out !== undefined && looksLikeDirectory(options.out)
    if (uids.length > 1 && format.between === undefined && !isDirectory)
      throw usage(
        '--format',
        `${uids.length} sessions are not one ${name} document`,
        `--out ${options.out ?? name}/ for a file per session`,
      )
    const progress = new Progress()
    const sources = sourcesOf(handle, uids, progress)
    if (url) await toCollector(url, sources, format)
    else if (options.out === undefined) await toStdout(sources, format)
    else if (isDirectory) toDirectory(options.out, sources, format)
    else toFile(options.out, together(sources, format))
    progress.clear()
    if (options.out !== undefined)
      tell(`wrote ${plural(uids.length, 'session')} to ${harmless(options.out)}\n`)
  })
}

const usage = (where: string, what: string, hint: string): RecollectError =>
  new RecollectError('USAGE', what, { where, hint })

/** The sessions meant, newest first; sub-agents come with their session where the format holds both. */
function pick(handle: Reader, ids: readonly string[], options: ExportCommand, format: Format): string[] {
  const filter = filterFrom(options)
  if (ids.length > 0) {
    if (options.all || isFiltering(filter))
      throw usage('ids', 'either ids, or --all with filters', 'leave one out')
    return [...new Set(ids.map((id) => resolveSession(handle, id)))]
  }
  if (!options.all && !isFiltering(filter))
    throw usage('ids', 'which sessions?', 'an id such as @last, --all, or filters such as --since 7d')
  const uids = handle.sessions.uids({ ...meant(handle, filter), withSubagents: !format.embedsSubagents })
  if (uids.length === 0) {
    refuseUnknown(handle, filter)
    throw new RecollectError('NOT_FOUND', 'no session matches', {
      where: isFiltering(filter) ? 'filters' : '--all',
      hint: 'recollect sessions lists them',
    })
  }
  const helpers = format.embedsSubagents ? helpersBeside(handle, filter, uids) : 0
  if (helpers > 0)
    tell(
      `${plural(helpers, 'helper conversation')} left out, which agents had by themselves: name them, or --format jsonl\n`,
    )
  return uids
}

/** Such as the making of a title: nobody's task, and part of no other session. */
function helpersBeside(handle: Reader, filter: SessionFilter, uids: readonly string[]): number {
  const shown = new Set(uids)
  const all = handle.sessions.uids({ ...meant(handle, filter), withSubagents: true })
  return handle.sessions.of(all.filter((uid) => !shown.has(uid))).filter((one) => one.is_helper).length
}

/** Read one at a time: a session may go while others are written. */
function* sourcesOf(handle: Reader, uids: readonly string[], progress: Progress): Generator<ExportSource> {
  for (const [at, uid] of uids.entries()) {
    progress.show(() => `${at} of ${uids.length} sessions`)
    const session = getSession(handle, uid)
    if (!session) continue
    const source = new ExportSource(handle, session)
    yield source
    warnUnread(session.session_uid, source.bodies.unread.size)
  }
}

function* together(sources: Iterable<ExportSource>, format: Format): Generator<string> {
  let isFirst = true
  for (const source of sources) {
    if (!isFirst) yield format.between ?? ''
    isFirst = false
    yield* format.write(source)
  }
}

async function toStdout(sources: Iterable<ExportSource>, format: Format): Promise<void> {
  for (const text of together(sources, format)) {
    write(text)
    await drained()
  }
}

function toDirectory(directory: string, sources: Iterable<ExportSource>, format: Format): void {
  ensureDirectory(directory, 0o700, false)
  for (const source of sources)
    toFile(join(directory, `${fileName(source.session)}.${format.extension}`), format.write(source))
}

const looksLikeDirectory = (path: string): boolean => path.endsWith('/') || isDirectory(path)

/** Of letters that every file system takes; what had to be changed is told apart by a hash. */
function fileName({ session_uid }: Session): string {
  const plain = session_uid.replace(':', '-')
  if (/^[\w][\w.-]{0,150}$/.test(plain)) return plain
  const hash = createHash('sha256').update(session_uid).digest('hex').slice(0, 12)
  return `${plain.replace(/[^\w.-]/g, '_').slice(0, 100)}-${hash}`
}

/** A file is replaced as a whole, behind a link too; what is no file (a pipe, a device) is written to as it stands. */
function toFile(path: string, texts: Iterable<string>): void {
  try {
    const standing = statSync(path, { throwIfNoEntry: false })
    if (standing && !standing.isFile()) writeInto(path, texts)
    else replaceFile(standing ? realpathSync(path) : path, texts, { durable: false })
  } catch (error) {
    if (statSync(dirname(path), { throwIfNoEntry: false })?.isDirectory())
      throw fromSystem(error, 'cannot write the export', path)
    throw new RecollectError('NOT_FOUND', 'cannot write the export: there is no such directory', {
      where: dirname(path),
      cause: error,
      hint: 'make it first, or end --out with / for a file per session',
    })
  }
}

function writeInto(path: string, texts: Iterable<string>): void {
  const fd = openSync(path, 'w')
  try {
    writeAll(fd, texts)
  } finally {
    closeSync(fd)
  }
}

async function toCollector(url: URL, sources: Iterable<ExportSource>, format: Format): Promise<void> {
  let rejectedCount = 0
  let count = 0
  for (const source of sources) {
    for (const body of format.write(source)) rejectedCount += await send(url, body)
    count++
  }
  tell(`sent ${plural(count, 'session')} to ${placeOf(url)}\n`)
  if (rejectedCount === 0) return
  tell(`the collector rejected ${rejectedCount} spans\n`)
  process.exitCode = EXIT.partial
}
