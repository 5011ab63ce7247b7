// Declares `sessions` and `search`.

import type { OurCommand } from './command.ts'
import { addFilters } from './filters.ts'
import { paged } from './pager.ts'

export function addSearchCommands(program: OurCommand): void {
  addSessions(program)
  addSearch(program)
}

function addSessions(program: OurCommand): void {
  addFilters(program.command('sessions').description('list sessions, newest first'))
    .option('--sort <order>', 'recent, cost, duration, errors or tokens')
    .option('--limit <count>', 'at most this many')
    .option('--all', "sub-agents' sessions and helper conversations too")
    .option('--json', 'one JSON document: {"sessions":[…]}')
    .csv()
    .action(async (options) => {
      const { showSessions } = await import('./sessions.ts')
      await paged(() => showSessions(options))
    })
    .examples(
      ['recollect sessions --repo shop --since 7d', 'of the last week'],
      ['recollect sessions --touched src/cart.ts --has-error', 'where a file gave trouble'],
      ['recollect sessions --sort cost --limit 10', 'the most expensive'],
    )
}

function addSearch(program: OurCommand): void {
  addFilters(
    program
      .command('search')
      .argument('<query...>', 'words, "phrases", prefix*, -not')
      .description('full-text search over everything remembered'),
  )
    .option('--kind <kinds>', 'events of these kinds only, comma-separated')
    .option('--session <id>', 'in this session only')
    .option('--exclude-session <id>', 'not in this session: an agent leaves out its own')
    .option('--literal', 'the text exactly as it is, in every body')
    .option('--regex', 'a regular expression, in every body (/one/i for any case)')
    .option('--limit <count>', 'at most this many sessions (10)')
    .option('--json', 'one JSON document: {"query":…,"hits":[…],"sessions":[…],…}')
    .csv()
    .allowUnknownOption()
    .notes(`Events with all words come first. Where there is none, bodies are read to the
last byte, sessions with all or most words are told, and mistyped words are
replaced: the answer says so. --since, --until and --tool are about the event.
What was said ranks before what tools printed. Sessions whose events are gone
are found through their digests; those of sub-agents with their task.

Exit code: 0 done, 4 done but some bodies could not be read (their summaries
stand in for them).`)
    .action(async (words, options, command) => {
      const { runSearch } = await import('./search.ts')
      await paged(() => runSearch(words, options, command))
    })
    .examples(
      ['recollect search parse_line --repo shop', 'a word, in one repository'],
      ['recollect search \'"connection refused"\' -docker --kind error', 'a phrase, without a word'],
      ["recollect search 'migrat*' --since 30d", 'a beginning'],
      ['recollect search -- --no-verify', 'what looks like a flag'],
      ['recollect search "how did we fix the flaky login test" --here', 'a question, in this repository'],
      ["recollect search --regex 'E[A-Z]+: .* denied' --since yesterday", 'in every body'],
    )
}
