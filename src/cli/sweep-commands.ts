// Declares the commands that fill the memory and tell its settings.
import type { OurCommand } from './command.ts'

export function addSweepCommands(program: OurCommand): void {
  program
    .command('sweep')
    .description('read what agents left on this machine into the memory, once')
    .option('--flavor <name>', 'only this agent')
    .option('--full', 'read every source again from its beginning')
    .option('--repair', 'take out what is damaged in the memory, and read that again')
    .option('--spool', 'as hooks start it: wait for its turn, then look only where they said')
    .option('--from <machine>', "read another machine's agents over ssh: ssh:host")
    .option('--dry-run', 'say what would be read; read and change nothing')
    .option('--json', 'one JSON document, with the coverage of every source read')
    .csv('the sources read: ')
    .notes(
      'Exit code: 0 done, 4 done but something was not understood (it is named),\n5 another sweep is running.',
    )
    .action(async (options) => (await import('./sweep.ts')).runSweep(options))
    .examples(
      ['recollect sweep', 'what is new since the last one'],
      ['recollect sweep --full', 'everything again, from the beginning'],
      ['recollect sweep --from ssh:build-1', 'what agents left on another machine'],
      ['recollect sweep --json | jq .coverage', 'what was understood of each file'],
    )

  program
    .command('demo')
    .description('a throw-away memory of bundled samples, for a first look')
    .option('--dir <dir>', 'where to put it (a new temporary directory)')
    .option('--if-empty', 'sweep this machine; the samples only if there is nothing')
    .option('--json', 'one JSON document: {"home":…,"samples":true,"sessions":[…]}')
    .action(async (options) => (await import('./demo.ts')).runDemo(options))
    .examples(
      ['recollect demo', 'then type what it prints'],
      ['recollect demo --dir ./look', 'in a directory of your choice'],
    )

  program
    .command('config')
    .description('the settings in force and where each comes from')
    .option('--json', 'one JSON document')
    .csv()
    .option('--docs', 'print docs/config.md')
    .action(async (options) => (await import('./config.ts')).showConfig(options))
    .examples(['recollect config', 'every setting, its value and its origin'], 'recollect config --json')
}
