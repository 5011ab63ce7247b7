// Kimi Code (`kimi`). Verified with 2.1.0, protocol 1.5. And the Kimi CLI in Python before it, from its source.
import { join } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { homeFolder, lastParts } from '../kit/paths.ts'

const home = (env: Environment): string => homeFolder(env, 'KIMI_CODE_HOME', '.kimi-code')

/** Of the working directory. */
const HASH = /(?:^|_)[0-9a-f]{32}$/
const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i

export const agent: Agent = {
  flavor: 'kimi',
  title: 'Kimi Code',
  aliases: ['kimi-code', 'kimi-cli'],
  version: 1,
  roots: (env) => [join(home(env), 'sessions'), join(homeFolder(env, 'KIMI_SHARE_DIR', '.kimi'), 'sessions')],
  claim: (path, isBelowRoot = false) => {
    const [top, , , agents, , name] = lastParts(path, 6)
    if (name !== 'wire.jsonl') return null
    if (agents === 'agents')
      return isBelowRoot || top === 'sessions'
        ? { path, companions: [join(path, '..', '..', '..', 'state.json')] }
        : null
    const [above, hash = '', session = ''] = lastParts(path, 4)
    if (!HASH.test(hash) || !UUID.test(session) || !(isBelowRoot || above === 'sessions')) return null
    return { path, companions: [join(path, '..', 'state.json')] }
  },
  load: () => import('./read.ts'),
  resume: (id) => `kimi --session ${id}`,
  // By its documentation; not tried on the client.
  mcpFile: { file: (env) => join(home(env), 'mcp.json') },
  // An event or a field that it does not know keeps all of its settings from
  // being loaded: so only those that every version with hooks has.
  integration: {
    home,
    homeVariable: 'KIMI_CODE_HOME',
    hooks: {
      file: (env) => join(home(env), 'config.toml'),
      isShared: true,
      form: 'tables',
      namesNoFile: true,
      events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
    },
  },
}
