// Declares the commands of the MCP server.
import type { Command } from 'commander'

export function addMcpCommands(program: Command): void {
  const mcp = program.command('mcp').description('the memory as an MCP server, for agents')

  mcp
    .command('serve', { isDefault: true })
    .description('serve over stdio, as agents start it; or over HTTP on this machine')
    .option('--http [port]', 'listen on 127.0.0.1 instead (0: a free port), with a token')
    .addHelpText(
      'after',
      `
The token over HTTP is $RECOLLECT_MCP_TOKEN, else a new one; address and token are printed on stderr.
What the tools are: docs/mcp.md.`,
    )
    .action(async (options) => (await import('./mcp.ts')).serveMcp(options))
}
