// What a call sets out to do, by the names that Codex gives its tools: which command it runs, which files it changes.
import type { Edit } from '../../event/edits.ts'
import type { Deed } from '../../model.ts'
import type { Act } from '../adapter.ts'
import { isRecord, list, str } from '../kit/guards.ts'
import { deedIn, toolsBy } from '../kit/tools.ts'
import { readScript } from './script.ts'

const TOOLS = toolsBy({
  shell: 'shell container.exec local_shell shell_command exec_command write_stdin',
  edit: 'apply_patch',
  read: 'read_file list_dir view_image read_mcp_resource',
  search: 'grep_files tool_search web_search',
  spawn: 'spawn_agent spawn_agents_on_csv resume_agent',
  ask: 'request_user_input request_permissions',
  plan: 'update_plan create_goal update_goal',
})

/** The tool of code mode. */
export const SCRIPT = 'exec'

/** What is known of a call before it becomes an event. */
export interface Deeds {
  act: Act
  /** What its kind is judged by: the command on one line, and the patch. */
  command: string | undefined
  patch: string | undefined
}

/** `given` is what the call was given as it stands in the record, `input` the same with JSON in a text read. */
export function deedsOf(tool: string, input: unknown, given: unknown): Deeds {
  if (tool === SCRIPT && typeof input === 'string') return scriptDeeds(input)
  const command = commandOf(tool, input)
  const patch = patchOf(tool, input, command)
  const act: Act = { does: patch !== undefined ? 'edit' : doesOf(tool, input, command) }
  if (given !== undefined) act.input = given
  const typed = isRecord(input) && command !== undefined ? typedLine(commandIn(input)) : undefined
  if (typed !== undefined) act.command = typed
  const cwd = isRecord(input) ? (str(input['workdir']) ?? str(input['working_directory'])) : undefined
  if (cwd) act.cwd = cwd
  if (patch !== undefined) act.edits = patchEdits(patch)
  return { act, command, patch }
}

function doesOf(tool: string, input: unknown, command: string | undefined): Deed {
  // A search of the web may also open what it found.
  const type = isRecord(input) ? input['type'] : undefined
  if (tool === 'web_search' && (type === 'open_page' || type === 'find_in_page')) return 'fetch'
  return deedIn(TOOLS, tool) ?? (command === undefined ? 'other' : 'shell')
}

/** Of a script, whose deeds are certain where it names one tool and writes out what that is given. */
function scriptDeeds(source: string): Deeds {
  const { tools, given } = readScript(source)
  const [first = ''] = tools
  const does =
    new Set(tools.map((tool) => deedIn(TOOLS, tool) ?? 'other')).size === 1 ? deedIn(TOOLS, first) : undefined
  const act: Act = { does: does ?? 'other', input: source }
  if (given === undefined) return { act, command: undefined, patch: undefined }
  const inner = deedsOf(first, given, undefined)
  if (inner.act.command !== undefined) act.command = inner.act.command
  if (inner.act.cwd !== undefined) act.cwd = inner.act.cwd
  return { act, command: inner.command, patch: inner.patch }
}

const commandIn = (input: Record<string, unknown>): unknown => input['cmd'] ?? input['command']

/** The command line of a shell tool, without the shell around it. */
function commandOf(tool: string, input: unknown): string | undefined {
  if (!isRecord(input) || !/shell|exec/.test(tool)) return undefined
  return commandLine(commandIn(input))
}

export function commandLine(command: unknown): string | undefined {
  if (typeof command === 'string') return command
  const words = list(command).filter((word) => typeof word === 'string')
  if (words.length === 0) return undefined
  const wraps = words.length === 3 && /^-(?:l?c|Command)$/.test(words[1] ?? '')
  return wraps ? words[2] : words.join(' ')
}

const SHELL = /(?:^|[/\\])(?:(?:ba|z|da|k|fi)?sh|pwsh|powershell|cmd)(?:\.exe)?$/i
const BEFORE_COMMAND = /^(?:-l?i?c|-Command|\/c)$/i

/** What a person would type. */
export function typedLine(command: unknown): string | undefined {
  if (typeof command === 'string') return command
  const words = list(command).filter((word) => typeof word === 'string')
  if (words.length === 0) return undefined
  const options = words.slice(1, -1)
  const wraps = SHELL.test(words[0] ?? '') && BEFORE_COMMAND.test(options.at(-1) ?? '')
  if (wraps && options.every((word) => /^[-/]/.test(word))) return words.at(-1)
  return words.map(quoted).join(' ')
}

const quoted = (word: string): string =>
  word !== '' && !/[^\w@%+=:,./-]/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`

function patchOf(tool: string, input: unknown, command: string | undefined): string | undefined {
  if (tool === 'apply_patch') {
    if (typeof input === 'string') return input
    return isRecord(input) ? (str(input['input']) ?? str(input['patch']) ?? '') : ''
  }
  return command !== undefined && /^(?:\s*cd [^\n]*&&)?\s*apply_?patch\b/.test(command) ? command : undefined
}

/** The patch without the command line that it may stand in. */
export function patchEdits(text: string): Edit[] {
  const from = text.indexOf('*** Begin Patch')
  const end = text.lastIndexOf('*** End Patch')
  if (from === -1) return []
  return [{ path: '', patch: text.slice(from, end < from ? undefined : end + '*** End Patch'.length) }]
}

const PATCHED_FILE = /^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+?)\r?$/gm

export function filesOf(input: unknown, patch: string | undefined): string[] {
  if (patch !== undefined)
    return [...new Set([...patch.matchAll(PATCHED_FILE)].map((found) => found[1] ?? ''))]
  const path = isRecord(input) ? (str(input['path']) ?? str(input['file_path'])) : undefined
  return path ? [path] : []
}
