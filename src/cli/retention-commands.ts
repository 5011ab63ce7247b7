// Declares the commands about what is kept: evict, pin, unpin, forget.
import type { Command } from 'commander'
import { ID_HELP } from '../query/ids.ts'
import { csvOption } from './filters.ts'
import { addExamples } from './help.ts'

export function addRetentionCommands(program: Command): void {
  const evict = program
    .command('evict')
    .description('drop raw sessions as the retention settings say')
    .option('--dry-run', 'say what would go, and why; change nothing')
    .option('--json', 'one JSON document')
    .addOption(csvOption())
    .addHelpText(
      'after',
      '\nEvery sweep ends with this. Exit code: 0 done, 4 done but un-analyzed sessions\nwere lost (they are named), 5 a sweep is running.',
    )
    .action(async (options) => (await import('./retention.ts')).runEvict(options))
  addExamples(
    evict,
    ['recollect evict --dry-run', 'what would go, and why'],
    ['recollect evict', 'do it now, without a sweep'],
  )

  const pin = program
    .command('pin')
    .argument('<id>', ID_HELP)
    .description('never evict this session')
    .action(async (id) => (await import('./retention.ts')).runPin(id))
  addExamples(pin, ['recollect pin @last', 'its raw stays, whatever the budget'], 'recollect pin 7c36')

  const unpin = program
    .command('unpin')
    .argument('<id>', ID_HELP)
    .description('let this session be evicted again')
    .action(async (id) => (await import('./retention.ts')).runUnpin(id))
  addExamples(unpin, 'recollect unpin @last', 'recollect unpin 7c36')

  const forget = program
    .command('forget')
    .argument('<id>', ID_HELP)
    .description('remove everything known of one session, for good')
    .option('--yes', 'do it: without this it says what would go, and asks')
    .option('--json', 'one JSON document')
    .action(async (id, options) => (await import('./retention.ts')).runForget(id, options))
  addExamples(
    forget,
    ['recollect forget 7c36', 'says what would go'],
    ['recollect forget 7c36 --yes', 'does it; no sweep brings it back'],
  )
}
