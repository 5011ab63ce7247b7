// Where lineage logs lie: a `session_history.jsonl` beside the file that names the current session.
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { DEFAULT_HISTORY_FILE } from '../../record/file-names.ts'
import type { Environment, Source } from '../adapter.ts'

export const FLAVOR = 'lineage'

export function roots(env: Environment): string[] {
  return [join(env['HOME'] || homedir(), '.ollim-bot')]
}

export function claim(path: string): Source | null {
  return basename(path) === DEFAULT_HISTORY_FILE ? { flavor: FLAVOR, path, isShared: true } : null
}
