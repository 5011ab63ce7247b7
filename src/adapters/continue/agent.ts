// Continue's CLI (`cn`) 1.5; its IDE extensions write to the same directory.
import { dirname, join } from 'node:path'
import type { Agent } from '../agent.ts'
import { hasFolders, homeFolder, lastParts } from '../kit/paths.ts'

const INDEX = 'sessions.json'

export const agent: Agent = {
  flavor: 'continue',
  title: 'Continue',
  aliases: ['cn', 'continue-cli', 'continue-dev', 'continuedev'],
  version: 3,
  roots: (env) => [join(homeFolder(env, 'CONTINUE_GLOBAL_DIR', '.continue'), 'sessions')],
  claim: (path, isBelowRoot = false) => {
    const [name = ''] = lastParts(path, 1)
    if (!name.endsWith('.json') || name === INDEX) return null
    if (!isBelowRoot && !hasFolders(path, '.continue', 'sessions')) return null
    return { path, companions: [join(dirname(path), INDEX)] }
  },
  load: () => import('./read.ts'),
  // It takes up the last session only, so there is no command for any other.
  start: (prompt) => ['cn', prompt],
}
