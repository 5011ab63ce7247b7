// Declares `recollect ui`.
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'

export function addUiCommand(program: OurCommand): void {
  program
    .command('ui')
    .argument('[id]', `${ID_HELP}: begin with this one`)
    .description('open a local page to see what your agents did')
    .option('--port <port>', 'listen here (7077, or any free one when that is taken)')
    .option('--host <address>', 'let others reach it; needs RECOLLECT_UI_PASSWORD')
    .option('--no-open', 'print the address instead of opening a browser')
    .option('--no-watch', 'do not read in what agents write meanwhile')
    .notes(`The address that is printed holds a token that is good for one browser; stop
with Ctrl-C. What is shown, and who may see it: docs/web.md.

Exit code: 130 or 143 by the signal that ended it.`)
    .action(async (id, options) => (await import('./ui.ts')).runUi(id, options))
    .examples(
      'recollect ui',
      ['recollect ui @last', 'at the newest session'],
      ['recollect ui --no-open --port 0', 'on any free port'],
    )
}
