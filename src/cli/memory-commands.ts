// Declares the commands that tell what sessions have to do with each other: lineage.
import type { Command } from 'commander'

export function addMemoryCommands(program: Command): void {
  program
    .command('lineage')
    .argument('[id]', 'session uid, id, unique prefix or @last; without it: recent sessions')
    .description('which session came from which: forks, compactions, swaps, resumes, sub-agents')
    .option('--flavor <name>', 'without an id: written by this agent')
    .option('--repo <name>', 'without an id: in this repository')
    .option('--since <time>', 'without an id: active since (a date, or an age such as 7d)')
    .option('--limit <count>', 'without an id: the trees of this many sessions (20)')
    .option('--dot', 'a graph for dot (Graphviz)')
    .option('--json', 'one JSON document: {"asked":…,"nodes":[…],"problems":[…]}')
    .addHelpText(
      'after',
      '\nExit code: 0 done, 4 done but what the logs say contradicts itself (it is named).',
    )
    .action(async (id, options) => (await import('./lineage.ts')).showLineage(id, options))
}
