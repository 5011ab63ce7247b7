// Calls of tools and what came of them: what an agent's own tools do stands in its table; what others do is judged by
// their names and arguments.
import { editsIn } from '../../event/edits.ts'
import type { Deed, EndState } from '../../model.ts'
import type { Act, EventItem } from '../adapter.ts'
import { type CallBook, closeCall, openCall } from './calls.ts'
import { isRecord, list, str } from './guards.ts'
import { firstLine, wordList, wordSet } from './text.ts'

const EDIT_WORDS = new Set(['edit', 'multiedit', 'write', 'patch', 'replace', 'insert', 'editor'])
const FILE_WORDS = new Set(['create', 'delete', 'remove', 'move', 'rename', 'update'])
/** Things that are written or replaced and are no files. */
const OTHER_OBJECTS = wordSet('todo todos stdin plan memory memories comment issue message email')
const SHELL_WORDS = wordSet('bash shell sh zsh powershell exec execute terminal command run cmd')
const FILE_FIELDS = wordList('file_path filePath filepath path file filename notebook_path target_file')
const WHOLE_TEXTS = ['file_text', 'content', 'contents']
const SUBJECTS = wordList('command cmd pattern query url description prompt instructions name id')
/** A word of the name and a field of the arguments: neither alone is certain. */
const OTHER_DEEDS: [Deed, words: string[], fields: string[]][] = [
  ['plan', ['todo', 'todos', 'plan'], ['todos', 'plan', 'items', 'tasks']],
  ['fetch', ['fetch', 'web', 'browse', 'navigate'], ['url', 'urls']],
  ['search', ['search', 'grep', 'glob', 'find', 'rg'], ['pattern', 'query', 'regex', 'glob']],
  ['read', ['read', 'view', 'open', 'cat'], FILE_FIELDS],
  ['spawn', ['agent', 'subagent', 'task', 'delegate', 'spawn'], ['prompt']],
  ['ask', ['ask', 'question', 'questions'], ['question', 'questions']],
]
const PLACES = ['cwd', 'workdir', 'working_directory', 'directory']

/** What tools do, by their native names. */
export type Tools = Readonly<Record<string, Deed>>

/** The same, told the other way round: the names of the tools that do a thing, with spaces between them. */
export const toolsBy = (names: Partial<Record<Deed, string>>): Tools =>
  Object.fromEntries(
    Object.entries(names).flatMap(([deed, tools]) => tools.split(' ').map((tool) => [tool, deed as Deed])),
  )

/** What the table says of a tool; a name may be any text. */
export const deedIn = (tools: Tools, tool: string): Deed | undefined =>
  Object.hasOwn(tools, tool) ? tools[tool] : undefined

export type Draft = Omit<EventItem, 'type' | 'session' | 'key' | 'ts' | 'payload' | 'parentKey'> & {
  payload: Record<string, unknown>
}

type Told = Omit<Draft, 'payload'>

interface Call {
  id: string
  tool: string
  /** As it stands in the payload: fields, or JSON in a string. */
  input: unknown
  /** What need not be judged. */
  act?: Partial<Act> | undefined
  ts: number | null
}

/** Notes a call in the book and tells all of its event but its place and its body. */
export function callDraft(book: CallBook, call: Call, tools: Tools = {}): Told {
  const { id, tool, ts } = call
  const listed = deedIn(tools, tool)
  const known: Partial<Act> = { ...(listed && { does: listed }), ...call.act }
  const given = decoded(call.input)
  const input = isRecord(given) ? given : {}
  const words = wordsOf(tool)
  const isShell = known.does ? known.does === 'shell' : words.some((word) => SHELL_WORDS.has(word))
  const command = known.command ?? (isShell ? commandOf(input) : undefined)
  const edits = known.does ? known.does === 'edit' : isEdit(words, input)
  const kind = openCall(book, { id, tool, input: given, ts, edits, command })
  const file = FILE_FIELDS.map((name) => str(input[name])).find(Boolean)
  const subject = command ?? SUBJECTS.map((name) => str(input[name])).find(Boolean)
  const parts: Told = { kind, role: 'assistant', tool, callId: id, summary: tool }
  if (file && command === undefined) parts.summary = `${tool} ${firstLine(file)}`
  else if (subject) parts.summary = `${tool}: ${firstLine(subject)}`
  const does = edits ? 'edit' : command === undefined ? deedOf(words, input) : 'shell'
  parts.act = { ...actOf(known.does ?? does, call.input, given, command), ...known }
  const files = [file, ...(known.edits ?? []).map((edit) => edit.path)].filter((one) => !!one)
  if (files.length > 0) parts.files = [...new Set(files as string[])]
  return parts
}

/** Arguments that are JSON inside a string. */
function decoded(input: unknown): unknown {
  if (typeof input !== 'string' || !input.trimStart().startsWith('{')) return input
  try {
    return JSON.parse(input) as unknown
  } catch {
    return input
  }
}

function deedOf(words: string[], input: Record<string, unknown>): Deed {
  // Editors that also show files say so in their command.
  const all = input['command'] === 'view' ? [...words, 'view'] : words
  const found = OTHER_DEEDS.find(
    ([, names, fields]) =>
      names.some((name) => all.includes(name)) && fields.some((field) => input[field] !== undefined),
  )
  return found?.[0] ?? 'other'
}

function actOf(does: Deed, given: unknown, input: unknown, command: string | undefined): Act {
  const act: Act = { does }
  if (given !== undefined) act.input = given
  if (command !== undefined) act.command = command
  const cwd =
    command !== undefined && isRecord(input)
      ? PLACES.map((name) => str(input[name])).find(Boolean)
      : undefined
  if (cwd !== undefined) act.cwd = cwd
  const edits = does === 'edit' ? editsIn(input) : []
  if (edits.length > 0) act.edits = edits
  return act
}

interface Result {
  id: string
  text?: string | undefined
  /** False also where the format says nothing of failure. */
  failed: boolean
  isRefused?: boolean | undefined
  state?: EndState | undefined
  exitCode?: number | undefined
  /** Null where the times of call and result tell nothing of it. */
  durationMs?: number | null | undefined
  original?: string | undefined
  ts: number | null
}

const REFUSED = { kind: 'human_intervention', state: 'refused', mark: 'denied' } as const

/** Notes a result and tells all of its event but its place and its body; the tool's name comes from its call. */
export function resultDraft(book: CallBook, result: Result): Told {
  const { id, failed, text, ts, state, exitCode, original } = result
  const call = closeCall(book, id, failed, ts)
  const took = result.durationMs === undefined ? call?.durationMs : result.durationMs
  return {
    kind: failed ? 'error' : 'tool_result',
    role: 'tool',
    callId: id,
    summary: firstLine(text ?? '') || '(no output)',
    state: state ?? (failed ? 'failed' : 'ok'),
    ...(call && { tool: call.tool }),
    ...(text && { said: text }),
    ...(result.isRefused && REFUSED),
    ...(exitCode !== undefined && { exitCode }),
    ...(typeof took === 'number' && { durationMs: took }),
    ...(original !== undefined && { original }),
  }
}

/** The command line that a tool of any name runs, where the name says that it runs one. */
export const commandIn = (tool: string, input: Record<string, unknown>): string | undefined =>
  wordsOf(tool).some((word) => SHELL_WORDS.has(word)) ? commandOf(input) : undefined

/** `mcp__fs__writeFile` and `write-file` both end in the words write, file. */
function wordsOf(tool: string): string[] {
  return tool
    .slice(0, 200)
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
}

function isEdit(words: string[], input: Record<string, unknown>): boolean {
  if (words.some((word) => OTHER_OBJECTS.has(word))) return false
  // Editors that also show files say so in their command.
  if (input['command'] === 'view') return false
  if (words.some((word) => EDIT_WORDS.has(word))) return true
  // Of a tool called `create`, the path and the text say that it makes a file.
  if (words.includes('create') && FILE_FIELDS.some((name) => str(input[name])))
    return WHOLE_TEXTS.some((name) => typeof input[name] === 'string')
  return words.includes('file') && words.some((word) => FILE_WORDS.has(word))
}

function commandOf(input: Record<string, unknown>): string | undefined {
  const command = input['command'] ?? input['cmd'] ?? input['script']
  if (typeof command === 'string') return command
  const words = list(command).filter((word) => typeof word === 'string')
  // The shell that is given a whole command line is no part of it.
  const [shell = '', option = '', line] = words
  if (
    line !== undefined &&
    words.length === 3 &&
    /(?:^|\/)(?:ba|z|da)?sh$/.test(shell) &&
    /^-\w*c$/.test(option)
  )
    return line
  return words.length > 0 ? words.join(' ') : undefined
}

const EXIT_CODE = /\bexit(?:ed)?(?: with)?(?: status| code)?\b[:=\s]*(-?\d{1,10})\b/i
const ENDS = 400

/** The exit code that a client tells only in words, at the beginning or the end of an output: `Exit code: 1`. */
export function exitCodeIn(text: string, pattern = EXIT_CODE): number | undefined {
  const found = pattern.exec(text.slice(0, ENDS)) ?? pattern.exec(text.slice(-ENDS))
  return found ? Number(found[1]) : undefined
}
