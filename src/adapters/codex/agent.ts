// OpenAI Codex CLI: rollouts from the single-JSON files of early 2025 to 0.166. The format is described in README.md.
import type { Agent } from '../agent.ts'
import { integration } from './integration.ts'
import { mcpClient } from './mcp.ts'
import { claim, roots } from './paths.ts'

export const agent: Agent = {
  flavor: 'codex',
  title: 'Codex',
  aliases: ['codex-cli', 'openai-codex'],
  provider: 'openai',
  version: 15,
  roots,
  claim,
  load: () => import('./read.ts'),
  integration,
  mcp: mcpClient,
  resume: (id) => `codex resume ${id}`,
  start: (prompt) => ['codex', prompt],
}
