// Declares the commands about hooks in agents' settings.
import type { Command } from 'commander'
import { csvOption } from './filters.ts'
import { addExamples } from './help.ts'

export function addHookCommands(program: Command): void {
  const hooks = program
    .command('hooks')
    .description('let agents tell when a session was written, through their own hooks')
    .addHelpText('after', '\nHow it works, and what each agent needs: docs/capture.md')

  const install = hooks
    .command('install')
    .description("add the handler to agents' settings; all else in them stays as it is")
    .option('--agent <name...>', 'only these (default: every agent that has been here)')
    .option('--dry-run', 'show what would change in each file; change nothing')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./hooks.ts')).installHooks(options))
  addExamples(
    install,
    ['recollect hooks install --dry-run', 'what would change in which file'],
    'recollect hooks install',
  )

  const uninstall = hooks
    .command('uninstall')
    .alias('remove')
    .description('take it out again (also: remove); a file nobody else changed gets its old bytes back')
    .option('--agent <name...>', 'only these')
    .option('--dry-run', 'show what would change in each file; change nothing')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./hooks.ts')).uninstallHooks(options))
  addExamples(uninstall, 'recollect hooks uninstall')

  const status = hooks
    .command('status')
    .description('what is installed, whether the agent runs it, when it last ran')
    .option('--agent <name...>', 'only these')
    .option('--json', 'one JSON document')
    .addOption(csvOption())
    .action(async (options) => (await import('./hooks.ts')).showHooks(options))
  addExamples(status, 'recollect hooks status')

  const test = hooks
    .command('test')
    .description('run the installed commands as an agent would')
    .option('--agent <name...>', 'only these')
    .option('--json', 'one JSON document')
    .addHelpText('after', '\nExit code: 0 every installed command works, 1 one does not, or there is none.')
    .action(async (options) => (await import('./hooks.ts')).testHooks(options))
  addExamples(test, 'recollect hooks test')

  program
    .command('answer-hook', { hidden: true })
    .description('what the handler asks where an event is to be answered; the event as JSON on stdin')
    .action(async () => (await import('./answer-hook.ts')).answerHook())
}
