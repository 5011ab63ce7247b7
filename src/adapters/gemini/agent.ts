// Gemini CLI 0.61 (JSON lines), and the single documents that it wrote before 0.40.
import { join } from 'node:path'
import type { Agent } from '../agent.ts'
import { hasFolders, lastParts } from '../kit/paths.ts'
import { home, integration, mcpFile } from './integration.ts'

const SESSION = /^session-.+\.jsonl?$/
/** A sub-agent's file lies in a folder that is called as its parent's id. */
const SUBAGENT = /^[\w-]+\.jsonl$/

export const agent: Agent = {
  flavor: 'gemini',
  title: 'Gemini CLI',
  provider: 'gcp.gemini',
  aliases: ['gemini-cli', 'google-gemini'],
  version: 2,
  roots: (env) => [join(home(env), 'tmp')],
  claim: (path, isBelowRoot = false) => {
    const [above, folder, name = ''] = lastParts(path, 3)
    const isSession = SESSION.test(name) && (isBelowRoot || folder === 'chats')
    const isOurs = isSession || (above === 'chats' && SUBAGENT.test(name))
    if (!isOurs || !(isBelowRoot || hasFolders(path, '.gemini', 'tmp'))) return null
    const project = join(path, '..', isSession ? '..' : '../..')
    return { path, companions: [join(project, '.project_root')] }
  },
  treeOwner: (cwd) => /^(.+?)[\\/]\.gemini[\\/]worktrees[\\/]/.exec(cwd)?.[1],
  load: () => import('./read.ts'),
  integration,
  mcpFile,
  resume: (id) => `gemini --resume ${id}`,
  start: (prompt) => ['gemini', `--prompt-interactive=${prompt}`],
}
