// Cline 3 (CLI and SDK), and the tasks of the extension family: Cline's own for VS Code, Roo Code, Kilo Code.
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Environment, Source } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { hasFolders, homeFolder, lastParts } from '../kit/paths.ts'

const EXTENSIONS = ['saoudrizwan.claude-dev', 'rooveterinaryinc.roo-cline', 'kilocode.kilo-code']
const EDITORS = ['Code', 'Code - Insiders', 'VSCodium', 'Cursor', 'Windsurf']

const home = (env: Environment): string => homeFolder(env, 'CLINE_DIR', '.cline')

export const dataFolder = (env: Environment): string => env['CLINE_DATA_DIR'] || join(home(env), 'data')

/** What editors keep for their extensions, here and where they are run from afar. */
function storages(env: Environment): string[] {
  const home = env['HOME'] || homedir()
  const settings =
    process.platform === 'darwin'
      ? join(home, 'Library', 'Application Support')
      : env['APPDATA'] || env['XDG_CONFIG_HOME'] || join(home, '.config')
  const editors = EDITORS.map((editor) => join(settings, editor))
  const servers = ['.vscode-server', '.cursor-server'].map((name) => join(home, name, 'data'))
  return [...editors, ...servers].map((folder) => join(folder, 'User', 'globalStorage'))
}

function claim(path: string, isBelowRoot = false): Source | null {
  const [kind, folder = '', name = ''] = lastParts(path, 3)
  if (name === 'ui_messages.json' && (isBelowRoot || kind === 'tasks')) {
    const beside = ['history_item.json', 'task_metadata.json'].map((one) => join(dirname(path), one))
    return { path, companions: beside }
  }
  const isOurs = isBelowRoot || hasFolders(path, '.cline', 'data', 'sessions')
  if (!name.endsWith('.messages.json') || !isOurs) return null
  return { path, companions: [join(dirname(path), `${folder}.json`)] }
}

export const agent: Agent = {
  flavor: 'cline',
  title: 'Cline',
  aliases: ['cline-cli', 'roo', 'roo-code', 'roocode'],
  version: 2,
  roots: (env) => [
    env['CLINE_SESSION_DATA_DIR'] || join(dataFolder(env), 'sessions'),
    join(dataFolder(env), 'tasks'),
    ...storages(env).flatMap((storage) => EXTENSIONS.map((one) => join(storage, one, 'tasks'))),
  ],
  claim,
  load: () => import('./read.ts'),
  mcpFile: { file: (env) => join(dataFolder(env), 'settings', 'cline_mcp_settings.json') },
  resume: (id) => `cline --id ${id}`,
  start: (prompt) => ['cline', '--tui', '--', prompt],
  // It runs every script that is called as an event, with any ending: a person's own `TaskComplete` stays beside ours. One
  // event to a file, so the one that tells the most: a run has ended as it should. Tried with 3.0.65.
  integration: {
    home,
    homeVariable: 'CLINE_DIR',
    hooks: {
      file: (env) => join(home(env), 'hooks', 'TaskComplete.sh'),
      isShared: false,
      form: 'script',
      namesNoFile: true,
      events: ['TaskComplete'],
    },
  },
}
