// Declares `recollect ui`.
import type { Command } from 'commander'

export function addUiCommand(program: Command): void {
  program
    .command('ui')
    .description('open a local page to see what your agents did')
    .option('--port <port>', 'listen here (7077, or any free one when that is taken)')
    .option('--host <address>', 'listen here instead of on this machine only; needs RECOLLECT_UI_PASSWORD')
    .option('--no-open', 'print the address instead of opening a browser')
    .option('--no-sweep', 'do not read in what agents left before opening')
    .addHelpText(
      'after',
      '\nThe address that is printed holds a token that is good for one browser. Stop with Ctrl-C.',
    )
    .action(async (options) => (await import('./ui.ts')).runUi(options))
}
