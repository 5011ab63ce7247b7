// Claude Code, 1.0 to 2.1.325. README.md beside this file describes the format and the decisions.
import type { Agent } from '../agent.ts'
import { integration } from './integration.ts'
import { mcpClient } from './mcp.ts'
import { claim, roots, treeOwner } from './paths.ts'

export const agent: Agent = {
  flavor: 'claude',
  title: 'Claude Code',
  aliases: ['claude-code', 'claudecode', 'claude-cli'],
  provider: 'anthropic',
  version: 13,
  roots,
  claim,
  treeOwner,
  load: () => import('./parse.ts'),
  integration,
  mcp: mcpClient,
  resume: (id) => `claude --resume ${id}`,
  start: (prompt) => ['claude', prompt],
}
