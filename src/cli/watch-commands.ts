// Declares the commands that keep the memory up to date by themselves.
import type { Command } from 'commander'
import { addExamples } from './help.ts'

export function addWatchCommands(program: Command): void {
  const watch = program
    .command('watch')
    .description('sweep whatever agents write, soon after they wrote it, until stopped')
    .option('--json', 'one JSON object per line and event')
    .addHelpText(
      'after',
      `
Idle, it costs nothing. Where the system's limit of watches is reached it says
so and sweeps everything every 5 minutes besides. docs/capture.md tells more.

Exit code: 130 or 143 by the signal that ended it, 5 another watcher is running.`,
    )
    .action(async (options) => (await import('./watch.ts')).runWatch(options))
  addExamples(watch, 'recollect watch', ['recollect watch --json', 'for a program that reads along'])
}
