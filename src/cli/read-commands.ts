// Declares the reading commands: status, show, verify.
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'
import { paged } from './pager.ts'
import { terminal } from './streams.ts'

export function addReadCommands(program: OurCommand): void {
  addStatus(program)
  addShow(program)
  addVerify(program)
}

function addStatus(program: OurCommand): void {
  program
    .command('status', { isDefault: true })
    .description('what is remembered (the default command)')
    .option('--json', 'one JSON document')
    .csv('the agents: ')
    .notes(
      'Typed alone, on a terminal and in a directory with sessions, recollect lets you\npick one of them (see recollect resume).',
    )
    .action(async (options) => {
      if (process.argv.length === 2 && (await hasPicked())) return
      await (await import('./status.ts')).showStatus(options)
    })
    .examples(['recollect status', 'in any directory'], 'recollect status --json')
}

/** Whether the list of sessions was shown instead: where somebody can pick, and there are some of this place. */
async function hasPicked(): Promise<boolean> {
  if (terminal(1) === undefined) return false
  const { canPick, pickSession } = await import('./pick.ts')
  if (!canPick()) return false
  try {
    return await pickSession(true)
  } catch (error) {
    // The status tells what to do about it.
    if ((error as { code?: string }).code === 'NO_MEMORY') return false
    throw error
  }
}

function addShow(program: OurCommand): void {
  program
    .command('show')
    .argument('<id>', `${ID_HELP}; with #SEQ one event of it, with #SEQ-SEQ some`)
    .description('a session to read: prompts, answers, calls, edits')
    .option('--around <count>', 'with #SEQ: so many events before and after it too')
    .option('--kind <kinds>', 'only these kinds, comma-separated')
    .option('--full', 'fold nothing: all output, diffs, thinking, inherited events')
    .option('--thinking', 'unfold what the model thought')
    .option('--format <format>', 'text, md, html or json')
    .option('--json', 'one JSON document: {"session":…,"price":{…},"events":[…],…}')
    .option('--payload', 'with --json: what is told of each event, and its redacted record')
    .option('--raw', "the agent's own records, redacted, one per line")
    .action(async (id, options) => {
      const { showSession } = await import('./show.ts')
      await paged(() => showSession(id, options))
    })
    .examples(
      ['recollect show @last', 'the newest session'],
      ['recollect show 7c36#41 --around 5', 'event 41 of session 7c36…, and its neighbours'],
      ['recollect show 7c36#10-20', 'events 10 to 20'],
      ['recollect show @last --kind user_msg,error', 'only what was asked, and what failed'],
    )
}

function addVerify(program: OurCommand): void {
  program
    .command('verify')
    .description('check every reference and payload of the memory')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./verify.ts')).runVerify(options))
    .examples(['recollect verify', 'exit code 1 when something is wrong'], 'recollect verify --json')
}
