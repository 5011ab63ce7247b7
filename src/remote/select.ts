// Which of another machine's files are copied: those that an agent's adapter claims, what it names beside them, and what lies
// in the same folder below a root (outputs that were put into files of their own). Of what lies in a root itself only the
// former: there agents keep settings. Files that hold credentials by their name never are.
import type { AnyAdapter } from '../adapters/adapter.ts'
import type { Mirror } from './mirror.ts'
import type { Listing, RemoteFile } from './shell.ts'

export interface Listed extends Listing {
  root: string
}

/** Its main file first, then its logs. */
export type FileGroup = [RemoteFile, ...RemoteFile[]]

export interface Found {
  files: RemoteFile[]
  databases: FileGroup[]
  /** Paths beside the sources, whether or not they exist. */
  companions: string[]
}

const CREDENTIALS = /^\.?(?:credentials?|auth)(?:\.json)?$|oauth|tokens?(?:\.json)?$|^\.env|\.(?:pem|key)$/i
const LOGS = ['-wal', '-journal']

export function selectFiles(
  listed: readonly Listed[],
  roots: ReadonlyMap<string, readonly AnyAdapter[]>,
  mirror: Mirror,
  beside: readonly Listed[] = [],
): Found {
  const all = new Map([...listed, ...beside].flatMap(({ files }) => files.map((file) => [file.path, file])))
  const wanted = new Set<string>()
  const companions = new Set<string>()
  const databases = new Set<string>()
  for (const { root, files } of listed) {
    const folders = new Set<string>()
    for (const { path } of files)
      for (const adapter of roots.get(root) ?? []) {
        const source = adapter.claim(mirror.placeOf(path), true)
        if (!source) continue
        wanted.add(path)
        if (source.isDatabase) databases.add(path)
        else folders.add(folderOf(path, root))
        const names = (source.companions ?? []).map((place) => mirror.remoteOf(place))
        for (const name of [...names, ...(source.isDatabase ? LOGS.map((log) => path + log) : [])])
          if (name !== undefined) companions.add(name)
      }
    for (const { path } of files)
      if (folders.has(folderOf(path, root)) && folderOf(path, root) !== '') wanted.add(path)
  }
  for (const { root, files } of beside)
    if (companions.has(root)) for (const { path } of files) wanted.add(path)
  for (const path of companions) if (all.has(path)) wanted.add(path)
  const logs = new Set([...databases].flatMap((path) => [...LOGS, '-shm'].map((log) => path + log)))
  const isPlainFile = (path: string): boolean =>
    !databases.has(path) && !logs.has(path) && !CREDENTIALS.test(path.slice(path.lastIndexOf('/') + 1))
  return {
    files: [...wanted].filter(isPlainFile).map((path) => all.get(path) as RemoteFile),
    databases: [...databases].map(
      (path) => [path, ...LOGS.map((log) => path + log)].flatMap((one) => all.get(one) ?? []) as FileGroup,
    ),
    companions: [...companions],
  }
}

/** The first folder below the root; empty for what lies in the root itself. */
function folderOf(path: string, root: string): string {
  const rest = path.slice(root.length + 1)
  return rest.includes('/') ? rest.slice(0, rest.indexOf('/')) : ''
}
