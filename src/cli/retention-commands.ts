// Declares the commands about what is kept: evict, pin, unpin, forget.
import type { Command } from 'commander'

export function addRetentionCommands(program: Command): void {
  program
    .command('evict')
    .description('drop raw sessions as the retention settings say; every sweep ends with this')
    .option('--dry-run', 'say what would go, and why; change nothing')
    .option('--json', 'one JSON document')
    .addHelpText(
      'after',
      '\nExit code: 0 done, 4 done but un-analyzed sessions were lost (they are named), 5 a sweep is running.',
    )
    .action(async (options) => (await import('./retention.ts')).runEvict(options))

  program
    .command('pin')
    .argument('<id>', 'session uid, id, unique prefix or @last')
    .description('never evict this session')
    .action(async (id) => (await import('./retention.ts')).runPin(id))

  program
    .command('unpin')
    .argument('<id>', 'session uid, id, unique prefix or @last')
    .description('let this session be evicted again')
    .action(async (id) => (await import('./retention.ts')).runUnpin(id))

  program
    .command('forget')
    .argument('<id>', 'session uid, id, unique prefix or @last')
    .description('remove everything known of one session, digest and usage included, for good')
    .option('--yes', 'do it: without this it only says what would go')
    .option('--json', 'one JSON document')
    .action(async (id, options) => (await import('./retention.ts')).runForget(id, options))
}
