// Declares the commands that read digests.
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'
import { paged } from './pager.ts'

export function addDigestCommands(program: OurCommand): void {
  program
    .command('digest')
    .argument('<id>', ID_HELP)
    .description('the account of a session: outcome, files, tests, errors')
    .option('--json', 'the digest as it is stored: one JSON document')
    .notes('Exit code: 0 found, 1 there is no such session or it has no digest yet.')
    .action(async (id, options) => {
      const { showDigest } = await import('./digest.ts')
      await paged(() => showDigest(id, options))
    })
    .examples(
      ['recollect digest @last', 'how the newest session went'],
      ['recollect digest 7c36 --json | jq .files', 'what it changed, for a script'],
    )

  program
    .command('env')
    .argument('<id>', ID_HELP)
    .description('the HELIX_* variables of a session, for a shell')
    .action(async (id) => (await import('./digest.ts')).showEnv(id))
    .examples(
      ['eval "$(recollect env @last)"', 'sets HELIX_SESSION_UID, HELIX_TOKENS and so on'],
      ['recollect env @last | source', 'the same in fish'],
    )

  program
    .command('patterns')
    .argument('[error...]', 'the text of an error: was it met before, and what fixed it')
    .description('what keeps failing across sessions, and what fixed it')
    .option('--since <time>', 'seen since (a date, or an age such as 7d)')
    .option('--limit <count>', 'at most this many (20)')
    .option(
      '--json',
      'one JSON document: {"patterns":[…]}, or with an error {"sample":…,"mends":[…],"seen":[…]}',
    )
    .csv()
    .action(async (error, options) => (await import('./patterns.ts')).showPatterns(error, options))
    .examples(
      ['recollect patterns', 'most often first'],
      ['recollect patterns --since 30d --limit 5', 'of the last month'],
      ['recollect patterns "rg: command not found"', 'how this one was overcome, the best way first'],
    )
}
