// Where Codex keeps its rollouts, and what their names say. Only rollouts and the index of names are claimed: credentials,
// settings and the derived databases in the same directory are never opened.

import { basename, join, sep } from 'node:path'
import type { Environment, Source } from '../adapter.ts'
import { homeFolder } from '../kit/paths.ts'

const ROLLOUT = /^rollout-.*\.(?:jsonl|jsonl\.zst|json)$/s
/** What is archived is older: of a thread in several files, the later ones take back a part of the earlier ones. */
const FOLDERS = ['archived_sessions', 'sessions']
export const INDEX = 'session_index.jsonl'

export function roots(env: Environment): string[] {
  const home = homeFolder(env, 'CODEX_HOME', '.codex')
  // The index last: it speaks of sessions that the others bring.
  return [...FOLDERS, INDEX].map((name) => join(home, name))
}

export function claim(path: string, isBelowRoot = false): Source | null {
  const name = basename(path)
  if (name === INDEX) return { path, isShared: true }
  if (!ROLLOUT.test(name)) return null
  return isBelowRoot || homeOf(path) !== undefined ? { path } : null
}

/** The directory that holds `sessions` and `archived_sessions`, as seen from a rollout; undefined for a copy that lies elsewhere. */
export function homeOf(path: string): string | undefined {
  const parts = path.split(sep)
  const at = parts.findLastIndex((part) => FOLDERS.includes(part))
  return at > 0 ? parts.slice(0, at).join(sep) : undefined
}

export interface RolloutName {
  /** Thread id; the whole name where it holds no uuid. */
  thread: string
  /** Id of this file within a reverted thread; undefined for the thread's first file. */
  segment: string | undefined
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const IDS = new RegExp(`(${UUID})(?:_(${UUID}))?\\.json`, 'i')

export function rolloutName(path: string): RolloutName {
  const name = basename(path)
  const ids = IDS.exec(name)
  if (!ids?.[1]) return { thread: name.replace(/\.jsonl?(\.zst)?$/, ''), segment: undefined }
  return { thread: ids[1], segment: ids[2] }
}
