// Where runs lie: `<base>/runs/<runId>/` with the transcript (plain or gzip) and, while the run is under way, a journal.
// The three files are one source: the one that every reader looks at first is its path, the others are companions.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { GZIPPED, JOURNAL, PLAIN } from '../../record/file-names.ts'
import type { Environment, Source } from '../adapter.ts'
import { homeFolder } from '../kit/paths.ts'

const FILES = [GZIPPED, PLAIN, JOURNAL]

export function roots(env: Environment): string[] {
  return [homeFolder(env, undefined, '.devflow', 'runs')]
}

export function claim(path: string): Source | null {
  const name = basename(path)
  const directory = dirname(path)
  if (!FILES.includes(name) || basename(dirname(directory)) !== 'runs') return null
  const first = FILES.find((file) => file === name || existsSync(join(directory, file)))
  if (first !== name) return null
  return {
    path,
    companions: FILES.filter((file) => file !== name).map((file) => join(directory, file)),
  }
}

/** Whether a run lies in the directory that all projects share, where no two have one id. */
export const isShared = (runDirectory: string): boolean => dirname(baseOf(runDirectory)) === homedir()

/** The project a run belongs to: `<project>/.devflow/runs/<runId>`; undefined where the base lies in the home directory or is no dot directory. */
export function projectOf(runDirectory: string): string | undefined {
  const base = baseOf(runDirectory)
  return basename(base).startsWith('.') && !isShared(runDirectory) ? dirname(base) : undefined
}

const baseOf = (runDirectory: string): string => dirname(dirname(runDirectory))
