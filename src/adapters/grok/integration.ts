// Grok Build's settings, and its hooks: every JSON file in a directory, so ours is one of its own. It reads Claude Code's
// hooks as well, and runs a command that stands in both once. Checked with 1.0.41.

import { join } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { homeFolder } from '../kit/paths.ts'

const home = (env: Environment): string => homeFolder(env, 'GROK_HOME', '.grok')

export const integration: NonNullable<Agent['integration']> = {
  home,
  homeVariable: 'GROK_HOME',
  hooks: {
    file: (env) => join(home(env), 'hooks', 'recollect.json'),
    isShared: false,
    events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
  },
}
