// Gemini CLI's settings, its hooks, and how it is told of an MCP server. Tried with 0.61.0: it waits in milliseconds, and
// calls `PreCompress` before every prompt, so that is not asked for.
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'

/** Its own variable names the directory in which `.gemini` lies. */
export const home = (env: Environment): string =>
  join(env['GEMINI_CLI_HOME'] || env['HOME'] || homedir(), '.gemini')

const settingsFile = (env: Environment): string => join(home(env), 'settings.json')

export const integration: NonNullable<Agent['integration']> = {
  home,
  homeVariable: 'GEMINI_CLI_HOME',
  // Seen with 0.61.0: a session of 40 days is gone after the next start, one of 20 days is not.
  keeps: {
    file: settingsFile,
    key: 'general.sessionRetention.maxAge',
    isText: true,
    switch: 'general.sessionRetention.enabled',
    defaultDays: 30,
    proposedDays: 3650,
  },
  hooks: {
    file: settingsFile,
    isShared: true,
    events: ['SessionStart', 'AfterAgent', 'SessionEnd'],
    timeUnit: 'ms',
    off: { key: 'hooksConfig.enabled', when: false },
  },
}

/** The servers stand among its settings, as `mcp add` puts them there. */
export const mcpFile: NonNullable<Agent['mcpFile']> = { file: settingsFile }
