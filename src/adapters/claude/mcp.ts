// Claude Code as a client of our MCP server. Commands, variables and output as version 2.1.325 has them.
import type { Agent } from '../agent.ts'
import { serverArguments } from '../kit/mcp-arguments.ts'

const SCOPE = ['--scope', 'user']

export const mcpClient: NonNullable<Agent['mcp']> = {
  program: 'claude',
  sessionVariable: 'CLAUDE_CODE_SESSION_ID',
  add: (entry) => ['mcp', 'add', ...SCOPE, ...serverArguments(entry)],
  remove: (name) => ['mcp', 'remove', ...SCOPE, name],
  show: (name) => ['mcp', 'get', name],
  registered: (_name, { code, stdout }) => {
    if (code !== 0) return undefined
    const line = (title: string): string => new RegExp(`^\\s*${title}: (.*)$`, 'm').exec(stdout)?.[1] ?? ''
    return `${line('Command')} ${line('Args')}`.trim()
  },
}
