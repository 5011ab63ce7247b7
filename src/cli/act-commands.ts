// Declares the commands that lead from a session to work, and back: resume, handoff, blame, recall.
import { Option } from 'commander'
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'

export function addActCommands(program: OurCommand): void {
  addResume(program)
  addHandoff(program)
  addBlame(program)
  addRecall(program)
}

function addRecall(program: OurCommand): void {
  program
    .command('recall')
    .argument('<text...>', 'an error as it was printed, or a task in a few words')
    .description('what past sessions know of it, to be handed to an agent')
    .option('--bytes <count>', 'at most so many (1500)')
    .option('--exclude-session <id>', 'not of this session: an agent leaves out its own')
    .option('--json', 'one JSON document: {"asked":…,"kind":…,"items":[…],"text":…}')
    .action(async (words, options) => (await import('./recall.ts')).runRecall(words, options))
    .notes(
      'Fenced as recorded data, with the events it stands on. Exit code: 0 something\nfits well, 1 nothing does, and then nothing is printed.',
    )
    .examples(
      ['recollect recall "TypeError: fetch failed"', 'what mended it last time'],
      ['recollect recall "retry on 429 with jitter"', 'sessions that were about it'],
    )
}

function addBlame(program: OurCommand): void {
  program
    .command('blame')
    .argument('<what>', 'FILE, FILE:LINE, FILE:FROM-TO, or a commit')
    .description('which session, prompt and edit made a line, a file or a commit')
    .option('--json', 'one JSON document')
    .csv()
    .action(async (what, options) => (await import('./blame.ts')).showBlame(what, options))
    .notes(
      'By the text of edits, and by commits that sessions show; else it is unknown.\nExit code: 0 found, 1 unknown.',
    )
    .examples(
      ['recollect blame src/parse.ts:41', 'who wrote this line, and what was asked'],
      ['recollect blame src/parse.ts', 'whose lines the file is made of'],
      ['recollect blame HEAD~2', 'the session behind a commit'],
    )
}

function addResume(program: OurCommand): void {
  program
    .command('resume')
    .argument(
      '[id]',
      `${ID_HELP}; without it: to be picked from a list, or in a pipe the last one of this repository`,
    )
    .description("take a session up again with its agent's own command, in its directory")
    .option('--print', 'only print the command')
    .option('--json', 'one JSON document; starts nothing')
    .action(async (id, options) => (await import('./resume.ts')).resumeSession(id, options))
    .notes("Exit code: the agent's own; 2 where the session cannot be taken up.")
    .examples(
      ['recollect resume', 'pick one: type to narrow, Enter resumes'],
      ['recollect resume 7c36 --print', 'the command, to be looked at or changed'],
    )
}

function addHandoff(program: OurCommand): void {
  program
    .command('handoff')
    .argument('<id>', ID_HELP)
    .description('a briefing for whoever goes on: goal, state, open errors, files, next step')
    .option('--to <agent>', 'the agent that goes on')
    .option('--exec', 'start that agent with the briefing, in the directory of the session')
    .addOption(
      new Option('--copy', 'put it on the clipboard of this terminal, to be pasted').conflicts('exec'),
    )
    .addOption(new Option('--json', 'one JSON document; starts nothing').conflicts(['exec', 'copy']))
    .notes('The session that begins with it is shown as a handoff by recollect lineage.')
    .action(async (id, options) => (await import('./handoff.ts')).handOff(id, options))
    .examples(
      ['recollect handoff @last', 'to read, or to paste'],
      ['recollect handoff 7c36 --to AGENT --exec', 'AGENT goes on where session 7c36… stopped'],
    )
}
