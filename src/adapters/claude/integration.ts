// Claude Code's settings, and its hooks. Checked with 2.1.325.
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'

function home(env: Environment): string {
  // Readers take a list here; the agent itself takes one directory.
  const [configured] = (env['CLAUDE_CONFIG_DIR'] ?? '').split(',').map((part) => part.trim())
  return configured || join(env['HOME'] || homedir(), '.claude')
}

const settingsFile = (env: Environment): string => join(home(env), 'settings.json')

export const integration: NonNullable<Agent['integration']> = {
  home,
  homeVariable: 'CLAUDE_CONFIG_DIR',
  keeps: { file: settingsFile, key: 'cleanupPeriodDays', defaultDays: 30, proposedDays: 3650 },
  hooks: {
    file: settingsFile,
    isShared: true,
    // Known to every version since 1.0.85: versions up to 2.1.50 run no hook at all when they meet an event they do not know.
    events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
    // The first is known since 2.1: see above for what older versions make of it.
    answers: { failed: 'PostToolUseFailure', prompt: 'UserPromptSubmit', call: 'PreToolUse' },
    off: { key: 'disableAllHooks', when: true },
  },
}
