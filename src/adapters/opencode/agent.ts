// opencode: one SQLite database, and before 1.2 a tree of JSON files. Checked with 1.18.33.
import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import type { Environment, Source } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { configFolder, databaseSource, dataFolder, hasFolders, lastParts } from '../kit/paths.ts'

const settings = (env: Environment): string => configFolder(env, 'opencode')

/** Of its two names of a file of settings, the one that is there. */
function settingsFile(env: Environment): string {
  const withComments = join(settings(env), 'opencode.jsonc')
  return existsSync(withComments) ? withComments : join(settings(env), 'opencode.json')
}

function database(env: Environment): string {
  const named = env['OPENCODE_DB']
  return named && isAbsolute(named) ? named : dataFolder(env, 'opencode', named || 'opencode.db')
}

function claim(path: string, isBelowRoot = false): Source | null {
  const [area, , name = ''] = lastParts(path, 3)
  if (/^opencode(?:-[\w.-]+)?\.db$/.test(name)) return databaseSource(path)
  if (!/^ses_\w+\.json$/.test(name) || area !== 'session') return null
  if (!isBelowRoot && !hasFolders(path, 'opencode', 'storage')) return null
  return { path, companions: [messagesOf(path)] }
}

/** In the old tree: the directory with the messages of a session's file. */
const messagesOf = (path: string): string =>
  path.replace(/session([/\\])[^/\\]+[/\\]([^/\\]+)\.json$/, 'message$1$2')

export const agent: Agent = {
  flavor: 'opencode',
  title: 'opencode',
  aliases: ['open-code', 'opencode-ai', 'sst-opencode'],
  version: 1,
  roots: (env) => [database(env), dataFolder(env, 'opencode', 'storage', 'session')],
  claim,
  load: () => import('./read.ts'),
  resume: (id) => `opencode -s ${id}`,
  start: (prompt) => ['opencode', '--prompt', prompt],
  // Both by its documentation; not tried on the client.
  mcpFile: { file: settingsFile, key: 'mcp', more: { type: 'local', enabled: true }, hasLists: true },
  integration: {
    home: settings,
    homeVariable: 'XDG_CONFIG_HOME',
    hooks: {
      file: (env) => join(settings(env), 'plugin', 'recollect.js'),
      isShared: false,
      form: 'plugin',
      namesNoFile: true,
      events: ['session.idle', 'session.compacted'],
    },
  },
}
