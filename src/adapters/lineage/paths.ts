// Where lineage logs lie: a `session_history.jsonl` beside the file that names the current session.

import { basename } from 'node:path'
import { DEFAULT_HISTORY_FILE } from '../../record/file-names.ts'
import type { Environment, Source } from '../adapter.ts'
import { homeFolder } from '../kit/paths.ts'

export function roots(env: Environment): string[] {
  return [homeFolder(env, undefined, '.ollim-bot')]
}

export function claim(path: string): Source | null {
  return basename(path) === DEFAULT_HISTORY_FILE ? { path, isShared: true } : null
}
