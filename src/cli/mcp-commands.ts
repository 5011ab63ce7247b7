// Declares the commands of the MCP server.
import type { OurCommand } from './command.ts'

export function addMcpCommands(program: OurCommand): void {
  const mcp = program.command('mcp').description('the memory as an MCP server, for agents')

  mcp
    .command('serve', { isDefault: true })
    .description('serve over stdio, as agents start it; or over HTTP on this machine')
    .option('--http [port]', 'listen on 127.0.0.1 instead (0: a free port), with a token')
    .option('--allow-write', 'let agents write decisions, notes and tags down (tools decide, label)')
    .notes(`Over HTTP the token is $RECOLLECT_MCP_TOKEN, else a new one; address and token
are printed on stderr. docs/mcp.md tells what the tools are.`)
    .action(async (options) => (await import('./mcp.ts')).serveMcp(options))
    .examples(['recollect mcp', 'what an agent runs'], ['recollect mcp serve --http', 'for other clients'])
  addRegistration(mcp)
}

function addRegistration(mcp: OurCommand): void {
  mcp
    .command('install')
    .description("register the server with agents, through the agents' own programs")
    .option('--agent <names...>', 'only with these')
    .option('--dry-run', 'show the commands; run none')
    .option('--json', 'one JSON document: {"agents":[…]}')
    .notes('For an agent that is not on the PATH the command is shown, to run by hand.')
    .action(async (options) => (await import('./mcp-install.ts')).installMcp(options))
    .examples('recollect mcp install --dry-run', 'recollect mcp install')

  mcp
    .command('uninstall')
    .alias('remove')
    .description('take the server out of the agents again (also: remove)')
    .option('--agent <names...>', 'only of these')
    .option('--dry-run', 'show the commands; run none')
    .option('--json', 'one JSON document: {"agents":[…]}')
    .action(async (options) => (await import('./mcp-install.ts')).uninstallMcp(options))
    .examples('recollect mcp uninstall --dry-run')

  mcp
    .command('status')
    .description('which agents know the server')
    .option('--agent <names...>', 'only these')
    .option('--json', 'one JSON document: {"agents":[…]}')
    .csv()
    .action(async (options) => (await import('./mcp-install.ts')).showMcp(options))
    .examples('recollect mcp status')
}
