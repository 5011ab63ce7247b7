// Where turn logs lie: `<base>/agents/<agentId>/sessions/<sessionId>.jsonl`.

import { basename, sep } from 'node:path'
import type { Environment, Source } from '../adapter.ts'
import { homeFolder } from '../kit/paths.ts'

export function roots(env: Environment): string[] {
  return [homeFolder(env, undefined, '.homeagent', 'agents')]
}

export function claim(path: string): Source | null {
  return sessionOf(path) === undefined ? null : { path }
}

/** `<agentId>/<sessionId>`: the same session id may occur with several agents. */
export function sessionOf(path: string): string | undefined {
  const [agents, agent, sessions] = path.split(sep).slice(-4)
  if (agents !== 'agents' || sessions !== 'sessions' || !agent || !path.endsWith('.jsonl')) return undefined
  const session = basename(path, '.jsonl')
  // A dot file is a writer's temporary.
  return session === '' || session.startsWith('.') ? undefined : `${agent}/${session}`
}
