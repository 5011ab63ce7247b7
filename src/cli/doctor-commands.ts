// Declares the commands that look after an installation.
import type { Command } from 'commander'
import { addExamples } from './help.ts'

export function addDoctorCommands(program: Command): void {
  const doctor = program
    .command('doctor')
    .description('what is wrong, or soon will be, and the command that mends it')
    .option('--deep', 'check every payload against its hash, too')
    .option('--json', 'one JSON document: {"findings":[…],"counts":…}')
    .addHelpText('after', '\nExit code: 0 no errors (there may be warnings), 1 errors were found.')
    .action(async (options) => (await import('./doctor.ts')).runDoctor(options))
  addExamples(
    doctor,
    'recollect doctor',
    ['recollect doctor --deep', 'with every payload checked'],
    ["recollect doctor --json | jq -r '.findings[].fix | values'", 'what to do'],
  )
}
