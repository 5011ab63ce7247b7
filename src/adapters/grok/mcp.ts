// Grok as a client of our MCP server. Commands, variables and output as version 1.0.41 has them.
import type { Agent } from '../agent.ts'
import { serverArguments } from '../kit/mcp-arguments.ts'

export const mcpClient: NonNullable<Agent['mcp']> = {
  program: 'grok',
  sessionVariable: 'GROK_SESSION_ID',
  add: (entry) => ['mcp', 'add', ...serverArguments(entry)],
  remove: (name) => ['mcp', 'remove', name],
  show: () => ['mcp', 'list', '--json'],
  registered: (name, { code, stdout }) => {
    if (code !== 0) return undefined
    const servers = JSON.parse(stdout) as { name: string; command?: string; args?: string[] }[]
    const found = servers.find((server) => server.name === name)
    return found && [found.command, ...(found.args ?? [])].join(' ')
  },
}
