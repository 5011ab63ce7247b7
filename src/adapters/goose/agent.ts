// Goose: one SQLite database, and before 1.10 a file of JSON lines for each session. Checked with 1.34.0.
import { join } from 'node:path'
import type { Environment, Source } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { databaseSource, dataFolder, lastParts } from '../kit/paths.ts'

const sessions = (env: Environment): string => {
  const root = env['GOOSE_PATH_ROOT']
  return root ? join(root, 'data', 'sessions') : dataFolder(env, 'goose', 'sessions')
}

function claim(path: string, isBelowRoot = false): Source | null {
  const [parent, folder, name = ''] = lastParts(path, 3)
  if (!isBelowRoot && !(parent === 'goose' && folder === 'sessions')) return null
  if (name === 'sessions.db') return databaseSource(path)
  return /^\d{8}_\d{6}\.jsonl$/.test(name) ? { path } : null
}

export const agent: Agent = {
  flavor: 'goose',
  title: 'Goose',
  aliases: ['block-goose', 'goose-cli', 'codename-goose'],
  version: 3,
  hasLocalIds: true,
  roots: (env) => [sessions(env)],
  claim,
  load: () => import('./read.ts'),
  resume: (id) => `goose session --resume --session-id ${id.split('@', 1)}`,
  start: (prompt) => ['goose', 'run', '--interactive', '--text', prompt],
}
