// Qwen Code 0.24, and the single documents that its first versions wrote, as the client did of which it is a fork.
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { hasFolders, homeFolder, lastParts } from '../kit/paths.ts'
import { integration, mcpFile } from './integration.ts'

const runtime = (env: Environment, folder: string): string => {
  const variable = env['QWEN_RUNTIME_DIR'] ? 'QWEN_RUNTIME_DIR' : 'QWEN_HOME'
  return `${homeFolder(env, variable, '.qwen')}/${folder}`
}

const CHAT = /^[0-9a-f-]{36}\.jsonl$/i
const SUBAGENT = /^agent-.+\.jsonl$/
const OLD = /^session-.+\.json$/

export const agent: Agent = {
  flavor: 'qwen',
  title: 'Qwen Code',
  aliases: ['qwen-code', 'qwen-cli', 'qwencode'],
  version: 3,
  roots: (env) => [runtime(env, 'projects'), runtime(env, 'tmp')],
  claim: (path, isBelowRoot = false) => {
    const [above, folder, name = ''] = lastParts(path, 3)
    const isOurs = isBelowRoot || hasFolders(path, '.qwen', 'projects')
    if (SUBAGENT.test(name) && isOurs && (isBelowRoot || above === 'subagents'))
      return { path, companions: [`${path.slice(0, -'.jsonl'.length)}.meta.json`] }
    const isChat = CHAT.test(name) && isOurs && (isBelowRoot || folder === 'chats')
    const isOld = OLD.test(name) && folder === 'chats' && (isBelowRoot || hasFolders(path, '.qwen', 'tmp'))
    return isChat || isOld ? { path } : null
  },
  treeOwner: (cwd) => /^(.+?)[\\/]\.qwen[\\/]worktrees[\\/]/.exec(cwd)?.[1],
  load: () => import('./read.ts'),
  integration,
  mcpFile,
  resume: (id) => `qwen --resume ${id}`,
  start: (prompt) => ['qwen', `--prompt-interactive=${prompt}`],
}
