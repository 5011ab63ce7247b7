// Declares the commands that relate sessions to each other and to people: lineage, decide.
import type { Command } from 'commander'
import { ID_HELP } from '../query/ids.ts'
import { addExamples } from './help.ts'

export function addMemoryCommands(program: Command): void {
  const lineage = program
    .command('lineage')
    .argument('[id]', `${ID_HELP}; without it: recent sessions`)
    .description('which session came from which')
    .option('--flavor <name>', 'without an id: written by this agent')
    .option('--repo <name>', 'without an id: in this repository')
    .option('--since <time>', 'without an id: active since (a date, or an age such as 7d)')
    .option('--limit <count>', 'without an id: the trees of this many sessions (20)')
    .option('--dot', 'a graph for dot (Graphviz)')
    .option('--json', 'one JSON document: {"asked":…,"nodes":[…],"problems":[…]}')
    .addHelpText(
      'after',
      '\nForks, compactions, swaps, clears, resumes and sub-agents, over all agents.\nExit code: 0 done, 4 done but the logs contradict each other (it is named).',
    )
    .action(async (id, options) => (await import('./lineage.ts')).showLineage(id, options))
  addExamples(
    lineage,
    ['recollect lineage @last', 'where the newest session comes from'],
    ['recollect lineage --since 7d', 'the trees of the last week'],
    ['recollect lineage @last --dot | dot -Tsvg', 'as a picture'],
  )

  const decide = program
    .command('decide')
    .argument('<id>', ID_HELP)
    .argument('<text...>', 'what was decided')
    .description('write a decision down beside a session; it outlives the transcript')
    .option(
      '--tag <name>',
      'a tag; may be given several times',
      (tag: string, all: string[]) => [...all, tag],
      [],
    )
    .option('--author <name>', 'who decided (you)')
    .option('--json', 'one JSON document: the decision')
    .action(async (id, words, options) => (await import('./decide.ts')).runDecide(id, words, options))
  addExamples(decide, [
    'recollect decide @last "Keep the lock: NFS renames in steps" --tag nfs',
    'written down with the newest session',
  ])
}
