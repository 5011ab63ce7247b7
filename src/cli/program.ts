// Declares every command and its options; the work is loaded when a command runs.
import type { Command } from 'commander'
import { addActCommands } from './act-commands.ts'
import { OurCommand } from './command.ts'
import { addDigestCommands } from './digest-commands.ts'
import { addDocsCommands } from './docs-commands.ts'
import { addDoctorCommands } from './doctor-commands.ts'
import { addExportCommands } from './export-commands.ts'
import { addFleetCommands } from './fleet-commands.ts'
import { finishCommands } from './help.ts'
import { addHookCommands } from './hooks-commands.ts'
import { addLabelCommands } from './label-commands.ts'
import { addLineageCommand } from './lineage-commands.ts'
import { addMcpCommands } from './mcp-commands.ts'
import { addReadCommands } from './read-commands.ts'
import { addRecordCommands } from './record-commands.ts'
import { addRetentionCommands } from './retention-commands.ts'
import { addRetroCommands } from './retro-commands.ts'
import { addSearchCommands } from './search-commands.ts'
import { addSweepCommands } from './sweep-commands.ts'
import { addUiCommand } from './ui-commands.ts'
import { addUsageCommands } from './usage-commands.ts'
import { addWatchCommands } from './watch-commands.ts'

/** Each part with the commands it declares; the last one is about all of them. */
const PARTS: readonly (readonly [names: readonly string[], declare: (program: OurCommand) => void])[] = [
  [['record'], addRecordCommands],
  [['sweep', 'demo', 'config'], addSweepCommands],
  [['hooks', 'answer-hook'], addHookCommands],
  [['watch', 'schedule'], addWatchCommands],
  [['status', 'show', 'verify'], addReadCommands],
  [['sessions', 'search'], addSearchCommands],
  [['resume', 'handoff', 'blame', 'recall'], addActCommands],
  [['export'], addExportCommands],
  [['digest', 'env', 'patterns'], addDigestCommands],
  [['usage', 'statusline'], addUsageCommands],
  [['ui'], addUiCommand],
  [['lineage'], addLineageCommand],
  [['decide', 'tag', 'note', 'title', 'star'], addLabelCommands],
  [['retro'], addRetroCommands],
  [['evict', 'pin', 'unpin', 'forget'], addRetentionCommands],
  [['mcp'], addMcpCommands],
  [['push', 'serve'], addFleetCommands],
  [['init', 'doctor'], addDoctorCommands],
  [[], addDocsCommands],
]

/**
 * The whole tree, as the program, the completions, the man page and the tests use it. With the name of a command only
 * its part: to declare all of them takes as long as a search.
 */
export function buildProgram(wanted?: string): Command {
  const program = new OurCommand('recollect')
    .description('Records, remembers and explains what coding agents did.')
    .version(VERSION, '-V, --version', 'the version')
    .helpOption('-h, --help', 'help for a command')
    .enablePositionalOptions()
  const own = PARTS.filter(([names]) => wanted !== undefined && names.includes(wanted))
  for (const [, declare] of own.length > 0 ? own : PARTS) declare(program)
  finishCommands(program)
  return program
}
