// Declares what helps with the program itself: completions, the manual page.
import { Argument } from 'commander'
import { chooseColour } from './colour.ts'
import type { OurCommand } from './command.ts'
import { write } from './print.ts'

export function addDocsCommands(program: OurCommand): void {
  program
    .command('completion')
    .addArgument(
      new Argument('<shell>', 'the shell it is for').choices(['bash', 'zsh', 'fish', 'powershell']),
    )
    .description('completions for a shell, also of ids, repositories and models')
    .action(async (shell) => (await import('./completion.ts')).printScript(shell))
    .examples(
      ['source <(recollect completion bash)', 'in ~/.bashrc; zsh alike, in ~/.zshrc'],
      ['recollect completion fish | source', 'in ~/.config/fish/config.fish'],
      ['recollect completion powershell | Out-String | iex', 'in $PROFILE'],
    )

  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .option('--next', 'an empty word behind them, for shells that cannot pass one')
    .description('what completions ask: the words typed so far, behind --')
    .action(async (words, { next }) =>
      (await import('./completion.ts')).printCompletions(program, words, next),
    )

  program
    .command('man', { hidden: true })
    .description('prints man/recollect.1')
    .option('--markdown', 'prints docs/cli.md instead')
    .action(async (options) => {
      const { commandDocs, manPage } = await import('./man.ts')
      chooseColour('never')
      write(options.markdown ? commandDocs(program) : manPage(program, VERSION))
    })
}
