// What every command has in common: groups in the help, examples, --color, and errors with the nearest right spelling.
import { type Argument, Command, type CommanderError, Option } from 'commander'
import { nearest } from '../config.ts'
import { RecollectError } from '../errors.ts'
import { chooseServer, isAsking, refuseServer } from './answers.ts'
import { COLOUR_CHOICES, type ColourChoice, chooseColour, hasColour, inLocale, paint } from './colour.ts'
import { put } from './streams.ts'

/** The groups of `recollect --help`, in this order. A command that is in none fails a test. */
const GROUPS: Record<string, readonly string[]> = {
  'Start here:': ['status', 'init', 'demo', 'doctor'],
  'Remember:': ['sweep', 'watch', 'hooks', 'schedule', 'record'],
  'Write beside a session:': ['decide', 'note', 'tag', 'title', 'star'],
  'Find and read:': ['sessions', 'search', 'show', 'digest', 'blame', 'lineage', 'export'],
  'Go on:': ['resume', 'handoff', 'recall'],
  'Understand:': ['usage', 'statusline', 'patterns', 'retro'],
  'Connect:': ['mcp', 'ui', 'env', 'completion'],
  'Many machines:': ['push', 'serve'],
  'Keep and check:': ['pin', 'unpin', 'evict', 'forget', 'verify', 'config'],
}

/** Call once, when every command is declared. */
export function finishCommands(program: Command): void {
  const names = Object.values(GROUPS).flat()
  const place = (command: Command): number =>
    (names.indexOf(command.name()) + names.length + 1) % (names.length + 1)
  ;(program.commands as Command[]).sort((a, b) => place(a) - place(b))
  for (const [group, members] of Object.entries(GROUPS))
    for (const command of program.commands) if (members.includes(command.name())) command.helpGroup(group)
  chooseServer(undefined)
  program
    .addOption(colourOption())
    .addOption(serverOption())
    .hook('preAction', (_, command) => refuseServer(topOf(command)))
    .addHelpCommand(helpCommand())
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      getOutHasColors: () => hasColour(1),
      getErrHasColors: () => hasColour(2),
      writeOut: (text) => put(1, inLocale(text)),
      // Errors are told by exit.ts, in one way.
      outputError: () => {},
    })
    .configureHelp({
      showGlobalOptions: true,
      visibleGlobalOptions: (command) =>
        command === program ? [] : program.options.filter((one) => isShared(one, command)),
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map(argumentTerm)].join(' '),
      styleTitle: (text) => paint.bold(text),
      styleOptionTerm: (text) => paint.cyan(text),
      styleSubcommandTerm: (text) => paint.cyan(text),
    })
  for (const command of everyCommand(program)) {
    command.on('option:color', (value: string) => chooseColour(value as ColourChoice))
    command.on('option:server', chooseServer)
    if (command === program) continue
    const takesMore = (command as Command & { _allowExcessArguments: boolean })._allowExcessArguments
    command.copyInheritedSettings(program).allowExcessArguments(takesMore).helpCommand(false)
    // Also behind the name of a command: that is where people miss it.
    command.addOption(colourOption().hideHelp())
    if (isAsking(topOf(command))) command.addOption(serverOption().hideHelp())
    acceptAgent(command)
  }
}

/** What we call `--flavor`, other programs call `--agent`. */
function acceptAgent(command: Command): void {
  const names = command.options.map((option) => option.attributeName())
  if (!names.includes('flavor') || names.includes('agent')) return
  command.addOption(new Option('--agent <name>', 'the same as --flavor').hideHelp())
  command.on('option:agent', (name: string) => command.setOptionValue('flavor', name))
}

/** Of what every command takes, as its help shows it. */
const isShared = (option: Option, command: Command): boolean =>
  option.attributeName() === 'color' || (option.attributeName() === 'server' && isAsking(topOf(command)))

/** The name of the command below the program: of `serve token create` it is `serve`. */
function topOf(command: Command): string {
  let at = command
  while (at.parent?.parent) at = at.parent
  return at.name()
}

const serverOption = (): Option =>
  new Option(
    '--server <url>',
    "ask a team server instead of this machine's memory; `team`: the one in the settings",
  )

function argumentTerm(argument: Argument): string {
  const name = argument.name() + (argument.variadic ? '...' : '')
  return argument.required ? `<${name}>` : `[${name}]`
}

const helpCommand = (): Command =>
  new Command('help').argument('[command]').description('help for a command').helpGroup('Start here:')

const colourOption = (): Option =>
  new Option('--color <when>', 'colour on a terminal only, always or never').choices(COLOUR_CHOICES)

export function everyCommand(command: Command): Command[] {
  return [command, ...command.commands.flatMap(everyCommand)]
}

/** The default command would take any word as its own; a word that is no command is refused here. */
export function refuseUnknownCommand(program: Command, args: readonly string[]): void {
  for (let at = 0; at < args.length; at++) {
    const word = args[at] as string
    if (word === '--color' || word === '--server') at++
    else if (!word.startsWith('-')) {
      const names = program.commands.map((one) => one.name())
      if (word === 'help') continue
      if (names.includes(word)) return
      throw unknown('command', word, nearest(word, names), 'recollect --help lists the commands')
    }
    // What follows an option of the default command may be its value.
    else if (word !== '--json') return
  }
}

function unknown(what: string, word: string, near: string | undefined, otherwise: string): RecollectError {
  return new RecollectError('USAGE', `unknown ${what} ${word}`, {
    where: word,
    hint: near ? `did you mean ${near}?` : otherwise,
  })
}

/** What commander refuses, as an error of ours; undefined for help and version, which are no errors. */
export function usageError(error: CommanderError, program: Command): RecollectError | undefined {
  if (error.exitCode === 0 || error.code === 'commander.help') return undefined
  const [first = '', ...rest] = error.message.replace(/^error: /, '').split('\n')
  const suggestion = /\(Did you mean (.*?)\?\)/s.exec(rest.join('\n'))?.[1]
  const choices = /^(.*) Allowed choices are (.*)\.$/.exec(first)
  const typed = /'([^']*)'/.exec(first)
  const command = commandOf(program)
  if (choices) {
    const wrong = /argument '([^']*)' is invalid/.exec(first)?.[1] ?? ''
    const near = nearest(wrong, (choices[2] as string).split(', '))
    return new RecollectError('USAGE', (choices[1] as string).replace(/\.$/, ''), {
      where: /for argument '([^']*)'/.exec(first)?.[1] ?? typed?.[1] ?? command,
      hint: near ? `did you mean ${near}? one of ${choices[2]}` : `one of ${choices[2]}`,
    })
  }
  return new RecollectError('USAGE', first.replace(/\.$/, ''), {
    where: typed?.[1] ?? command,
    hint: suggestion ? `did you mean ${suggestion}?` : `${command} --help`,
  })
}

/** The command that was typed, as far as it exists. */
function commandOf(program: Command): string {
  let at = program
  for (const word of process.argv.slice(2)) {
    const next = at.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (next) at = next
  }
  const names: string[] = []
  for (let one: Command | null = at; one; one = one.parent) names.unshift(one.name())
  return names.join(' ')
}
