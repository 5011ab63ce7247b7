// `recollect blame`: from a line, a file or a commit to the session, the prompt and the edit that made it.
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { findDigest } from '../digest/patterns.ts'
import { RecollectError } from '../errors.ts'
import { repositoryRoot } from '../files/checkout.ts'
import { isDirectory } from '../files/directory.ts'
import { listsBy } from '../lists.ts'
import type { Session } from '../model.ts'
import { AddedLines, type Author, type LineAt, promptBefore } from '../query/blame.ts'
import { getSession, listSessions, sessionNames } from '../query/sessions.ts'
import type { Reader } from '../store/reader/index.ts'
import { paint } from './colour.ts'
import { type FormFlags, printCsv } from './csv.ts'
import { EXIT } from './exit.ts'
import { formatTime, plural } from './format.ts'
import { git } from './git.ts'
import { print, printJson, textWidth } from './print.ts'
import { cut, oneLine } from './text.ts'
import { parseName } from './values.ts'
import { withMemory } from './with-memory.ts'

/** A file, or a part of it, in its repository. */
interface Target {
  root: string
  /** The working tree it is in: the repository, or one that is linked to it. */
  top: string
  /** Below the root, with slashes. */
  path: string
  /** What it was called when its lines were made, where that was something else. */
  formerly: string[]
  lines: LineAt[]
  from: number
  to: number
}

/** What is known of some lines or of a commit. */
interface Made {
  session: Session
  /** Of the line, or of the first line that it made. */
  seq: number
  prompt: { seq: number; text: string } | null
  lines: number
  basis: 'edit' | 'commit'
}

export async function showBlame(what: string, options: FormFlags): Promise<void> {
  const file = fileIn(parseName(what, 'what'))
  await withMemory((handle) => {
    const { made, total, name } = file ? ofFile(handle, file) : ofCommit(handle, what)
    const document = documentOf(handle, name, made, total)
    if (options.json) printJson(document)
    else if (options.csv) printCsv(document.made_by)
    else printMade(handle, name, made, total)
    if (made.length === 0) process.exitCode = EXIT.failed
  })
}

interface Answer {
  name: string
  made: Made[]
  /** Lines that were asked about. */
  total: number
}

const LARGEST = 8 << 20

/** Undefined where it names no file. */
function fileIn(what: string): Target | undefined {
  const [, typed, first, last] = /^(.+?)(?::(\d{1,7})(?:-(\d{1,7}))?)?$/s.exec(what) as unknown as string[]
  const [path, range] = isFile(what) ? [what, undefined] : [typed as string, first]
  if (!isFile(path)) return undefined
  const real = realpathSync(path)
  if (statSync(real).size > LARGEST)
    throw new RecollectError('TOO_LARGE', 'the file is too large to be blamed', {
      where: path,
      hint: `files up to ${LARGEST >> 20} MB are read`,
    })
  const root = repositoryRoot(dirname(real)) ?? dirname(real)
  // A working tree of its own has its files elsewhere than the repository it belongs to.
  const top = git(dirname(real), 'rev-parse', '--show-toplevel')?.trim() ?? dirname(real)
  const inTree = relative(top, real).split(sep).join('/')
  const { lines, formerly } = linesOf(real, top, inTree)
  const from = range === undefined ? 1 : Number(range)
  const to = range === undefined ? lines.length : Number(last ?? range)
  if (from < 1 || from > lines.length || to < from)
    throw new RecollectError('USAGE', `the file has lines 1 to ${lines.length}`, {
      where: what,
      hint: 'name lines as FILE:LINE or FILE:FROM-TO',
    })
  return { root, top, path: inTree, formerly, lines, from, to: Math.min(to, lines.length) }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}

/** With the time of the commit that git has each line from. */
function linesOf(real: string, top: string, path: string): Pick<Target, 'lines' | 'formerly'> {
  const texts = readFileSync(real, 'utf8').split('\n')
  if (texts.at(-1) === '') texts.pop()
  const told = git(top, 'blame', '--porcelain', '--no-textconv', '--', path) ?? ''
  const times = new Map<string, number>()
  const commits: string[] = []
  const names = new Set<string>()
  let commit = ''
  for (const line of told.split('\n')) {
    const head = /^([0-9a-f]{40}) \d+ (\d+)/.exec(line)
    if (head) {
      commit = head[1] as string
      commits[Number(head[2])] = commit
    } else if (line.startsWith('author-time ')) times.set(commit, Number(line.slice(12)) * 1000)
    else if (line.startsWith('filename ')) names.add(line.slice(9))
  }
  names.delete(path)
  const isCommitted = (sha: string | undefined): sha is string => sha !== undefined && !/^0+$/.test(sha)
  const lines = texts.map((text, at) => {
    const sha = commits[at + 1]
    const committedAt = isCommitted(sha)
      ? (times.get(sha) ?? Number.POSITIVE_INFINITY)
      : Number.POSITIVE_INFINITY
    return { number: at + 1, text, committedAt }
  })
  return { lines, formerly: [...names] }
}

function ofFile(handle: Reader, target: Target): Answer {
  const { path, formerly, lines, from, to } = target
  const added = addedTo(handle, target, [path, ...formerly])
  const authors: Author[] = []
  for (let number = from; number <= to; number++) {
    const author = added.authorOf(lines, number - 1)
    if (author) authors.push(author)
  }
  return { name: path, made: bySession(handle, authors), total: to - from + 1 }
}

/** More sessions than this of one file are not looked through. */
const MANY = 400

/** By every name that sessions may have for it: from where they were, which may be below the root, or in full. */
function addedTo(
  handle: Reader,
  { root, top }: Pick<Target, 'root' | 'top'>,
  paths: readonly string[],
): AddedLines {
  const added = new AddedLines()
  const seen = new Set<string>()
  for (const touched of new Set(paths.flatMap((path) => [path, join(root, path), join(top, path)])))
    for (const session of listSessions(handle, { touched, withSubagents: true, limit: MANY })) {
      if (seen.has(session.session_uid) || !isOf(session, root)) continue
      seen.add(session.session_uid)
      added.add(handle, session, (told) => paths.some((path) => isSame(told, session.cwd ?? '', root, path)))
    }
  return added
}

/** Whether a path that an edit names is the file: below the root, or below another working tree, not just at the end of a path. */
function isSame(told: string, cwd: string, root: string, path: string): boolean {
  const whole = resolve(cwd, told).replaceAll('\\', '/')
  if (whole === join(root, path)) return true
  if (!whole.endsWith(`/${path}`)) return false
  const tree = whole.slice(0, -path.length - 1)
  return isDirectory(tree) ? existsSync(join(tree, '.git')) : tree === cwd
}

/** Its directory is in the repository, or was: a clone that is gone is told by its name. */
function isOf({ cwd, repo }: Session, root: string): boolean {
  if (cwd === null) return false
  if (cwd === root || cwd.startsWith(`${root}/`) || repositoryRoot(cwd) === root) return true
  return !isDirectory(cwd) && repo !== null && repo.split('/').at(-1) === root.split('/').at(-1)
}

function bySession(handle: Reader, authors: readonly Author[]): Made[] {
  return [...listsBy(authors, (author) => author.session_uid)]
    .map(([uid, all]): Made => {
      const { seq } = all[0] as Author
      return {
        session: getSession(handle, uid) as Session,
        seq,
        prompt: promptBefore(handle, uid, seq),
        lines: all.length,
        basis: 'edit',
      }
    })
    .sort((a, b) => b.lines - a.lines)
}

const DAY_MS = 86_400_000

function ofCommit(handle: Reader, typed: string): Answer {
  const told = git(
    process.cwd(),
    'show',
    '-s',
    '--format=%H%n%ct%n%s',
    '--end-of-options',
    `${typed}^{commit}`,
  )
  if (told === undefined)
    throw new RecollectError('NOT_FOUND', 'neither a file nor a commit of this repository', {
      where: typed,
      hint: 'recollect blame FILE, FILE:LINE or COMMIT, inside the repository',
    })
  const [sha, seconds, subject] = told.split('\n') as [string, string, string]
  const at = Number(seconds) * 1000
  const name = `${sha.slice(0, 10)} ${subject}`
  const shown = shownBy(handle, sha, at)
  if (shown.length > 0) return { name, made: shown, total: 0 }
  return { name, ...byAddedLines(handle, sha, at) }
}

/** Sessions in whose output the commit was made. */
function shownBy(handle: Reader, sha: string, at: number): Made[] {
  const around = { sinceAt: at - DAY_MS, untilAt: at + DAY_MS, withSubagents: true }
  return listSessions(handle, around).flatMap((session): Made[] => {
    const digest = findDigest(handle, session.session_uid)
    const commit = digest?.commits.find((one) => one.sha.length >= 7 && sha.startsWith(one.sha.toLowerCase()))
    const seq = commit?.seqs.at(-1)
    if (seq === undefined) return []
    const prompt = promptBefore(handle, session.session_uid, seq)
    return [{ session, seq, prompt, lines: 0, basis: 'commit' }]
  })
}

/** Sessions whose edits are the lines that the commit adds. */
function byAddedLines(handle: Reader, sha: string, committedAt: number): Omit<Answer, 'name'> {
  const directory = process.cwd()
  const top = git(directory, 'rev-parse', '--show-toplevel')?.trim() ?? directory
  const root = repositoryRoot(top) ?? top
  const patch = git(top, 'show', '--format=', '--unified=0', '--no-ext-diff', '--no-textconv', sha) ?? ''
  const authors: Author[] = []
  let total = 0
  for (const [path, texts] of addedIn(patch)) {
    const lines = texts.map((text, index): LineAt => ({ number: index + 1, text, committedAt }))
    total += lines.length
    const added = addedTo(handle, { root, top }, [path])
    for (const index of lines.keys()) {
      const author = added.authorOf(lines, index)
      if (author) authors.push(author)
    }
  }
  return { made: bySession(handle, authors), total }
}

function addedIn(patch: string): Map<string, string[]> {
  const files = new Map<string, string[]>()
  const linesIn = (path: string): string[] => {
    const known = files.get(path) ?? []
    files.set(path, known)
    return known
  }
  let path: string | undefined
  for (const line of patch.split('\n')) {
    const head = /^\+\+\+ (?:b\/(.*)|\/dev\/null)$/.exec(line)
    if (head) path = head[1]
    else if (line.startsWith('+') && path !== undefined) linesIn(path).push(line.slice(1))
  }
  return files
}

const namesOf = (handle: Reader, made: readonly Made[]): Map<string, string> =>
  sessionNames(
    handle,
    made.map((one) => one.session.session_uid),
  )

interface BlameDocument {
  what: string
  lines: number
  unknown_lines: number
  made_by: object[]
}

function documentOf(handle: Reader, name: string, made: readonly Made[], total: number): BlameDocument {
  const names = namesOf(handle, made)
  return {
    what: name,
    lines: total,
    unknown_lines: total - made.reduce((sum, one) => sum + one.lines, 0),
    made_by: made.map(({ session: { session_uid }, seq, prompt, lines, basis }) => ({
      session_uid,
      title: names.get(session_uid) ?? '',
      seq,
      prompt,
      lines,
      basis,
    })),
  }
}

function printMade(handle: Reader, name: string, made: readonly Made[], total: number): void {
  const width = textWidth()
  const names = namesOf(handle, made)
  if (made.length === 0) {
    print(`unknown: no session that is remembered shows who made ${oneLine(name)}`)
    return
  }
  const lines = [paint.bold(cut(oneLine(name), width))]
  for (const { session, seq, prompt, lines: count, basis } of made) {
    const share =
      basis === 'commit' ? 'committed it' : total === 1 ? 'wrote it' : `wrote ${plural(count, 'line')}`
    const when = session.started_at === null ? '' : `, ${formatTime(session.started_at)}`
    lines.push('', cut(oneLine(`${share}: ${names.get(session.session_uid)}`), width))
    if (prompt) lines.push(cut(`  asked: ${oneLine(prompt.text)}`, width))
    lines.push(`  ${paint.dim(`recollect show ${session.session_uid}#${seq}${when}`)}`)
  }
  const unknown = total - made.reduce((sum, one) => sum + one.lines, 0)
  if (total > 1 && unknown > 0) lines.push('', `unknown: ${plural(unknown, 'line')} of ${total}`)
  print(lines.join('\n'))
}
