// Declares the commands that read digests.
import type { Command } from 'commander'

export function addDigestCommands(program: Command): void {
  program
    .command('digest')
    .argument('<id>', 'session uid, id, unique prefix or @last')
    .description('the account of a session: outcome, cost, files, tests, errors, signals')
    .option('--json', 'the digest as it is stored: one JSON document')
    .addHelpText('after', '\nExit code: 0 found, 1 there is no such session or it has no digest yet.')
    .action(async (id, options) => (await import('./digest.ts')).showDigest(id, options))

  program
    .command('env')
    .argument('<id>', 'session uid, id, unique prefix or @last')
    .description('the HELIX_* variables of a session, for eval in a shell')
    .addHelpText('after', '\nExample:\n  $ eval "$(recollect env @last)"')
    .action(async (id) => (await import('./digest.ts')).showEnv(id))

  program
    .command('patterns')
    .description('what keeps happening: errors and signals that recur over sessions, and what resolved them')
    .option('--since <time>', 'seen since (a date, or an age such as 7d)')
    .option('--limit <count>', 'at most this many (20)')
    .option('--json', 'one JSON document: {"patterns":[…]}')
    .action(async (options) => (await import('./digest.ts')).showPatterns(options))
}
