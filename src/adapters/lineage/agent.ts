// Session histories written by `SessionHistory` or any program that keeps docs/formats/lineage.md. README.md has the decisions.
import type { Agent } from '../agent.ts'
import { claim, roots } from './paths.ts'

export const agent: Agent = {
  flavor: 'lineage',
  title: 'Session histories',
  version: 2,
  roots,
  claim,
  load: () => import('./parse.ts'),
}
