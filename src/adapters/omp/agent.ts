// oh-my-pi 18.2, a fork of pi that writes the same entries and more. Its variables are pi's, so a directory that they name is
// told by where it lies.
import { join, sep } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { hasFolders, homeFolder, lastParts } from '../kit/paths.ts'
import { SESSION_FILE } from '../pi/names.ts'

/** Sub-agents lie in a directory that is named like the session's file. */
const isSession = (path: string): boolean =>
  path.split(sep).some((part, at, all) => SESSION_FILE.test(at === all.length - 1 ? part : `${part}.jsonl`))

const isItsOwn = (place: string | undefined): boolean => hasFolders(`${place ?? ''}${sep}`, '.omp')

const home = (env: Environment): string =>
  homeFolder(env, isItsOwn(env['PI_CODING_AGENT_DIR']) ? 'PI_CODING_AGENT_DIR' : undefined, '.omp', 'agent')

export const agent: Agent = {
  flavor: 'omp',
  title: 'oh-my-pi',
  aliases: ['oh-my-pi', 'ohmypi'],
  version: 3,
  roots: (env) => {
    const { PI_CODING_AGENT_SESSION_DIR: moved } = env
    return [moved && isItsOwn(moved) ? moved : join(home(env), 'sessions')]
  },
  claim: (path, isBelowRoot = false) => {
    const [name = ''] = lastParts(path, 1)
    const isOurs = isBelowRoot || hasFolders(path, '.omp', 'agent', 'sessions')
    return isOurs && name.endsWith('.jsonl') && isSession(path) ? { path } : null
  },
  load: () => import('./read.ts'),
  resume: (id) => `omp --resume ${id}`,
  start: (prompt) => ['omp', prompt],
  mcpFile: { file: (env) => join(home(env), 'mcp.json') },
}
