// Transcripts in Entire's layout: Recollect's own, and copies of whatever agent Entire watched. README.md has the decisions.
import type { Agent } from '../agent.ts'
import { claim, roots } from './paths.ts'

export const agent: Agent = {
  flavor: 'entire',
  title: 'Entire',
  aliases: ['entire-cli', 'entireio'],
  version: 9,
  roots,
  claim,
  load: () => import('./parse.ts'),
}
