// Where Entire and Recollect keep transcripts, and what a path says about one. Projects are named in the configuration; a
// root may be a project, its `.entire`, or an exported tree of checkpoints.
import { existsSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { readBeginning } from '../../files/reading.ts'
import type { Source } from '../adapter.ts'

const NAMES = ['full.jsonl', 'full.log']
const HEX = /^[0-9a-f]+$/
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/i
const INDEX = /^\d{1,4}$/

/** No home of its own: a transcript lies in the project it is about. */
export function roots(): string[] {
  return []
}

export function claim(path: string): Source | null {
  const name = basename(path)
  if (callOf(path) !== undefined) return { path, companions: [metadataOf(path)] }
  if (!NAMES.includes(name) || !isSessionDirectory(dirname(path))) return null
  // The name of old versions; a newer copy of the same transcript may stand beside it.
  if (name === 'full.log' && existsSync(join(dirname(path), 'full.jsonl'))) return null
  const companions = [metadataOf(path), ...partsOf(path), nextPart(path)]
  if (tellsMore(contextOf(path))) companions.push(contextOf(path))
  return { path, companions }
}

/** The call that started a sub-agent, where the file is a sub-agent's: `<session>/tasks/<call>/agent-<id>.jsonl`. */
export function callOf(path: string): string | undefined {
  const call = dirname(path)
  const isAgent = /^agent-.+\.jsonl$/.test(basename(path)) && basename(dirname(call)) === 'tasks'
  return isAgent && isSessionDirectory(dirname(dirname(call))) ? basename(call) : undefined
}

/** The directory of the session that a file belongs to. */
export const homeOf = (path: string): string =>
  callOf(path) === undefined ? dirname(path) : dirname(dirname(dirname(path)))

/** `.entire/metadata/<session>`, a numbered session of a checkpoint, or (old) the checkpoint itself. */
function isSessionDirectory(directory: string): boolean {
  if (sessionInPath(directory) !== undefined) return true
  const name = basename(directory)
  return INDEX.test(name) || isCheckpoint(basename(dirname(directory)), name)
}

function isCheckpoint(parent: string, name: string): boolean {
  const isSharded = parent.length === 2 && HEX.test(parent) && HEX.test(name)
  return isSharded || ULID.test(name) || (name.length === 12 && HEX.test(name))
}

/** The session's id where the directory is named after it. */
export function sessionInPath(directory: string): string | undefined {
  const metadata = dirname(directory)
  const isNamed = basename(metadata) === 'metadata' && basename(dirname(metadata)) === '.entire'
  return isNamed ? basename(directory) : undefined
}

/** What is left to name a session by when nothing else does: checkpoint and number. */
export function placeInTree(directory: string): string {
  return [dirname(dirname(directory)), dirname(directory), directory].map((one) => basename(one)).join('/')
}

/** Old versions put the date before the agent's own id. A uuid alone is unique, and is what the agent calls the session. */
export function withoutDate(session: string): string {
  return session.replace(/^\d{4}-\d\d-\d\d-(?=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$)/i, '')
}

/** Whether a context.md is another's: Entire's, and ours, only repeat the transcript, and are written anew all the time. */
export function tellsMore(context: string): boolean {
  if (!existsSync(context)) return false
  try {
    return !readBeginning(context, REPEATED.length).bytes.equals(REPEATED)
  } catch {
    // No file of ours to read: a link, a directory, one that is gone by now.
    return false
  }
}

const REPEATED = Buffer.from('# Session Context')

export const contextOf = (path: string): string => join(dirname(path), 'context.md')

export const metadataOf = (path: string): string => join(homeOf(path), 'metadata.json')

/** Transcripts beyond 50 MB go on in `full.jsonl.001`, `.002` … */
export function partAt(path: string, number: number): string {
  return number === 0 ? path : `${path}.${String(number).padStart(3, '0')}`
}

function partsOf(path: string): string[] {
  const parts: string[] = []
  while (existsSync(partAt(path, parts.length + 1))) parts.push(partAt(path, parts.length + 1))
  return parts
}

const nextPart = (path: string): string => partAt(path, partsOf(path).length + 1)
