// Where Claude Code keeps its transcripts, and what a path says about the file: whose session, which sub-agent.
// Only transcripts are claimed: below `projects/` and in `transcripts/`, and in copies that were named as a root. History,
// settings, todos, backups and credentials never are.
import { homedir } from 'node:os'
import { basename, dirname, join, sep } from 'node:path'
import type { Environment, Source } from '../adapter.ts'

/** What a transcript's path tells. */
export interface Place {
  /** `main` is the session's own file, `agent` a sub-agent's, `journal` the list of a workflow's steps. */
  kind: 'main' | 'agent' | 'journal'
  /** Directory of the project: the one that holds the main transcripts. */
  projectDir: string
  /** Undefined where only the records know (old sub-agent files, main files without a uuid in the name). */
  session: string | undefined
  /** Sub-agent id, or the workflow's run for a journal. */
  agent: string | undefined
  /** The workflow's run that a sub-agent belongs to. */
  run?: string
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)

export function roots(env: Environment): string[] {
  const configured = (env['CLAUDE_CONFIG_DIR'] ?? '').split(',').map((part) => part.trim())
  const named = configured.filter((part) => part !== '')
  const home = env['HOME'] || homedir()
  const configs = [join(home, '.claude'), join(env['XDG_CONFIG_HOME'] || join(home, '.config'), 'claude')]
  return [
    ...(named.length > 0 ? named : configs).flatMap((config) => [
      join(config, 'projects'),
      join(config, 'transcripts'),
    ]),
    ...(process.platform === 'darwin' ? HOSTS : []).map((folder) => join(home, 'Library', folder)),
  ]
}

/** Of programs that run the agent with a configuration of their own, which the variable says nothing about. */
export const HOSTS = [
  'Developer/Xcode/CodingAssistant/ClaudeAgentConfig/projects',
  'Application Support/Claude/local-agent-mode-sessions',
]

export function claim(path: string, isBelowRoot = false): Source | null {
  const place = placeOf(path) ?? (isBelowRoot ? copyAt(path) : null)
  if (!place) return null
  const source: Source = { path }
  // The sidecar names the call that started the sub-agent; it is written, and completed, after the transcript began.
  if (place.kind === 'agent') source.companions = [sidecarOf(path)]
  return source
}

/** Working trees that the agent makes lie inside the repository. */
export const treeOwner = (cwd: string): string | undefined =>
  /^(.+?)[\\/]\.claude[\\/]worktrees[\\/]/.exec(cwd)?.[1]

export const sidecarOf = (path: string): string => `${path.slice(0, -'.jsonl'.length)}.meta.json`

/** Null for everything that is not a transcript. */
export function placeOf(path: string): Place | null {
  if (!path.endsWith('.jsonl')) return null
  const parts = path.split(sep)
  // A project directory may itself be called `projects`: the innermost one that fits decides.
  for (
    let at = parts.lastIndexOf('projects');
    at >= 0;
    at = at === 0 ? -1 : parts.lastIndexOf('projects', at - 1)
  ) {
    const place = placeBelow(parts.slice(0, at + 2).join(sep), parts.slice(at + 2))
    if (place) return place
  }
  return /^\.?claude$/.test(parts.at(-3) ?? '') ? flatAt(parts) : null
}

/** In `transcripts/` main files lie side by side. Those named `ses_…` a plugin of another agent wrote, in words of its own. */
function flatAt(parts: readonly string[]): Place | null {
  const [folder, name = ''] = parts.slice(-2)
  if (folder !== 'transcripts' || name.startsWith('ses_') || name.startsWith('agent-')) return null
  return placeBelow(parts.slice(0, -1).join(sep), [name])
}

/** A transcript whose folders were copied without the one that held them all; null where the name says nothing. */
export function copyAt(path: string): Place | null {
  if (!path.endsWith('.jsonl')) return null
  const parts = path.split(sep)
  const at = parts.lastIndexOf('subagents')
  const of = at > 0 ? at - 1 : parts.length - 1
  const flat = flatAt(parts)
  if (flat || parts.at(-2) === 'transcripts') return flat
  const place = placeBelow(parts.slice(0, of).join(sep), parts.slice(of))
  // Beside transcripts lies much that is none.
  return place?.kind === 'main' && place.session === undefined ? null : place
}

function placeBelow(projectDir: string, rest: string[]): Place | null {
  const name = rest[rest.length - 1]
  if (name === undefined) return null
  const stem = basename(name, '.jsonl')
  const agent = stem.startsWith('agent-') ? stem.slice('agent-'.length) : undefined
  if (rest.length === 1) {
    if (agent !== undefined) return { kind: 'agent', projectDir, session: undefined, agent }
    return { kind: 'main', projectDir, session: isUuid(stem) ? stem : undefined, agent: undefined }
  }
  if (rest.length < 3 || rest[1] !== 'subagents') return null
  const session = rest[0]
  const run = rest[2] === 'workflows' && rest.length > 4 ? rest[3] : undefined
  if (agent !== undefined)
    return { kind: 'agent', projectDir, session, agent, ...(run === undefined ? {} : { run }) }
  if (name !== 'journal.jsonl' || rest.length < 4) return null
  return { kind: 'journal', projectDir, session, agent: basename(dirname(rest.join(sep))) }
}
