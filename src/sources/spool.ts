// Reads the spool (spool-files.ts). Nothing in it is trusted: a line only says where to look, and `touched.ts` decides
// whether we do. Called under the sweep lock.
//
// A kill after the rename leaves a taken-* file, which the next sweep takes as well; looking twice changes nothing.
import { lstatSync, readdirSync, renameSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import type { AnyAdapter } from '../adapters/adapter.ts'
import { errnoOf, RecollectError } from '../errors.ts'
import { ensureDirectory } from '../files/directory.ts'
import { readBeginning } from '../files/reading.ts'
import { removeQuietly, replaceFile } from '../files/replace.ts'
import {
  LINES,
  MAX_PATH_LENGTH,
  MAX_SPOOL_BYTES,
  NUDGED,
  SPOOL,
  type SpoolLine,
  TEST_EVENT,
} from './spool-files.ts'

const STATE = 'state.json'
const TAKEN = /^taken-[\w-]+\.jsonl$/
/** Each is left by a killed sweep. */
const MAX_TAKEN = 64

export interface Spool {
  lines: SpoolLine[]
  /** Something happened that no line tells: only a look at everything will do. */
  isVague: boolean
  /** Removes what was taken: its sweep has committed. */
  finish(): void
}

/** What is known of captures so far. */
export interface SpoolState {
  /** Begin of the last sweep that looked at the spool, and of the last one that looked at everything. */
  sweptAt: number
  fullAt: number
  /** Begin of the last sweep whose clock was believed. */
  clockAt: number
  /** Per flavor, the last hook that fired. */
  fired: Record<string, { at: number; event: string | null; session: string | null }>
}

/** Takes everything that hooks have written up to now. From here on a new hook starts a new sweep. */
export function takeSpool(home: string): Spool {
  const directory = join(home, SPOOL)
  // First: a hook that comes after this starts a sweep of its own, and of one that came before we see the line.
  removeQuietly(join(directory, NUDGED))
  const ours = namesIn(directory).filter((name) => name === LINES || TAKEN.test(name))
  const names = ours.filter((name) => !clearDirectory(join(directory, name)))
  if (names.includes(LINES)) {
    const taken = `taken-${Date.now()}-${process.pid}.jsonl`
    renameSync(join(directory, LINES), join(directory, taken))
    names.push(taken)
  }
  const taken = names.filter((name) => name !== LINES).map((name) => join(directory, name))
  const spool: Spool = {
    lines: [],
    isVague: taken.length > MAX_TAKEN,
    finish: () => taken.forEach(removeQuietly),
  }
  for (const path of taken.slice(0, MAX_TAKEN)) readLines(path, spool)
  // One too many says as much as a thousand: sweeps that are killed again and again must not fill the disk.
  taken.slice(MAX_TAKEN + 1).forEach(removeQuietly)
  return spool
}

/** Looks without taking. */
export function peekSpool(home: string): SpoolLine[] {
  const directory = join(home, SPOOL)
  const spool: Spool = { lines: [], isVague: false, finish: () => undefined }
  for (const name of namesIn(directory))
    if (name === LINES || TAKEN.test(name)) readLines(join(directory, name), spool)
  return spool.lines
}

/** None of ours is one: an empty one is taken away, what somebody keeps things in is theirs, and named. */
function clearDirectory(path: string): boolean {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory()) return false
  try {
    rmdirSync(path)
  } catch (cause) {
    throw new RecollectError('NOT_A_FILE', 'a directory stands where hooks write: everything is looked at', {
      where: path,
      cause,
      hint: 'move it away',
    })
  }
  return true
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  }
}

function readLines(path: string, into: Spool): void {
  const bytes = readBounded(path)
  if (bytes === undefined || bytes.length >= MAX_SPOOL_BYTES) into.isVague = true
  for (const text of (bytes ?? Buffer.alloc(0)).toString('utf8').split('\n')) {
    if (text === '') continue
    const line = parseLine(text)
    if (!line || (line.paths.length === 0 && line.event !== TEST_EVENT)) into.isVague = true
    if (line) into.lines.push(line)
  }
}

function readBounded(path: string): Buffer | undefined {
  try {
    // Handlers stop at the limit, each at most one line behind it.
    return readBeginning(path, MAX_SPOOL_BYTES + (64 << 10)).bytes
  } catch {
    return undefined
  }
}

function parseLine(text: string): SpoolLine | undefined {
  let value: Record<string, unknown>
  try {
    value = Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return undefined
  }
  const { at, event, session, paths, agent } = value
  const isLine =
    typeof at === 'number' &&
    Number.isSafeInteger(at) &&
    (event === null || typeof event === 'string') &&
    (session === null || typeof session === 'string') &&
    (agent === undefined || typeof agent === 'string') &&
    Array.isArray(paths) &&
    paths.every((path) => typeof path === 'string' && path.length <= MAX_PATH_LENGTH)
  return isLine ? (value as unknown as SpoolLine) : undefined
}

export function readSpoolState(home: string): SpoolState {
  const none: SpoolState = { sweptAt: 0, fullAt: 0, clockAt: 0, fired: {} }
  const bytes = readBounded(join(home, SPOOL, STATE))
  if (!bytes) return none
  try {
    const state = JSON.parse(bytes.toString('utf8')) as Partial<SpoolState>
    return { ...none, clockAt: state.sweptAt ?? 0, ...state }
  } catch {
    return none
  }
}

export function writeSpoolState(home: string, state: SpoolState): void {
  ensureDirectory(join(home, SPOOL), 0o700, false)
  replaceFile(join(home, SPOOL, STATE), `${JSON.stringify(state)}\n`, { durable: false })
}

/** The newest hook of each flavor among the lines. Whose hook it was, the transcript's path tells, or the line itself. */
export function firedOf(lines: readonly SpoolLine[], adapters: readonly AnyAdapter[]): SpoolState['fired'] {
  const fired: SpoolState['fired'] = {}
  for (const { at, event, session, paths, agent } of lines) {
    const adapter = adapters.find((one) => one.flavor === agent || paths.some((path) => one.claim(path)))
    if (adapter && at >= (fired[adapter.flavor]?.at ?? 0)) fired[adapter.flavor] = { at, event, session }
  }
  return fired
}
