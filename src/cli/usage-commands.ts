// Declares the commands about tokens and money.
import type { OurCommand } from './command.ts'

export function addUsageCommands(program: OurCommand): void {
  addUsage(program)
  addStatusline(program)
}

function addStatusline(program: OurCommand): void {
  program
    .command('statusline')
    .description("one line for an agent's screen: cost of the session and of today, allowances")
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./statusline.ts')).showStatusline(options))
    .notes(
      'Reads the JSON that an agent gives its status line on stdin, and keeps how its\nallowances stand (recollect usage limits). Without stdin: of the memory alone.',
    )
    .examples(
      ['recollect statusline < /dev/null', 'of the memory alone'],
      ['"statusLine": {"type": "command", "command": "recollect statusline"}', "in the agent's settings"],
    )
}

function addUsage(program: OurCommand): void {
  program
    .command('usage')
    .argument('[group]', 'day, week, month, session, model, repo, domain, flavor; or limits, blocks', 'day')
    .description('tokens and money')
    .option('--since <time>', 'from this day on (a date, a time, or an age such as 30d)')
    .option('--until <time>', 'up to and with this day, or up to this time')
    .option('--flavor <name>', 'written by this agent')
    .option('--repo <name>', 'in this repository')
    .option('--host <name>', 'on this machine')
    .option('--domain <name>', 'in this domain')
    .option('--model <name>', 'by this model')
    .option('--timezone <name>', "whose days count, such as Europe/Berlin (the system's)")
    .option('--json', 'one JSON document: {"rows":[…],"total":…,"models":[…],…}')
    .csv()
    .notes(`A response counts once, on the day it came, whichever sessions hold copies of
it. Costs are list prices of the day of the response: subscriptions are not
billed that way. \`usage limits\` tells how much of the account's allowances was
used when an agent was last told, \`usage blocks\` what was used in each window of
five hours (of the last 7 days, unless told). See docs/usage.md.`)
    .action(async (group, options) => {
      if (group === 'limits' || group === 'blocks')
        (await import('./answers.ts')).refuseServer(`usage ${group}`)
      if (group === 'limits') await (await import('./limits.ts')).showLimits(options)
      else if (group === 'blocks') await (await import('./blocks.ts')).showBlocks(options)
      else await (await import('./usage.ts')).showUsage(group, options)
    })
    .examples(
      ['recollect usage week', 'by week'],
      ['recollect usage model --since 30d', 'which model took how much this month'],
      ['recollect usage limits', 'how much of the allowances is used, and when they begin anew'],
      ['recollect usage blocks --since 30d', 'windows of five hours: told, or inferred'],
      ['recollect usage --since 2026-11-01 --timezone Europe/Berlin', 'days as Berlin has them'],
    )
}
