// Declares the commands that look after an installation.
import type { OurCommand } from './command.ts'

export function addDoctorCommands(program: OurCommand): void {
  program
    .command('init')
    .description('the first run: find agents, read what they left, propose the rest')
    .option('--yes', 'take every step without asking')
    .option('--dry-run', 'show every step; change nothing')
    .option('--no-input', 'ask nothing: sweep, and only show the other steps')
    .notes(`Proposed are a file for settings, hooks and the MCP server in the agents, a
daily sweep, and a longer time for an agent that deletes its transcripts. Each
is shown before it is done and can be taken back.`)
    .action(async (options) => (await import('./init.ts')).runInit(options))
    .examples('recollect init', ['recollect init --dry-run', 'what it would do'])

  program
    .command('doctor')
    .description('what is wrong, or soon will be, and the command that fixes it')
    .option('--deep', 'check every payload against its hash, too')
    .option('--fix', 'offer to have agents keep their transcripts for longer')
    .option('--undo', 'take back what --fix did')
    .option('--yes', 'with --fix: do it without asking')
    .option('--dry-run', 'with --fix or --undo: only show it')
    .option('--json', 'one JSON document: {"findings":[…],"counts":…}')
    .csv('', ['fix', 'undo'])
    .notes('Exit code: 0 no errors (there may be warnings), 1 errors were found.')
    .action(async (options) => (await import('./doctor.ts')).runDoctor(options))
    .examples(
      'recollect doctor',
      ['recollect doctor --fix --dry-run', 'what it would change, and where'],
      ['recollect doctor --deep', 'with every payload checked'],
      ["recollect doctor --json | jq -r '.findings[].fix | values'", 'what to do'],
    )
}
