// Declares `lineage`.
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'

export function addLineageCommand(program: OurCommand): void {
  program
    .command('lineage')
    .argument('[id]', `${ID_HELP}; without it: recent sessions`)
    .description('which session came from which')
    .option('--flavor <name>', 'without an id: written by this agent')
    .option('--repo <name>', 'without an id: in this repository')
    .option('--host <name>', 'without an id: on this machine')
    .option('--since <time>', 'without an id: active since (a date, or an age such as 7d)')
    .option('--limit <count>', 'without an id: the trees of this many sessions (20)')
    .option('--dot', 'a graph for dot (Graphviz)')
    .option('--json', 'one JSON document: {"asked":…,"nodes":[…],"problems":[…]}')
    .csv('', ['dot'])
    .notes(
      'Forks, compactions, swaps, clears, resumes and sub-agents, over all agents.\nExit code: 0 done, 4 done but the logs contradict each other (it is named).',
    )
    .action(async (id, options) => (await import('./lineage.ts')).showLineage(id, options))
    .examples(
      ['recollect lineage @last', 'where the newest session comes from'],
      ['recollect lineage --since 7d', 'the trees of the last week'],
      ['recollect lineage @last --dot | dot -Tsvg', 'as a picture'],
    )
}
