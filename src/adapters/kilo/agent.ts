// Kilo Code's command line, a fork of opencode with the same tables. Checked with 7.7.9. (Its extension for editors writes
// another format.)
import { isAbsolute } from 'node:path'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { configFolder, databaseSource, dataFolder, lastParts } from '../kit/paths.ts'

function database(env: Environment): string {
  const named = env['KILO_DB']
  return named && isAbsolute(named) ? named : dataFolder(env, 'kilo', named || 'kilo.db')
}

export const agent: Agent = {
  flavor: 'kilo',
  title: 'Kilo Code',
  aliases: ['kilocode', 'kilo-code', 'kilo-cli'],
  version: 1,
  roots: (env) => [database(env)],
  claim: (path) => {
    const [name = ''] = lastParts(path, 1)
    return /^kilo(?:-[\w.-]+)?\.db$/.test(name) ? databaseSource(path) : null
  },
  load: () => import('./read.ts'),
  resume: (id) => `kilo -s ${id}`,
  start: (prompt) => ['kilo', '--prompt', prompt],
  // As its origin has it; not tried on the client.
  mcpFile: {
    file: (env) => configFolder(env, 'kilo', 'kilo.json'),
    key: 'mcp',
    more: { type: 'local', enabled: true },
    hasLists: true,
  },
}
