// OpenAI Codex CLI: rollouts from the single-JSON files of early 2025 to 0.166. The format is described in README.md.
import type { Adapter } from '../adapter.ts'
import { readRollout } from './lines.ts'
import { parserOf } from './parse.ts'
import { claim, FLAVOR, roots } from './paths.ts'
import { newState } from './state.ts'

export const codex: Adapter = {
  flavor: FLAVOR,
  version: 4,
  roots,
  claim,
  read: (source, from) => readRollout(source.path, from, newState, parserOf(source.path)),
}
