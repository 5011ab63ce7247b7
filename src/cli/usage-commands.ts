// Declares the commands about tokens and money.
import type { Command } from 'commander'
import { addExamples } from './help.ts'

export function addUsageCommands(program: Command): void {
  const usage = program
    .command('usage')
    .argument('[group]', 'day, week, month, session, model, repo, domain, flavor; or limits', 'day')
    .description('tokens and money')
    .option('--since <time>', 'from this day on (a date, a time, or an age such as 30d)')
    .option('--until <time>', 'up to and with this day, or up to this time')
    .option('--flavor <name>', 'written by this agent')
    .option('--repo <name>', 'in this repository')
    .option('--domain <name>', 'in this domain')
    .option('--model <name>', 'by this model')
    .option('--timezone <name>', "whose days count, such as Europe/Berlin (the system's)")
    .option('--json', 'one JSON document: {"rows":[…],"total":…,"models":[…],…}')
    .addHelpText(
      'after',
      `
A response counts once, on the day it came, whichever sessions hold copies of
it. Costs are list prices of the day of the response: subscriptions are not
billed that way. \`usage limits\` tells how much of the account's allowances was
used when an agent was last told. See docs/usage.md.`,
    )
    .action(async (group, options) => {
      if (group === 'limits') (await import('./limits.ts')).showLimits(options)
      else await (await import('./usage.ts')).showUsage(group, options)
    })
  addExamples(
    usage,
    ['recollect usage week', 'by week'],
    ['recollect usage model --since 30d', 'which model took how much this month'],
    ['recollect usage limits', 'how much of the allowances is used, and when they begin anew'],
    ['recollect usage --since 2026-11-01 --timezone Europe/Berlin', 'days as Berlin has them'],
  )
}
