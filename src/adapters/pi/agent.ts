// pi: 0.73 of @mariozechner and 0.87 of @earendil-works, whose session files are of version 3, and versions 1 and 2 before them.
import { join } from 'node:path'
import type { Agent } from '../agent.ts'
import { hasFolders, homeFolder, lastParts } from '../kit/paths.ts'
import { SESSION_FILE } from './names.ts'

export const agent: Agent = {
  flavor: 'pi',
  title: 'pi',
  aliases: ['pi-mono', 'pi-coding-agent', 'pi-agent'],
  version: 2,
  roots: (env) => [
    env['PI_CODING_AGENT_SESSION_DIR'] ||
      join(homeFolder(env, 'PI_CODING_AGENT_DIR', '.pi', 'agent'), 'sessions'),
  ],
  claim: (path, isBelowRoot = false) => {
    const [name = ''] = lastParts(path, 1)
    const isOurs = isBelowRoot || hasFolders(path, '.pi', 'agent', 'sessions')
    return isOurs && SESSION_FILE.test(name) ? { path } : null
  },
  load: () => import('./read.ts'),
  resume: (id) => `pi --session ${id}`,
  start: (prompt) => ['pi', prompt],
}
