// Qwen Code's settings, its hooks (the names are Claude Code's, the time is in milliseconds), and how it is told of an MCP
// server. Tried with 0.24.4.
import { join } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { homeFolder } from '../kit/paths.ts'

const home = (env: Environment): string => homeFolder(env, 'QWEN_HOME', '.qwen')
const settingsFile = (env: Environment): string => join(home(env), 'settings.json')

export const integration: NonNullable<Agent['integration']> = {
  home,
  homeVariable: 'QWEN_HOME',
  hooks: {
    file: settingsFile,
    isShared: true,
    events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
    timeUnit: 'ms',
    off: { key: 'disableAllHooks', when: true },
  },
}

/** The servers stand among its settings, as `mcp add` puts them there. */
export const mcpFile: NonNullable<Agent['mcpFile']> = { file: settingsFile }
