// Turn logs written by `TranscriptWriter` or any program that keeps docs/formats/turns.md. README.md has the decisions.
import type { Agent } from '../agent.ts'
import { claim, roots } from './paths.ts'

export const agent: Agent = {
  flavor: 'turns',
  title: 'Turn logs',
  version: 4,
  roots,
  claim,
  load: () => import('./parse.ts'),
}
