// OpenAI Codex CLI: rollouts from the single-JSON files of early 2025 to 0.166. The format is described in README.md.
import { basename } from 'node:path'
import type { Adapter } from '../adapter.ts'
import { readRollout } from './lines.ts'
import { readIndex } from './names.ts'
import { parserOf } from './parse.ts'
import { claim, FLAVOR, INDEX, roots } from './paths.ts'
import { forgetFiles } from './revert.ts'
import { newState } from './state.ts'

export const codex: Adapter = {
  flavor: FLAVOR,
  version: 11,
  roots(env) {
    // A sweep asks for them first.
    forgetFiles()
    return roots(env)
  },
  claim,
  read: ({ path }, from) =>
    basename(path) === INDEX ? readIndex(path, from) : readRollout(path, from, newState, parserOf(path)),
}
