// Completions for bash, zsh, fish and PowerShell. The script a shell loads asks `recollect complete -- WORDS` for each
// word; options and commands come from the tree, values from fixed lists and from the memory: of these only words that no
// shell reads as an order. The only file that knows @bomb.sh/tab.
import { RootCommand, type Command as TabCommand } from '@bomb.sh/tab'
import type { Argument, Command, Option } from 'commander'
import { FLAVORS } from '../adapters/flavors.ts'
import { Config } from '../config.ts'
import { EVENT_KINDS } from '../model.ts'
import { shortIds } from '../query/short-ids.ts'
import type { Reader } from '../store/reader/index.ts'
import { openMemory, storePaths } from '../store/reading.ts'
import { SCRIPTS, SHELLS, type Shell } from './completion-scripts.ts'
import { plural } from './format.ts'
import { write } from './print.ts'
import { isSafeValue, SAFE_SIGNS } from './safe-value.ts'
import { streamOf } from './streams.ts'
import { oneLine } from './text.ts'

type Suggest = (value: string, description: string) => void
type Source = (suggest: Suggest) => void

/** Values by the name of an option or an argument; all commands use these names alike. */
const VALUES: Record<string, Source> = {
  flavor: fixed(FLAVORS),
  agent: fixed(FLAVORS),
  kind: fixed(EVENT_KINDS),
  outcome: fixed(['success', 'fail', 'abandoned', 'unknown']),
  group: fixed(['day', 'week', 'month', 'session', 'model', 'repo', 'domain', 'flavor', 'limits', 'blocks']),
  shell: fixed(SHELLS),
  since: fixed(['1d', '7d', '30d', '90d']),
  repo: recorded((suggest) => distinct('repo', suggest)),
  branch: recorded((suggest) => distinct('branch', suggest)),
  host: recorded(hostsSeen),
  domain: recorded((suggest) => distinct('domain', suggest)),
  model: recorded((suggest) => distinct('model', suggest)),
  tool: recorded(distinctTools),
  tag: recorded(tagsInUse),
  tags: recorded(tagsInUse),
  id: sessions,
  uid: sessions,
}

function fixed(values: readonly string[]): Source {
  return (suggest) => {
    for (const value of values) suggest(value, '')
  }
}

/** Names from the memory, which a log made up: only what is safe in a shell, described on one line. */
function recorded(source: Source): Source {
  return (suggest) =>
    source((value, description) => {
      if (isSafeValue(value)) suggest(value, oneLine(description))
    })
}

/** Nothing may be printed where somebody is typing: what cannot be read completes to nothing. */
function fromMemory(work: (handle: Reader) => void): void {
  try {
    const config = new Config()
    const handle = openMemory(storePaths(config.home, config.get('store.db_path')))
    try {
      work(handle)
    } finally {
      handle.close()
    }
  } catch {
    // As on a machine without a memory.
  }
}

/** Names that are not offered are not counted: they must not crowd out those that are. */
const MOST = 200
const NEWEST = 50

function distinct(column: 'repo' | 'branch' | 'domain' | 'model', suggest: Suggest): void {
  fromMemory((handle) => {
    for (const { name, n } of handle.sessions.frequentValues(column, SAFE_SIGNS, MOST))
      suggest(name, plural(n, 'session'))
  })
}

function distinctTools(suggest: Suggest): void {
  fromMemory((handle) => {
    for (const name of handle.sessions.recentTools(SAFE_SIGNS, MOST)) suggest(name, '')
  })
}

function hostsSeen(suggest: Suggest): void {
  fromMemory((handle) => {
    for (const { name, sessions } of handle.sessions.hosts()) suggest(name, plural(sessions, 'session'))
  })
}

function tagsInUse(suggest: Suggest): void {
  fromMemory((handle) => {
    for (const { tag, sessions } of handle.sessions.tags().slice(0, MOST))
      suggest(tag, plural(sessions, 'session'))
  })
}

function sessions(suggest: Suggest): void {
  suggest('@last', 'the newest session')
  recorded(newestSessions)(suggest)
}

/** By the shortest beginning that means them: it is typed sooner, and a colon ends a word in some shells. */
function newestSessions(suggest: Suggest): void {
  fromMemory((handle) => {
    const rows = handle.sessions.newestNamed(SAFE_SIGNS, NEWEST)
    const ids = shortIds(
      handle,
      rows.map((row) => row.uid),
    )
    for (const { uid, title } of rows) suggest(ids.get(uid) ?? uid, oneLine(title).slice(0, 60))
  })
}

const sourceOf = (name: string, choices: readonly string[] | undefined): Source =>
  choices ? fixed(choices) : (VALUES[name] ?? fixed([]))

function addOption(to: TabCommand, option: Option): void {
  const long = option.long?.slice(2)
  if (!long) return
  if (!option.required && !option.optional) to.option(long, option.description)
  else {
    // An agent by its name; `record` has agents of others, by their ids.
    const isOther = long === 'agent' && !/<names?/.test(option.flags)
    const source = sourceOf(isOther ? '' : option.attributeName(), option.argChoices)
    to.option(long, option.description, (suggest) => source(suggest))
  }
}

function addArgument(to: TabCommand, argument: Argument): void {
  const source = sourceOf(argument.name(), argument.argChoices)
  to.argument(argument.name(), (suggest) => source(suggest), argument.variadic)
}

function rootOf(program: Command): RootCommand {
  const root = new RootCommand()
  const add = (command: Command, path: string): void => {
    const isHidden = (command as Command & { _hidden?: boolean })._hidden
    if (isHidden) return
    const to = path === '' ? root : root.command(path, command.description())
    for (const option of command.options) addOption(to, option)
    addOption(to, { long: '--help', description: 'help for a command' } as Option)
    for (const argument of command.registeredArguments) addArgument(to, argument)
    for (const one of command.commands)
      for (const name of [one.name(), ...one.aliases()]) add(one, path === '' ? name : `${path} ${name}`)
  }
  add(program, '')
  return root
}

/** Prints the script a shell loads. */
export const printScript = (shell: Shell): void => write(SCRIPTS[shell])

/** Prints what the last of the words may become; of a new word where `isNext`. */
export function printCompletions(program: Command, words: string[], isNext = false): void {
  // The package prints by itself.
  streamOf(1)
  rootOf(program).parse(isNext ? [...words, ''] : words)
}
