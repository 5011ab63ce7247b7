// Factory's droid. Verified with 0.225.2.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { hasFolders, homeFolder, lastParts } from '../kit/paths.ts'

const SESSION = /^[0-9a-f]{8}-[0-9a-f-]{27}\.jsonl$/i

const home = (env: Environment): string => join(homeFolder(env, 'FACTORY_HOME_OVERRIDE'), '.factory')

export const agent: Agent = {
  flavor: 'droid',
  title: 'Droid',
  aliases: ['factory', 'factory-droid', 'factory-cli'],
  version: 1,
  roots: (env) => [join(home(env), 'sessions')],
  claim: (path, isBelowRoot = false) => {
    const [name = ''] = lastParts(path, 1)
    if (!SESSION.test(name) || !(isBelowRoot || hasFolders(path, '.factory', 'sessions'))) return null
    return { path, companions: [path.replace(/jsonl$/i, 'settings.json')] }
  },
  load: () => import('./read.ts'),
  resume: (id) => `droid --resume ${id}`,
  start: (prompt) => ['droid', prompt],
  // By its documentation; not tried on the client.
  mcpFile: { file: (env) => join(home(env), 'mcp.json'), more: { type: 'stdio' } },
  integration: {
    home,
    homeVariable: 'FACTORY_HOME_OVERRIDE',
    hooks: {
      file: (env) => join(home(env), 'settings.json'),
      isShared: true,
      events: ['SessionStart', 'Stop', 'SubagentStop', 'PreCompact', 'SessionEnd'],
      off: { key: 'hooksDisabled', when: true },
      obstacle: ({ env }) => {
        const other = ['hooks.json', 'hooks/hooks.json'].find((name) => existsSync(join(home(env), name)))
        if (other === undefined) return undefined
        return { kind: 'disabled', what: `${other} beside this file is read instead: move its hooks here` }
      },
    },
  },
}
