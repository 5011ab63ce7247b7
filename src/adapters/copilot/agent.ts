// GitHub Copilot CLI. Verified with 1.0.102; the flat files of versions before 1.0 speak the same language.
import { join } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { homeFolder, lastParts } from '../kit/paths.ts'

export const FOLDER = 'session-state'
const FLAT = /^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$/i

const home = (env: Environment): string => homeFolder(env, 'COPILOT_HOME', '.copilot')

export const agent: Agent = {
  flavor: 'copilot',
  title: 'Copilot CLI',
  aliases: ['copilot-cli', 'github-copilot'],
  version: 1,
  roots: (env) => [join(home(env), FOLDER)],
  claim: (path, isBelowRoot = false) => {
    const [above, folder, name = ''] = lastParts(path, 3)
    if (name === 'events.jsonl' && (isBelowRoot || above === FOLDER))
      return { path, companions: [`${path.slice(0, -name.length)}workspace.yaml`] }
    return FLAT.test(name) && (isBelowRoot || folder === FOLDER) ? { path } : null
  },
  load: () => import('./read.ts'),
  resume: (id) => `copilot --resume=${id}`,
  start: (prompt) => ['copilot', '-i', prompt],
  // By its documentation; not tried on the client.
  mcpFile: { file: (env) => join(home(env), 'mcp-config.json'), more: { type: 'local', tools: ['*'] } },
  integration: {
    home,
    homeVariable: 'COPILOT_HOME',
    hooks: {
      file: (env) => join(home(env), 'hooks', 'recollect.json'),
      isShared: false,
      form: 'lists',
      namesNoFile: true,
      events: ['sessionStart', 'agentStop', 'subagentStop', 'sessionEnd'],
      off: { key: 'disableAllHooks', when: true, file: (env) => join(home(env), 'settings.json') },
    },
  },
}
