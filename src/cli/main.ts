#!/usr/bin/env node
// The command line: declares every command and its options; the work is loaded when a command runs.
import { Command, CommanderError } from 'commander'
import { EXIT, reportError } from './exit.ts'

const program = new Command('recollect')
  .description('Records, remembers and explains what coding agents did.')
  .version(VERSION, '-V, --version')
  .showHelpAfterError('(try recollect --help)')
  .showSuggestionAfterError()
  .enablePositionalOptions()

const record = program
  .command('record')
  .description('write a transcript: JSON lines on stdin, one acknowledgement per durable append on stdout')
  .addHelpText(
    'after',
    `
Each input line is answered, in order, by {"ok":true,"line":N,…} once it is durable, or by
{"ok":false,"line":N,"error":{…}}: then nothing of it was written, and the stream goes on.
Exit code: 0 all lines recorded, 4 some were refused, 1 some could not be written.

Example:
  $ echo '{"turnId":"1","role":"user","content":"hi","ts":1}' |
      recollect record turns --base ./memory --agent main --session s1`,
  )

record
  .command('turns')
  .description('turn log: TranscriptEntry objects to <base>/agents/<agent>/sessions/<session>.jsonl')
  .requiredOption('--base <dir>', 'home of the transcripts')
  .requiredOption('--agent <id>', 'agent id')
  .requiredOption('--session <id>', 'session id')
  .action(async (options) => (await import('./record.ts')).recordTurns(options))

program
  .command('config')
  .description('show the settings in force and where each comes from')
  .option('--json', 'one JSON document')
  .option('--docs', 'print docs/config.md')
  .action(async (options) => (await import('./config.ts')).showConfig(options))

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
