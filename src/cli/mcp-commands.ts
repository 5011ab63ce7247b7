// Declares the commands of the MCP server.
import type { Command } from 'commander'
import { addExamples } from './help.ts'

export function addMcpCommands(program: Command): void {
  const mcp = program.command('mcp').description('the memory as an MCP server, for agents')

  const serve = mcp
    .command('serve', { isDefault: true })
    .description('serve over stdio, as agents start it; or over HTTP on this machine')
    .option('--http [port]', 'listen on 127.0.0.1 instead (0: a free port), with a token')
    .addHelpText(
      'after',
      `
Over HTTP the token is $RECOLLECT_MCP_TOKEN, else a new one; address and token
are printed on stderr. docs/mcp.md tells what the tools are.`,
    )
    .action(async (options) => (await import('./mcp.ts')).serveMcp(options))
  addExamples(
    serve,
    ['recollect mcp', 'what an agent runs'],
    ['recollect mcp serve --http', 'for other clients'],
  )
}
