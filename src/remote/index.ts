// Reading another machine's agents over `ssh`: what they left is copied, and a sweep then reads the copies as the files of
// that machine.
import { join, relative } from 'node:path'
import type { AnyAdapter, Environment } from '../adapters/adapter.ts'
import { RecollectError } from '../errors.ts'
import { type CopyReport, copyFiles } from './copy.ts'
import { type Destination, directoryOf, hostsDirectory } from './destination.ts'
import { isPlain, Mirror } from './mirror.ts'
import { RemoteShell } from './shell.ts'

export interface Copies {
  host: { key: string; name: string }
  /** For a sweep: adapters that look nowhere but among the copies, and the home directory there. */
  adapters: readonly AnyAdapter[]
  env: Environment
  report: CopyReport
  /** Nobody else copies until then. */
  close(): void
}

/** Copies what is new. What fails leaves copies that are begun; the next time goes on behind them. */
export async function copyFrom(
  destination: Destination,
  home: string,
  adapters: readonly AnyAdapter[],
): Promise<Copies> {
  const mirror = await Mirror.open(directoryOf(home, destination))
  try {
    const shell = await RemoteShell.open(destination)
    try {
      if (!isPlain(shell.home)) throw noHome(destination)
      mirror.home = shell.home
      const report = await copyFiles(shell, mirror, adapters)
      return {
        host: { key: destination.key, name: nameOf(shell.name) || destination.address },
        adapters: adapters.map((adapter) => within(mirror, adapter)),
        env: { HOME: mirror.placeOf(shell.home) },
        report,
        close: () => mirror.close(),
      }
    } finally {
      await shell.close()
    }
  } catch (error) {
    mirror.close()
    throw error
  }
}

/** What it calls itself, if a person can read that. */
const nameOf = (name: string): string => (/^[\w.-]{1,255}$/.test(name) ? name : '')

const noHome = ({ key: where }: Destination): RecollectError =>
  new RecollectError('BAD_INPUT', 'that account has no home directory', {
    where,
    hint: 'agents keep their files below it: set HOME for that account',
  })

/** Places that an agent's files name are that machine's, and mean nothing here. */
function within(mirror: Mirror, adapter: AnyAdapter): AnyAdapter {
  const roots = (env: Environment): string[] =>
    adapter.roots(env).filter((place) => mirror.remoteOf(place) !== undefined)
  return { ...adapter, roots }
}

/** Removes what was copied of a session; returns the machines it was copied from. */
export async function forgetCopies(
  home: string,
  paths: readonly string[],
  adapters: readonly AnyAdapter[],
): Promise<string[]> {
  const names = new Set(
    paths
      .map((path) => relative(hostsDirectory(home), path))
      .filter((path) => !path.startsWith('..'))
      .map((path) => path.split('/')[0] as string),
  )
  for (const name of names) {
    const mirror = await Mirror.open(join(hostsDirectory(home), name))
    try {
      const own = paths.filter((path) => mirror.remoteOf(path) !== undefined)
      mirror.forget(
        own.map(
          (path) =>
            adapters.map((one) => one.claim(path, true)).find((one) => one?.path === path) ?? { path },
        ),
        adapters,
      )
    } finally {
      mirror.close()
    }
  }
  return [...names].map((name) => decodeURIComponent(name))
}
