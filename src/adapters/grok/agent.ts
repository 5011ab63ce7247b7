// Sessions of the Grok Build CLI (`grok`, 0.2 to 1.0.41). README.md describes the format as it is read here.
import type { Agent } from '../agent.ts'
import { integration } from './integration.ts'
import { mcpClient } from './mcp.ts'
import { claim, roots } from './paths.ts'

export const agent: Agent = {
  flavor: 'grok',
  title: 'Grok Build',
  aliases: ['grok-build', 'grok-cli', 'grok-code'],
  provider: 'x_ai',
  version: 9,
  roots,
  claim,
  load: () => import('./parse.ts'),
  integration,
  mcp: mcpClient,
  resume: (id) => `grok --resume ${id}`,
}
