// The manual page and docs/cli.md, made from the tree of commands: what --help says, for reading elsewhere.
import type { Command, Option } from 'commander'
import { everyCommand } from './help.ts'

const nameOf = (command: Command): string =>
  command.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()

const isShown = (command: Command): boolean =>
  !(command as Command & { _hidden?: boolean })._hidden && command.name() !== 'help'

/** Commands somebody types; those that only hold others have no page of their own. */
const pages = (program: Command): Command[] =>
  everyCommand(program).filter((one) => one !== program && isShown(one) && one.commands.length === 0)

const optionsOf = (command: Command): Option[] => command.options.filter((option) => !option.hidden)

function usageOf(command: Command): string {
  const given = command.registeredArguments.map((one) => {
    const name = one.name() + (one.variadic ? '...' : '')
    return one.required ? `<${name}>` : `[${name}]`
  })
  return [nameOf(command), ...given, ...(optionsOf(command).length > 0 ? ['[options]'] : [])].join(' ')
}

/** What stands below the options in the help: notes and examples. */
function afterOf(command: Command): string {
  const parts: string[] = []
  const { emit } = command as Command & { emit: (name: string, context: unknown) => void }
  emit.call(command, 'afterHelp', { error: false, command, write: (text: string) => parts.push(text) })
  return parts.join('').replace(/^\n+|(?<!\n)\n+$/g, '')
}

/** Roff takes a leading dot or quote as its own, a backslash as an escape, a plain hyphen as a soft one. */
const roff = (text: string): string =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/gm, '\\&$1')

const literal = (text: string): string[] => ['.nf', ...text.split('\n').map(roff), '.fi']

const EXIT_CODES: [code: string, meaning: string][] = [
  ['0', 'done'],
  ['1', 'failed, or what was asked for does not exist'],
  ['2', 'the command line or a setting was not understood'],
  ['4', 'done, but something could not be understood; it is named'],
  ['5', 'another sweep is running'],
  ['130, 143', 'ended by SIGINT, SIGTERM'],
]

const VARIABLES: [name: string, meaning: string][] = [
  ['RECOLLECT_HOME', 'where the memory lies; default: recollect/ in the XDG data directory'],
  ['HELIX_STORE_DB', 'the durable memory alone, if it lies elsewhere'],
  ['NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE', 'colour, unless --color says otherwise'],
  ['COLUMNS', 'width of output that does not go to a terminal'],
  ['TZ', 'time zone of what is printed'],
]

/** man/recollect.1 */
export function manPage(program: Command, version: string): string {
  const item = (head: string, text: string): string[] => ['.TP', `.B ${roff(head)}`, roff(text)]
  const lines = [
    `.TH RECOLLECT 1 "2026-11-16" "recollect ${version}" "User Commands"`,
    '.SH NAME',
    `recollect \\- ${roff('records, remembers and explains what coding agents did')}`,
    '.SH SYNOPSIS',
    '.B recollect',
    '.RI [ command ]',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    roff(
      'Without a command: the status of the memory. Data goes to standard output, everything else to standard error.',
    ),
    roff(
      'A session is named by its uid, its id, any unique beginning of either, @last, or @last~N; ID#SEQ is one event of it.',
    ),
    '.SH OPTIONS',
    ...program.options.flatMap((option) => item(option.flags, option.description)),
    '.SH COMMANDS',
  ]
  for (const command of pages(program)) {
    lines.push(`.SS ${roff(usageOf(command))}`, roff(command.description()))
    for (const one of command.registeredArguments) lines.push(...item(one.name(), one.description))
    for (const option of optionsOf(command)) lines.push(...item(option.flags, option.description))
    const after = afterOf(command)
    if (after !== '') lines.push('.PP', ...literal(after))
  }
  lines.push('.SH EXIT STATUS', ...EXIT_CODES.flatMap(([code, meaning]) => item(code, meaning)))
  lines.push('.SH ENVIRONMENT', ...VARIABLES.flatMap(([name, meaning]) => item(name, meaning)))
  lines.push('.SH FILES', ...item('$RECOLLECT_HOME/config.toml', 'settings; see recollect config'))
  return `${lines.join('\n')}\n`
}

/** docs/cli.md */
export function commandDocs(program: Command): string {
  const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
  const lines = [
    '# Commands',
    '',
    'Made from the program itself by `npm run docs`; `recollect COMMAND --help` says the same. Every command takes `--color auto|always|never`; `--server URL` before a question asks a team server instead of this machine ([fleet.md](fleet.md)).',
    'A session is named by its uid, its id, any unique beginning of either, `@last` or `@last~N`; `ID#SEQ` is one event of it.',
    'What `--json` prints is in [json-output.md](json-output.md).',
    '',
    `Exit code: ${EXIT_CODES.map(([code, meaning]) => `${code} ${meaning}`).join('; ')}.`,
  ]
  for (const command of pages(program)) {
    lines.push('', `## ${nameOf(command).replace(/^recollect /, '')}`, '', `${command.description()}.`, '')
    lines.push('```', usageOf(command), '```', '')
    const rows = [
      ...command.registeredArguments.map((one) => [`<${one.name()}>`, one.description]),
      ...optionsOf(command).map((option) => [option.flags, option.description]),
    ]
    if (rows.length > 0) {
      lines.push('| option | meaning |', '|---|---|')
      for (const [flags, text] of rows)
        lines.push(`| \`${cell(flags as string)}\` | ${cell(text as string)} |`)
    }
    const after = afterOf(command)
    if (after !== '') lines.push('', '```', after, '```')
  }
  return `${lines.join('\n')}\n`
}
