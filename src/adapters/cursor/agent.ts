// Cursor, which keeps conversations in three places: transcripts of agents, databases of the command line, and the database of
// the editor. From what others found out about them (formats of 2025 and 2026); not verified with the program.
import { join } from 'node:path'
import type { Environment, Source } from '../adapter.ts'
import type { Agent } from '../agent.ts'
import { configFolder, databaseSource, hasFolders, homeFolder, lastParts } from '../kit/paths.ts'

/** Of the editor: on Linux, and on macOS. */
export const editors = (env: Environment): string[] =>
  [configFolder(env), homeFolder(env, undefined, 'Library', 'Application Support')].map((folder) =>
    join(folder, 'Cursor', 'User', 'globalStorage', 'state.vscdb'),
  )

function claim(path: string, isBelowRoot = false): Source | null {
  const [top, , folder, name = ''] = lastParts(path, 4)
  if (name === 'state.vscdb' && folder === 'globalStorage') return databaseSource(path)
  if (name === 'store.db' && (isBelowRoot || top === 'chats')) return databaseSource(path)
  return name.endsWith('.jsonl') && hasFolders(path, 'agent-transcripts') ? { path } : null
}

export const agent: Agent = {
  flavor: 'cursor',
  title: 'Cursor',
  aliases: ['cursor-agent', 'cursor-cli'],
  version: 2,
  roots: (env) => [
    homeFolder(env, undefined, '.cursor', 'projects'),
    homeFolder(env, undefined, '.cursor', 'chats'),
    ...editors(env),
  ],
  claim,
  load: () => import('./read.ts'),
  resume: (id) => `cursor-agent --resume ${id}`,
  start: (prompt) => ['cursor-agent', prompt],
  // By its documentation; not tried on the client.
  mcpFile: { file: (env) => homeFolder(env, undefined, '.cursor', 'mcp.json') },
}
