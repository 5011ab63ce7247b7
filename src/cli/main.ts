#!/usr/bin/env node
// The command line: declares every command and its options; the work is loaded when a command runs.
import { Command, CommanderError } from 'commander'
import { addDigestCommands } from './digest-commands.ts'
import { EXIT, reportError } from './exit.ts'
import { addMemoryCommands } from './memory-commands.ts'
import { addRecordCommands } from './record-commands.ts'
import { addRetentionCommands } from './retention-commands.ts'
import { addUsageCommands } from './usage-commands.ts'

const program = new Command('recollect')
  .description('Records, remembers and explains what coding agents did.')
  .version(VERSION, '-V, --version')
  .showHelpAfterError('(try recollect --help)')
  .showSuggestionAfterError()
  .enablePositionalOptions()

addRecordCommands(program)

program
  .command('sweep')
  .description('read what agents left on this machine into the memory, once')
  .option('--flavor <name>', 'only this agent')
  .option('--full', 'read every source again from its beginning')
  .option('--json', 'one JSON document, with the coverage of every source read')
  .addHelpText(
    'after',
    '\nExit code: 0 done, 4 done but something was not understood (it is named), 5 another sweep is running.',
  )
  .action(async (options) => (await import('./sweep.ts')).runSweep(options))

program
  .command('sessions')
  .description('list sessions, newest first')
  .option('--flavor <name>', 'written by this agent')
  .option('--repo <name>', 'in this repository')
  .option('--domain <name>', 'in this domain')
  .option('--model <name>', 'with this model')
  .option('--since <time>', 'active since (a date, or an age such as 7d)')
  .option('--until <time>', 'started until')
  .option('--limit <count>', 'at most this many')
  .option('--all', "sub-agents' sessions too")
  .option('--json', 'one JSON document: {"sessions":[…]}')
  .action(async (options) => (await import('./read.ts')).showSessions(options))

program
  .command('show')
  .argument('<id>', 'session uid, id, unique prefix or @last; with #SEQ one event of it')
  .description('show a session, event by event')
  .option('--kind <kinds>', 'only these kinds, comma-separated')
  .option('--json', 'one JSON document: {"session":…,"receipts":[…],"events":[…]}')
  .option('--payload', 'with --json: the full redacted body of each event')
  .action(async (id, options) => (await import('./read.ts')).showSession(id, options))

program
  .command('search')
  .argument('<query...>', 'words, "phrases", prefix*, -not')
  .description('full-text search over everything remembered')
  .option('--flavor <name>', 'written by this agent')
  .option('--limit <count>', 'at most this many (20)')
  .option('--json', 'one JSON document: {"query":…,"hits":[…]}')
  .allowUnknownOption()
  .action(async (words, options) => (await import('./read.ts')).runSearch(words, options))

addDigestCommands(program)

program
  .command('verify')
  .description('check the memory: databases, references, every payload against its hash')
  .option('--json', 'one JSON document')
  .action(async (options) => (await import('./read.ts')).runVerify(options))

program
  .command('status', { isDefault: true })
  .description('what is remembered')
  .option('--json', 'one JSON document')
  .action(async (options) => (await import('./read.ts')).showStatus(options))

program
  .command('config')
  .description('show the settings in force and where each comes from')
  .option('--json', 'one JSON document')
  .option('--docs', 'print docs/config.md')
  .action(async (options) => (await import('./config.ts')).showConfig(options))

addUsageCommands(program)
addMemoryCommands(program)
addRetentionCommands(program)

// Commander exits with 1 on a wrong command line; 2 is what scripts expect of a usage error.
function overrideExit(command: Command): void {
  command.exitOverride()
  for (const sub of command.commands) overrideExit(sub)
}
overrideExit(program)

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? EXIT.ok : EXIT.usage
  else process.exitCode = reportError(error)
}
