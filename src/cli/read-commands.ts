// Declares the reading commands: status, sessions, show, search, verify.
import type { Command } from 'commander'
import { ID_HELP } from '../query/ids.ts'
import { addExamples } from './help.ts'

export function addReadCommands(program: Command): void {
  addStatus(program)
  addSessions(program)
  addShow(program)
  addSearch(program)
  addVerify(program)
}

function addStatus(program: Command): void {
  const status = program
    .command('status', { isDefault: true })
    .description('what is remembered (the default command)')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./read.ts')).showStatus(options))
  addExamples(status, ['recollect', 'the same as recollect status'], 'recollect status --json')
}

function addSessions(program: Command): void {
  const sessions = program
    .command('sessions')
    .description('list sessions, newest first')
    .option('--flavor <name>', 'written by this agent')
    .option('--repo <name>', 'in this repository')
    .option('--domain <name>', 'in this domain')
    .option('--model <name>', 'with this model')
    .option('--since <time>', 'active since (a date, or an age such as 7d)')
    .option('--until <time>', 'started until')
    .option('--limit <count>', 'at most this many')
    .option('--all', "sub-agents' sessions too")
    .option('--json', 'one JSON document: {"sessions":[…]}')
    .action(async (options) => (await import('./read.ts')).showSessions(options))
  addExamples(
    sessions,
    ['recollect sessions --since 7d', 'of the last week'],
    ['recollect sessions --repo api --limit 20', 'the newest twenty in one repository'],
  )
}

function addShow(program: Command): void {
  const show = program
    .command('show')
    .argument('<id>', `${ID_HELP}; with #SEQ one event of it`)
    .description('show a session, event by event')
    .option('--kind <kinds>', 'only these kinds, comma-separated')
    .option('--json', 'one JSON document: {"session":…,"receipts":[…],"events":[…]}')
    .option('--payload', 'with --json: the full redacted body of each event')
    .action(async (id, options) => (await import('./read.ts')).showSession(id, options))
  addExamples(
    show,
    ['recollect show @last', 'the newest session'],
    ['recollect show 7c36#41', 'one event of the session whose id begins with 7c36'],
    ['recollect show @last --kind user_msg,error', 'only what was asked, and what failed'],
  )
}

function addSearch(program: Command): void {
  const search = program
    .command('search')
    .argument('<query...>', 'words, "phrases", prefix*, -not')
    .description('full-text search over everything remembered')
    .option('--flavor <name>', 'written by this agent')
    .option('--limit <count>', 'at most this many (20)')
    .option('--json', 'one JSON document: {"query":…,"hits":[…]}')
    .allowUnknownOption()
    .action(async (words, options) => (await import('./read.ts')).runSearch(words, options))
  addExamples(
    search,
    ['recollect search busy_timeout', 'a word'],
    ['recollect search \'"race condition"\' -flaky', 'a phrase, without a word'],
  )
}

function addVerify(program: Command): void {
  const verify = program
    .command('verify')
    .description('check every reference and payload of the memory')
    .option('--json', 'one JSON document')
    .action(async (options) => (await import('./read.ts')).runVerify(options))
  addExamples(verify, ['recollect verify', 'exit code 1 when something is wrong'], 'recollect verify --json')
}
