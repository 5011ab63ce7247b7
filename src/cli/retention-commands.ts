// Declares the commands about what is kept: evict, pin, unpin, forget.
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'

export function addRetentionCommands(program: OurCommand): void {
  program
    .command('evict')
    .description('drop raw sessions as the retention settings say')
    .option('--dry-run', 'say what would go, and why; change nothing')
    .option('--json', 'one JSON document')
    .csv()
    .notes(
      'Every sweep ends with this. Exit code: 0 done, 4 done but un-analyzed sessions\nwere lost (they are named), 5 a sweep is running.',
    )
    .action(async (options) => (await import('./retention.ts')).runEvict(options))
    .examples(
      ['recollect evict --dry-run', 'what would go, and why'],
      ['recollect evict', 'do it now, without a sweep'],
    )

  program
    .command('pin')
    .argument('<id>', ID_HELP)
    .description('never evict this session')
    .action(async (id) => (await import('./retention.ts')).runPin(id))
    .examples(['recollect pin @last', 'its raw stays, whatever the budget'], 'recollect pin 7c36')

  program
    .command('unpin')
    .argument('<id>', ID_HELP)
    .description('let this session be evicted again')
    .action(async (id) => (await import('./retention.ts')).runUnpin(id))
    .examples('recollect unpin @last', 'recollect unpin 7c36')

  program
    .command('forget')
    .argument('<id>', ID_HELP)
    .description('remove everything known of one session, for good')
    .option('--yes', 'do it: without this it says what would go, and asks')
    .option('--json', 'one JSON document')
    .action(async (id, options) => (await import('./retention.ts')).runForget(id, options))
    .examples(
      ['recollect forget 7c36', 'says what would go'],
      ['recollect forget 7c36 --yes', 'does it; no sweep brings it back'],
    )
}
