// Declares what people write beside sessions: decide, note, tag, title, star.
import { ID_HELP } from '../query/ids.ts'
import type { OurCommand } from './command.ts'
import { several } from './filters.ts'

const LISTING_ID = `${ID_HELP}; without it: all there are`

export function addLabelCommands(program: OurCommand): void {
  addDecide(program)
  addNote(program)
  addTag(program)
  addTitle(program)
  addStar(program)
}

function addDecide(program: OurCommand): void {
  program
    .command('decide')
    .argument('[id]', LISTING_ID)
    .argument('[text...]', 'what was decided; without it: what was')
    .description('write a decision down beside a session; it outlives the transcript')
    .option('--tag <name>', 'a tag; may be given several times', several)
    .option('--author <name>', 'who decided (you)')
    .option('--remove', 'take the decision ID#SEQ back')
    .option('--json', 'one JSON document: the decision, or {"decisions":[…]}')
    .csv('of a list: ')
    .action(async (id, words, options) => (await import('./decide.ts')).runDecide(id, words, options))
    .examples(
      [
        'recollect decide @last "Keep the lock: NFS renames in steps" --tag nfs',
        'written down with the newest session',
      ],
      ['recollect decide @last', 'what was decided there, with numbers'],
      ['recollect decide 7c36#1000000001 --remove', 'taken back'],
    )
}

function addNote(program: OurCommand): void {
  program
    .command('note')
    .argument('[id]', LISTING_ID)
    .argument('[text...]', 'the note; without it: those there are')
    .description('write a note beside a session')
    .option('--author <name>', 'who writes it (you)')
    .option('--remove <number>', 'remove the note of this number')
    .option('--json', 'one JSON document: the session and its labels, or {"notes":[…]}')
    .csv('of a list: ')
    .action(async (id, words, options) => (await import('./label.ts')).runNote(id, words, options))
    .examples(
      ['recollect note @last "the migration ran on a copy only"', 'kept with the session'],
      ['recollect note @last --remove 1', 'its first note goes'],
    )
}

function addTag(program: OurCommand): void {
  program
    .command('tag')
    .argument('[id]', LISTING_ID)
    .argument('[tags...]', 'one word each; without any: those it has')
    .description('file a session under tags, to be found with --tag')
    .option('--remove', 'take these tags from it')
    .option('--json', 'one JSON document: the session and its labels, or {"tags":[…]}')
    .csv('of a list: ')
    .action(async (id, tags, options) => (await import('./label.ts')).runTag(id, tags, options))
    .examples(
      ['recollect tag 7c36 flaky needs-review', 'two tags'],
      ['recollect tag 7c36 flaky --remove', 'one of them goes'],
      ['recollect tag', 'which there are, and how often'],
      ['recollect sessions --tag needs-review', 'what is filed there'],
    )
}

function addTitle(program: OurCommand): void {
  program
    .command('title')
    .argument('<id>', ID_HELP)
    .argument('[title...]', 'what it is to be called; without it: what it is')
    .description('name a session; the name comes before any other')
    .option('--remove', 'call it as before')
    .option('--json', 'one JSON document: the session and its labels')
    .action(async (id, words, options) => (await import('./label.ts')).runTitle(id, words, options))
    .examples(
      ['recollect title @last "The lock on NFS"', 'so it is listed from now on'],
      ['recollect title @last --remove', 'by its old name'],
    )
}

function addStar(program: OurCommand): void {
  program
    .command('star')
    .argument('[id]', LISTING_ID)
    .description('mark a session, to be found with --starred')
    .option('--remove', 'take the mark away')
    .option('--json', 'one JSON document: the session and its labels, or {"sessions":[…]}')
    .csv('of a list: ')
    .action(async (id, options) => (await import('./label.ts')).runStar(id, options))
    .examples(['recollect star @last', 'marked'], ['recollect star', 'what is marked'])
}
