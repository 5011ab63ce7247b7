// Runs written by `RunTranscript` or the Go program whose format it keeps (docs/formats/run.md). README.md has the decisions.
import type { Agent } from '../agent.ts'
import { claim, roots } from './paths.ts'

export const agent: Agent = {
  flavor: 'run',
  title: 'Runs',
  version: 6,
  roots,
  claim,
  load: () => import('./parse.ts'),
}
