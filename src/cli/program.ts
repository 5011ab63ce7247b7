// Declares every command and its options; the work is loaded when a command runs.
import { Command } from 'commander'
import { addDigestCommands } from './digest-commands.ts'
import { addDocsCommands } from './docs-commands.ts'
import { addDoctorCommands } from './doctor-commands.ts'
import { addExportCommands } from './export-commands.ts'
import { finishCommands } from './help.ts'
import { addHookCommands } from './hooks-commands.ts'
import { addMcpCommands } from './mcp-commands.ts'
import { addMemoryCommands } from './memory-commands.ts'
import { addReadCommands } from './read-commands.ts'
import { addRecordCommands } from './record-commands.ts'
import { addRetentionCommands } from './retention-commands.ts'
import { addRetroCommands } from './retro-commands.ts'
import { addSearchCommands } from './search-commands.ts'
import { addSweepCommands } from './sweep-commands.ts'
import { addUiCommand } from './ui-commands.ts'
import { addUsageCommands } from './usage-commands.ts'
import { addWatchCommands } from './watch-commands.ts'

/** The whole tree, as the program, the completions, the man page and the tests use it. */
export function buildProgram(): Command {
  const program = new Command('recollect')
    .description('Records, remembers and explains what coding agents did.')
    .version(VERSION, '-V, --version', 'the version')
    .helpOption('-h, --help', 'help for a command')
    .enablePositionalOptions()

  addRecordCommands(program)
  addSweepCommands(program)
  addHookCommands(program)
  addWatchCommands(program)
  addReadCommands(program)
  addSearchCommands(program)
  addExportCommands(program)
  addDigestCommands(program)
  addUsageCommands(program)
  addUiCommand(program)
  addMemoryCommands(program)
  addRetroCommands(program)
  addRetentionCommands(program)
  addMcpCommands(program)
  addDoctorCommands(program)

  addDocsCommands(program)

  finishCommands(program)
  return program
}
