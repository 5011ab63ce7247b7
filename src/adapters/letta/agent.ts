// Letta Code 0.25 with its local backend; in its cloud mode conversations stay on a server.
import { basename, dirname, join } from 'node:path'
import type { Agent } from '../agent.ts'
import { hasFolders, homeFolder, lastParts } from '../kit/paths.ts'
import { ownerFile, ownerIn } from './names.ts'

export const agent: Agent = {
  flavor: 'letta',
  title: 'Letta Code',
  aliases: ['letta-code'],
  version: 1,
  roots: (env) => [
    env['LETTA_LOCAL_BACKEND_DIR']
      ? join(env['LETTA_LOCAL_BACKEND_DIR'], 'conversations')
      : join(homeFolder(env, 'LETTA_HOME', '.letta'), 'lc-local-backend', 'conversations'),
  ],
  claim: (path, isBelowRoot = false) => {
    const [name = ''] = lastParts(path, 1)
    if (name !== 'messages.jsonl') return null
    if (!isBelowRoot && !hasFolders(path, 'lc-local-backend', 'conversations')) return null
    const companions = ['conversation.json', 'manifest.json'].map((file) => join(dirname(path), file))
    const owner = ownerIn(basename(dirname(path)))
    if (owner) companions.push(ownerFile(dirname(path), owner))
    return { path, companions }
  },
  load: () => import('./read.ts'),
  // The conversation's name comes first in the id; one that has none is the agent's own.
  resume: (id) => {
    const [conversation = '', owner = ''] = id.split('@')
    return conversation === 'default' ? `letta --agent ${owner}` : `letta --conversation ${conversation}`
  },
}
