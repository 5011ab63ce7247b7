// Codex as a client of our MCP server. Commands and output as version 0.166.0 has them. It starts servers with an
// environment of its own making, so a session is known only from the metadata of each request.
import type { Agent } from '../agent.ts'
import { isRecord } from '../kit/guards.ts'
import { serverArguments } from '../kit/mcp-arguments.ts'

const TURN = 'x-codex-turn-metadata'

export const mcpClient: NonNullable<Agent['mcp']> = {
  program: 'codex',
  sessionOf: (meta) => {
    const turn = isRecord(meta[TURN]) ? meta[TURN] : {}
    const id = turn['thread_id'] ?? turn['session_id'] ?? meta['threadId']
    return typeof id === 'string' ? id : undefined
  },
  add: (entry) => ['mcp', 'add', ...serverArguments(entry)],
  remove: (name) => ['mcp', 'remove', name],
  show: (name) => ['mcp', 'get', name, '--json'],
  registered: (_name, { code, stdout }) => {
    if (code !== 0) return undefined
    const { transport } = JSON.parse(stdout) as { transport?: { command?: string; args?: string[] } }
    return [transport?.command, ...(transport?.args ?? [])].join(' ')
  },
}
