// Broken homes: puts a case of test/corpus into a temporary home, sweeps it with the real program under a memory meter,
// and looks at what the store holds afterwards.

import { execFileSync, spawnSync } from 'node:child_process'
import {
  accessSync,
  appendFileSync,
  chmodSync,
  chownSync,
  closeSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ADAPTERS } from '../../src/adapters/index.ts'
import { Config } from '../../src/config.ts'
import { sessionEvents } from '../../src/query/events.ts'
import { databasesOf } from '../../src/store/databases.ts'
import { openForReading, storePaths } from '../../src/store/reading.ts'
import { openStore } from '../../src/store/sqlite.ts'
import { sweep } from '../../src/sweep/index.ts'
import { filesBelow } from './collect.ts'
import { IS_LONG } from './long.ts'
import { temporary } from './temporary.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const CORPUS = join(import.meta.dirname, '..', 'corpus')
const METER = pathToFileURL(join(ROOT, 'test/programs/meter.mjs')).href
const NOBODY = 65534

export interface Gap {
  /** Relative to the home. */
  file: string
  /** The companion that holds the bytes. */
  companion?: string
  offset: number
  length: number
  reason: string
  pending?: boolean
}

type GapRow = Omit<Gap, 'pending' | 'companion'> & { path: string; is_pending: number }

export interface State {
  exit: number
  /** What was asked and answered, by session, in order. */
  said: Record<string, string[]>
  gaps: Gap[]
}

export interface Expected extends State {
  unknown: Record<string, number>
  /** `isRoot`: only where the test runs as root. */
  problems: { path: string; reason: string; code: string; isRoot?: boolean }[]
  mended?: State
}

interface Maker {
  make(home: string): void | Promise<void>
  mend?(home: string): void
  asNobody?: boolean
}

export const caseNames = readdirSync(CORPUS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)
  .sort()

export interface Sweep {
  status: number | null
  stderr: string
  report: SweepDocument
  peakMegabytes: number
}

/** What a sweep says that should have nothing to do. */
interface Again {
  newEvents: number[]
  readBytes: number
  paths: string[]
  skipped: string[]
}

interface SweepDocument {
  sources: Record<string, number>
  read_bytes: number
  new_events: number
  changed_events: number
  coverage: {
    path: string
    size: number
    understood_bytes: number
    gap_bytes: number
    pending_bytes: number
    unknown: Record<string, number>
  }[]
  problem_count: number
  problems: { path: string; reason: string; code: string; hint: string }[]
}

/** One broken home. */
export class BrokenHome {
  readonly home: string
  readonly expected: Expected
  readonly #case: string
  #maker: Maker | undefined

  constructor(name: string) {
    this.#case = join(CORPUS, name)
    this.home = realpathSync(temporary('broken'))
    this.expected = JSON.parse(readFileSync(join(this.#case, 'expected.json'), 'utf8')) as Expected
  }

  async build(): Promise<void> {
    const maker = join(this.#case, 'make.mjs')
    if (existsSync(maker)) {
      this.#maker = (await import(pathToFileURL(maker).href)) as Maker
      await this.#maker.make(this.home)
    } else cpSync(join(this.#case, 'home'), this.home, { recursive: true })
    mkdirSync(this.memory)
    if (this.#uid !== undefined) for (const path of [this.home, this.memory]) giveAway(path, this.#uid)
  }

  get isMendable(): boolean {
    return this.#maker ? this.#maker.mend !== undefined : existsSync(join(this.#case, 'mend'))
  }

  mend(): void {
    this.#maker?.mend?.(this.home)
    if (this.#maker) return
    const mends = join(this.#case, 'mend')
    for (const file of filesBelow(mends))
      appendFileSync(join(this.home, relative(mends, file)), readFileSync(file))
  }

  get memory(): string {
    return join(this.home, '.recollect')
  }

  get #uid(): number | undefined {
    return this.#maker?.asNobody && process.getuid?.() === 0 ? NOBODY : undefined
  }

  get env(): Record<string, string> {
    const { PATH = '' } = process.env
    return { HOME: this.home, PATH, RECOLLECT_HOME: this.memory, METER: join(this.memory, 'meter') }
  }

  /** Runs the program; `wrapper` is put before it (strace). */
  run(args: string[], wrapper: string[] = []): { status: number | null; stdout: string; stderr: string } {
    const [program, ...rest] = [
      ...wrapper,
      process.execPath,
      '--import',
      METER,
      join(ROOT, 'dist/cli.cjs'),
      ...args,
    ]
    const user = this.#uid === undefined ? {} : { uid: this.#uid, gid: this.#uid }
    const options = {
      env: this.env,
      encoding: 'utf8' as const,
      timeout: 180_000,
      maxBuffer: 1 << 28,
      ...user,
    }
    return spawnSync(program as string, rest, options)
  }

  sweep(args: string[] = [], wrapper: string[] = []): Sweep {
    const { status, stdout, stderr } = this.run(['sweep', '--json', ...args], wrapper)
    if (stdout === '') throw new Error(`no report (status ${status}): ${stderr}`)
    const peakMegabytes = Number(readFileSync(this.env['METER'] as string, 'utf8')) / 1024
    return { status, stderr, report: JSON.parse(stdout), peakMegabytes }
  }

  /** One more sweep: by the program too in the long run, or where it has to run as somebody else. */
  async again({ full = false } = {}): Promise<Again> {
    if (!IS_LONG && this.#uid === undefined) {
      const config = new Config({ env: this.env })
      const swept = await sweep({ config, adapters: ADAPTERS, env: this.env, full })
      return {
        newEvents: [swept.newEventCount, swept.changedEventCount],
        readBytes: swept.readBytes,
        paths: swept.sources.map(({ path }) => path),
        skipped: swept.problems.map(({ path }) => path),
      }
    }
    const { report, stderr } = this.sweep(full ? ['--full'] : [])
    if (stderr !== '') throw new Error(stderr)
    return {
      newEvents: [report.new_events, report.changed_events],
      readBytes: report.read_bytes,
      paths: report.coverage.map(({ path }) => path),
      skipped: report.problems.map(({ path }) => path),
    }
  }

  /** What is wrong with the memory. */
  problems(): unknown[] {
    if (IS_LONG) return JSON.parse(this.run(['verify', '--json']).stdout).problems
    const store = openStore(storePaths(this.memory))
    try {
      return store.archive.verify().problems
    } finally {
      store.close()
    }
  }

  #read<T>(work: (handle: ReturnType<typeof openForReading>) => T): T {
    const handle = openForReading(storePaths(this.memory))
    try {
      return work(handle)
    } finally {
      handle.close()
    }
  }

  said(): Record<string, string[]> {
    return this.#read((handle) => {
      const said: Record<string, string[]> = {}
      for (const { session_uid: uid } of databasesOf(handle)
        .cache.prepare('SELECT session_uid FROM cached')
        .all() as {
        session_uid: string
      }[]) {
        const kinds = ['user_msg', 'assistant_msg'] as const
        const texts = [...sessionEvents(handle, uid, { kinds })].map((event) => event.summary)
        if (texts.length > 0) said[uid] = texts
      }
      return said
    })
  }

  gaps(): Gap[] {
    return this.#read((handle) => {
      const rows = databasesOf(handle).cache.prepare('SELECT * FROM gaps').all() as unknown as GapRow[]
      return rows.map(({ path, file, offset, length, reason, is_pending }) => ({
        file: relative(this.home, path),
        ...(file === '' ? {} : { companion: file }),
        offset,
        length,
        reason,
        ...(is_pending ? { pending: true } : {}),
      }))
    })
  }

  /** Everything the cache says, as one text: equal before and after a sweep that has nothing to do. */
  dump(): string {
    const tables = ['sources', 'gaps', 'unknown_records', 'cached', 'events', 'findings']
    return this.#read((handle) =>
      tables
        .map((table) => JSON.stringify(databasesOf(handle).cache.prepare(`SELECT * FROM ${table}`).all()))
        .join('\n'),
    )
  }

  canRead(path: string): boolean {
    try {
      accessSync(path, constants.R_OK)
      return true
    } catch {
      return false
    }
  }

  /** Pieces of a file that lie in no gap and are not whole records either. Asks nobody but JSON.parse. */
  unaccounted(path: string): string[] {
    const file = relative(this.home, path)
    const gaps = this.gaps().filter((gap) => gap.file === file && gap.companion === undefined)
    const size = statSync(path).size
    const wrong: string[] = []
    let at = 0
    for (const gap of [...gaps.sort((a, b) => a.offset - b.offset), { offset: size, length: 0 }]) {
      if (gap.offset < at) wrong.push(`gap at ${gap.offset} overlaps`)
      const bytes = readPart(path, at, gap.offset - at)
      for (const line of bytes.toString('utf8').split('\n'))
        if (!isRecords(line.replace(/^\ufeff/, ''))) wrong.push(`${at}: ${line.slice(0, 80)}`)
      at = gap.offset + gap.length
    }
    if (at !== size) wrong.push(`${at} of ${size} bytes`)
    return wrong
  }

  remove(): void {
    if (process.getuid?.() !== 0 && this.#maker?.asNobody) this.#maker.mend?.(this.home)
    // Not rmSync: it cannot remove paths longer than a system call takes.
    execFileSync('rm', ['-rf', this.home])
  }
}

function giveAway(directory: string, uid: number): void {
  chmodSync(directory, 0o700)
  chownSync(directory, uid, uid)
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    const path = join(directory, entry.name)
    chownSync(path, uid, uid)
    if (entry.isDirectory() && (statSync(path).mode & 0o777) !== 0) giveAway(path, uid)
  }
}

function readPart(path: string, offset: number, length: number): Buffer {
  const fd = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(Math.max(0, length))
    readSync(fd, bytes, 0, bytes.length, offset)
    return bytes
  } finally {
    closeSync(fd)
  }
}

/** Blank, or one or more whole objects. */
function isRecords(text: string): boolean {
  if (text.trim() === '') return true
  if (isObject(text)) return true
  for (let end = text.indexOf('}{'); end !== -1; end = text.indexOf('}{', end + 1))
    if (isObject(text.slice(0, end + 1)) && isRecords(text.slice(end + 1))) return true
  const [first, ...rest] = text.split(/(?<=\})\s+(?=\{)/)
  return rest.length > 0 && isObject(first as string) && rest.every(isObject)
}

function isObject(text: string): boolean {
  try {
    return text.trim().startsWith('{') && typeof JSON.parse(text) === 'object'
  } catch {
    return false
  }
}
