// Codex's settings, its hooks, and its trust in them: a hook runs only after the person has approved it in `/hooks`, and
// is otherwise skipped without a word. Checked with 0.166.0.

import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { crypto } from '../../files/builtin.ts'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import type { HookLook, InstalledHook, Obstacle } from '../integration.ts'
import { homeFolder } from '../kit/paths.ts'

const home = (env: Environment): string => homeFolder(env, 'CODEX_HOME', '.codex')

interface Settings {
  features?: { hooks?: unknown; codex_hooks?: unknown }
  hooks?: { state?: Record<string, { trusted_hash?: unknown; enabled?: unknown }> }
}

function obstacle({ env, file, found, settings }: HookLook): Obstacle | undefined {
  const { features, hooks } = settings(join(home(env), 'config.toml')) as Settings
  if (features?.hooks === false || features?.codex_hooks === false)
    return { kind: 'disabled', what: 'hooks are turned off under [features] in config.toml' }
  const states = hooks?.state ?? {}
  const stateOf = (place: InstalledHook): { trusted_hash?: unknown; enabled?: unknown } | undefined =>
    [file, real(file)].map((path) => states[keyOf(path, place)]).find(Boolean)
  if (found.some((place) => stateOf(place)?.enabled === false))
    return { kind: 'disabled', what: 'switched off in Codex: run /hooks there' }
  const pending = found.filter((place) => stateOf(place)?.trusted_hash !== trustHash(place))
  if (pending.length === 0) return undefined
  return { kind: 'trust', what: `${pending.length} not trusted yet: open Codex and approve them with /hooks` }
}

/** How the agent names a handler when it writes down that it is trusted. */
function keyOf(file: string, { event, group, handler }: InstalledHook): string {
  return `${file}:${eventName(event)}:${group}:${handler}`
}

const eventName = (event: string): string => event.replace(/(?<=[a-z])[A-Z]/g, '_$&').toLowerCase()

/** What is written down when a handler is trusted: a changed one has to be approved again. */
function trustHash({ event, value }: InstalledHook): string {
  const { command, timeout, type } = value as Record<string, unknown>
  const identity = { event_name: eventName(event), hooks: [{ async: false, command, timeout, type }] }
  return `sha256:${crypto().hash('sha256', JSON.stringify(identity), 'hex')}`
}

function real(path: string): string {
  try {
    return realpathSync.native(path)
  } catch {
    return path
  }
}

export const integration: NonNullable<Agent['integration']> = {
  home,
  homeVariable: 'CODEX_HOME',
  hooks: {
    file: (env) => join(home(env), 'hooks.json'),
    isShared: true,
    events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
    answers: { failed: 'PostToolUse', prompt: 'UserPromptSubmit', call: 'PreToolUse' },
    obstacle,
  },
}
