// Declares the commands about hooks in agents' settings.
import type { OurCommand } from './command.ts'

export function addHookCommands(program: OurCommand): void {
  const hooks = program
    .command('hooks')
    .description('let agents tell when a session was written, through their own hooks')
    .notes('How it works, and what each agent needs: docs/capture.md')

  hooks
    .command('install')
    .description("add the handler to agents' settings; all else in them stays as it is")
    .option('--agent <name...>', 'only these (default: every agent that has been here)')
    .option('--dry-run', 'show what would change in each file; change nothing')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./hooks.ts')).installHooks(options))
    .examples(
      ['recollect hooks install --dry-run', 'what would change in which file'],
      'recollect hooks install',
    )

  hooks
    .command('uninstall')
    .alias('remove')
    .description('take it out again (also: remove); a file nobody else changed gets its old bytes back')
    .option('--agent <name...>', 'only these')
    .option('--dry-run', 'show what would change in each file; change nothing')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./hooks.ts')).uninstallHooks(options))
    .examples('recollect hooks uninstall')

  hooks
    .command('status')
    .description('what is installed, whether the agent runs it, when it last ran')
    .option('--agent <name...>', 'only these')
    .option('--json', 'one JSON document')
    .csv()
    .action(async (options) => (await import('./hooks.ts')).showHooks(options))
    .examples('recollect hooks status')

  hooks
    .command('test')
    .description('run the installed commands as an agent would')
    .option('--agent <name...>', 'only these')
    .option('--json', 'one JSON document')
    .notes('Exit code: 0 every installed command works, 1 one does not, or there is none.')
    .action(async (options) => (await import('./hooks.ts')).testHooks(options))
    .examples('recollect hooks test')

  program
    .command('answer-hook', { hidden: true })
    .description('what the handler asks where an event is to be answered; the event as JSON on stdin')
    .action(async () => (await import('./answer-hook.ts')).answerHook())
}
