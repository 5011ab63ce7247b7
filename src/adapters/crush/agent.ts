// Crush: a SQLite database in every project, all of which one file lists. From its source (2026-08); not verified with the
// program.
import { join } from 'node:path'
import { readWhole } from '../../files/reading.ts'
import type { Environment } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { fieldsIn, isRecord, list, str } from '../kit/guards.ts'
import { configFolder, databaseSource, dataFolder, lastParts } from '../kit/paths.ts'

const MAX_LIST_BYTES = 1 << 20

const home = (env: Environment): string => env['CRUSH_GLOBAL_DATA'] || dataFolder(env, 'crush')

const settings = (env: Environment): string =>
  join(env['CRUSH_GLOBAL_CONFIG'] || configFolder(env, 'crush'), 'crush.json')

/** The databases of all projects it was ever started in. */
function databases(env: Environment): string[] {
  try {
    const text = readWhole(join(home(env), 'projects.json'), MAX_LIST_BYTES).toString('utf8')
    const folders = list(fieldsIn(text)['projects']).map((one) => isRecord(one) && str(one['data_dir']))
    return folders.flatMap((folder) => (folder ? join(folder, 'crush.db') : []))
  } catch {
    return []
  }
}

export const agent: Agent = {
  flavor: 'crush',
  title: 'Crush',
  aliases: ['charm-crush', 'charmbracelet-crush'],
  version: 1,
  roots: (env) => [home(env), ...databases(env)],
  claim: (path, isBelowRoot = false) => {
    const [folder, name] = lastParts(path, 2)
    return name === 'crush.db' && (isBelowRoot || folder === '.crush') ? databaseSource(path) : null
  },
  load: () => import('./read.ts'),
  resume: (id) => `crush --session ${id}`,
  // By its source; not tried on the client.
  mcpFile: { file: settings, key: 'mcp', more: { type: 'stdio' } },
}
