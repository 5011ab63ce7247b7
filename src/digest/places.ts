// One name for one file: relative to the repository the session was in, if it lies in there, with one kind of slash, whatever
// spelling a call used. Where the repository begins is told by its name alone: the files need not be here any more.
import type { Facts } from './facts.ts'
import { joinSeqs } from './seqs.ts'
import type { FileFact } from './work.ts'

export interface Place {
  /** The directory of the repository, or where the session was, absolute and with slashes; empty where neither is known. */
  root: string
  /** Where in it the session was: what it called by a relative name lies there. */
  base: string
  isWindows: boolean
}

const DRIVE = /^([A-Za-z]):(?=\/|$)/
/** Drives as other programs on Windows name them. */
const MOUNTED = /^\/(?:mnt\/|cygdrive\/)?([A-Za-z])(?=\/)/

const isWindowsPath = (path: string): boolean => /^[A-Za-z]:[\\/]|^\\\\/.test(path)

export function placeIn(cwd: string | null, repo: string | null): Place {
  const isWindows = isWindowsPath(cwd ?? '')
  const here = spelled(cwd ?? '', isWindows).replace(/(?<=[^/:])\/+$/, '')
  const parts = here.split('/')
  const at = repo ? parts.lastIndexOf(repo) : -1
  const root = at > 0 ? parts.slice(0, at + 1).join('/') : here
  return { root, base: here.slice(root.length + 1), isWindows }
}

/** How the digest names a file. */
export function pathIn({ root, base, isWindows }: Place, path: string): string {
  const told = spelled(path, isWindows)
  const name = resolved(base === '' || isAbsolute(told) ? told : `${base}/${told}`)
  if (!isAbsolute(name)) return name.startsWith('../') && root !== '' ? resolved(`${root}/${name}`) : name
  if (root === '') return name
  const [a, b] = isWindows ? [name.toLowerCase(), root.toLowerCase()] : [name, root]
  return a.startsWith(`${b}/`) ? name.slice(root.length + 1) : name
}

/** What joins two spellings. */
export const keyOf = ({ isWindows }: Place, path: string): string => (isWindows ? path.toLowerCase() : path)

const isAbsolute = (path: string): boolean => path.startsWith('/') || isWindowsPath(path)

/** A backslash is a letter of a name where there are no drives. */
function spelled(path: string, isWindows: boolean): string {
  if (!isWindows && !isWindowsPath(path)) return path
  const slashes = path.replace(/\\+/g, '/')
  const mounted = isWindows ? slashes.replace(MOUNTED, '$1:') : slashes
  return mounted.replace(DRIVE, (_, drive: string) => `${drive.toUpperCase()}:`)
}

function resolved(path: string): string {
  if (!/(?:^|\/)\.\.?(?:\/|$)|\/\//.test(path)) return path
  const parts: string[] = []
  for (const [at, part] of path.split('/').entries()) {
    if (part === '.' || (part === '' && at > 0)) continue
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..' && parts.at(-1) !== '') parts.pop()
    else parts.push(part)
  }
  return parts.join('/')
}

/** The same with one entry for each file. */
export function withPlaces(facts: Facts, place: Place): Facts {
  const files = new Map<string, FileFact>()
  for (const file of facts.work.files.values()) {
    const path = pathIn(place, file.path)
    const key = keyOf(place, path)
    const known = files.get(key)
    files.set(key, known ? joined(known, file) : { ...file, path })
  }
  return { ...facts, work: { ...facts.work, files } }
}

const joined = (a: FileFact, b: FileFact): FileFact => ({
  path: a.path,
  touches: a.touches + b.touches,
  seqs: joinSeqs(a.seqs, b.seqs),
  edits: joinSeqs(a.edits, b.edits),
  order: Math.max(a.order, b.order),
})
