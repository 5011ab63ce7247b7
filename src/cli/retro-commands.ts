// Declares the weekly account.
import type { OurCommand } from './command.ts'

export function addRetroCommands(program: OurCommand): void {
  program
    .command('retro')
    .description('the account of a week: work, cost, what kept failing, what fixed it')
    .option('--week [week]', 'an ISO week such as 2026-W46 (the last seven days)')
    .option('--month [month]', 'a month such as 2026-11 (the last thirty days)')
    .option('--since <day>', 'from this day on (a date, or an age such as 30d)')
    .option('--until <day>', 'up to and with this day')
    .option('--flavor <name>', 'written by this agent')
    .option('--repo <name>', 'in this repository')
    .option('--host <name>', 'on this machine')
    .option('--domain <name>', 'in this domain')
    .option('--timezone <name>', "whose days count, such as Europe/Berlin (the system's)")
    .option('--format <name>', 'text, md, html or json', 'text')
    .option('--json', 'the same as --format json')
    .notes(`Compared with as many days before. Every statement names where to look:
recollect show ID#SEQ. The HTML is one file that loads nothing. See
docs/retro.md.`)
    .action(async (options) => (await import('./retro.ts')).showRetro(options))
    .examples(
      ['recollect retro', 'the last seven days'],
      ['recollect retro --week 2026-W46 --format html > w46.html', 'a page to keep'],
      ['recollect retro --month --repo web', 'thirty days of one repository'],
    )
}
