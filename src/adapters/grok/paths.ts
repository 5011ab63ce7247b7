// Where sessions lie: `sessions/<encoded cwd>/<session id>/`. Owns the names of the files that are opened; everything
// else below the home of the agent (credentials, settings, its search index) is never touched.

import { type Dirent, existsSync, lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Environment, Source } from '../adapter.ts'
import { homeFolder } from '../kit/paths.ts'

const UPDATES = 'updates.jsonl'
const CHAT = 'chat_history.jsonl'

export function roots(env: Environment): string[] {
  const home = homeFolder(env, 'GROK_HOME', '.grok')
  return [join(home, 'sessions')]
}

/** The files of one session. A missing one is simply not there when it is read. */
export interface SessionFiles {
  session: string
  directory: string
  /** updates.jsonl, or chat_history.jsonl where a session has nothing else. */
  spine: string
  isChat: boolean
  summary: string
  events: string
  usage: string
  /** Where it is not the spine: what it says beyond the updates, and until they say anything. */
  chat: string
  promptHistory: string
  /** Holds the working directory where its name is a hash. */
  cwdName: string
}

export function filesOf(spine: string): SessionFiles {
  const directory = dirname(spine)
  const project = dirname(directory)
  return {
    session: basename(directory),
    directory,
    spine,
    isChat: basename(spine) === CHAT,
    summary: join(directory, 'summary.json'),
    events: join(directory, 'events.jsonl'),
    usage: join(directory, 'usage.json'),
    chat: join(directory, CHAT),
    promptHistory: join(project, 'prompt_history.jsonl'),
    cwdName: join(project, '.cwd'),
  }
}

/** Only the spine is claimed: the other files of a session are its companions. */
export function claim(path: string, isBelowRoot = false): Source | null {
  const name = basename(path)
  if (name !== UPDATES && name !== CHAT) return null
  const directory = dirname(path)
  if (!isBelowRoot && basename(dirname(dirname(directory))) !== 'sessions') return null
  if (name === CHAT && existsSync(join(directory, UPDATES))) return null
  const files = filesOf(path)
  // prompt_history.jsonl is none: it changes with every prompt of every session in the same working directory.
  const companions = [files.summary, files.events]
  if (files.isChat) companions.push(files.usage)
  return {
    path,
    companions: [...companions.filter((one) => existsSync(one)), ...metaFiles(files)],
    ...(files.isChat ? {} : { standIn: files.chat }),
  }
}

/** The notes a session keeps on its sub-agents, in a stable order. */
export function metaFiles(files: SessionFiles): string[] {
  const directory = join(files.directory, 'subagents')
  let entries: Dirent[]
  try {
    // A link would lead to what is not the session's.
    if (!lstatSync(directory).isDirectory()) return []
    entries = readdirSync(directory, { withFileTypes: true })
  } catch {
    return []
  }
  return entries
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(directory, name, 'meta.json'))
    .sort()
    .filter((path) => existsSync(path))
}

/** The directory's name is the URL-encoded working directory, unless that was too long. */
export function decodedCwd(files: SessionFiles): string | undefined {
  try {
    const decoded = decodeURIComponent(basename(dirname(files.directory)))
    return /^(?:\/|[A-Za-z]:)/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}
