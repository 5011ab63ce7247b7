// Tool calls and their results: which tool, which kind, what came out, and whether it failed. Knows the shapes of
// `rawOutput`, whose bytes arrive as an array of numbers and whose texts repeat each other up to four times.
import { basename, dirname, join } from 'node:path'
import { type Edit, editsIn } from '../../event/edits.ts'
import type { Deed, EndState } from '../../model.ts'
import type { Act, EventItem } from '../adapter.ts'
import { type Fields, isRecord, list, num, str } from '../kit/guards.ts'
import { firstLine, wordList } from '../kit/text.ts'
import { deedIn, toolsBy } from '../kit/tools.ts'
import type { Session } from './facts.ts'
import { readable } from './small.ts'
import { contentText, stringsOf } from './text.ts'

const EDIT_KINDS = new Set(['edit', 'delete', 'move'])
const PATH_FIELDS = wordList('file_path target_file path file target_directory notebook_path relative_path')

/** What one record says about the tool it belongs to. */
export interface ToolFacts {
  name: string
  input: unknown
  does: Deed
  edits: boolean
  command: string | undefined
}

const TOOLS = toolsBy({
  shell: 'run_terminal_command run_terminal_cmd bash shell execute',
  edit: 'search_replace write write_file create_file edit_file delete_file apply_patch image_edit',
  read: 'read_file list_dir',
  search: 'grep grep_search file_search glob web_search x_search',
  fetch: 'web_fetch',
  spawn: 'spawn_subagent task',
  ask: 'ask_user_question',
  plan: 'todo_write enter_plan_mode exit_plan_mode',
})
/** What the protocol of editors calls them. */
const DEEDS_OF_KINDS = new Map<string | undefined, Deed>([
  ['read', 'read'],
  ['search', 'search'],
  ['fetch', 'fetch'],
  ['execute', 'shell'],
])

/** `known` is the name from the call's first record; later ones may have none. */
export function toolFacts(update: Fields, known?: string): ToolFacts {
  const meta = isRecord(update['_meta']) ? update['_meta'] : {}
  const own = isRecord(meta['x.ai/tool']) ? meta['x.ai/tool'] : {}
  const title = str(update['title'])
  const acpKind = str(update['kind'])
  // Before `_meta` was written the title was the tool's name at first, and a sentence later.
  const name = known ?? str(own['name']) ?? (title && /^[\w.:/-]+$/.test(title) ? title : (acpKind ?? 'tool'))
  return namedTool(name, update['rawInput'], [str(own['kind']), acpKind])
}

export function namedTool(name: string, input: unknown, kinds: (string | undefined)[] = []): ToolFacts {
  const has = (wanted: Set<string>): boolean => kinds.some((kind) => kind !== undefined && wanted.has(kind))
  const known = deedIn(TOOLS, name)
  const runs = known === 'shell' || kinds.includes('execute')
  const command = runs && isRecord(input) ? commandOf(input['command']) : undefined
  const edits = known === 'edit' || has(EDIT_KINDS)
  const byKind = kinds.map((kind) => DEEDS_OF_KINDS.get(kind)).find((one) => one !== undefined)
  const does = edits ? 'edit' : runs ? 'shell' : (known ?? byKind ?? 'other')
  return { name, input, does, edits, command }
}

/** `content` is that of the call's record, which may show the edit where its input does not. */
export function actOf({ input, does, edits, command }: ToolFacts, content?: unknown): Act {
  const act: Act = { does }
  if (hasInput(input)) act.input = input
  if (command !== undefined) act.command = command
  const given = edits ? editsIn(input) : []
  const told = edits && given.length === 0 ? shownEdits(content) : given
  if (told.length > 0) act.edits = told
  return act
}

function shownEdits(content: unknown): Edit[] {
  return list(content).flatMap((entry): Edit[] => {
    if (!isRecord(entry) || entry['type'] !== 'diff') return []
    const [path, before, after] = [str(entry['path']), str(entry['oldText']), str(entry['newText'])]
    if (path === undefined || after === undefined) return []
    return [{ path, before: before ?? '', after, isWhole: before === undefined }]
  })
}

function commandOf(command: unknown): string | undefined {
  if (Array.isArray(command)) return command.filter((part) => typeof part === 'string').join(' ')
  return str(command)
}

export function hasInput(input: unknown): boolean {
  return isRecord(input)
    ? Object.keys(input).length > 0
    : input !== undefined && input !== null && input !== ''
}

/** `Bash: npm test`, `search_replace src/a.ts`: what the call is about, in one line. */
export function callSummary(tool: ToolFacts): string {
  if (tool.command !== undefined) return `${tool.name}: ${firstLine(tool.command)}`
  const file = pathsOf(tool.input)[0]
  if (file !== undefined) return `${tool.name} ${file}`
  const text = firstLine(stringsOf(tool.input))
  return text === '' ? tool.name : `${tool.name}: ${text}`
}

function pathsOf(input: unknown): string[] {
  if (!isRecord(input)) return []
  return PATH_FIELDS.map((name) => str(input[name])).filter((path): path is string => !!path)
}

/** Files a record touches: named by the input, by `locations`, or by a diff. */
export function filesTouched(update: Fields): string[] | undefined {
  const paths = pathsOf(update['rawInput'])
  for (const entry of [...list(update['locations']), ...list(update['content'])]) {
    const path = isRecord(entry) ? str(entry['path']) : undefined
    if (path) paths.push(path)
  }
  return paths.length === 0 ? undefined : [...new Set(paths)]
}

export function callPayload(update: Fields, tool: ToolFacts): unknown {
  const payload: Fields = { toolCallId: update['toolCallId'], tool: tool.name, rawInput: update['rawInput'] }
  for (const name of ['title', 'kind', 'status', 'locations', 'content'] as const) {
    if (update[name] !== undefined && update[name] !== tool.name) payload[name] = update[name]
  }
  return payload
}

/** The part of a result event that depends on the record alone. */
export interface Outcome {
  kind: EventItem['kind']
  state: EndState
  summary: string
  text: string
  payload: unknown
  exitCode: number | undefined
  /** False where the record cannot tell, and only events.jsonl knows. */
  certain: boolean
}

/** How a call ended by another word than that of its own record. */
export interface CallEnd {
  state: EndState
  isFailed: boolean
}

/** `told` is what events.jsonl says of it. */
export function outcomeOf(session: Session, update: Fields, told: CallEnd | undefined): Outcome {
  const raw = isRecord(update['rawOutput']) ? update['rawOutput'] : {}
  const body = variantOf(raw)
  const exitCode = num(raw['exit_code']) ?? (isRecord(body) ? num(body['exit_code']) : undefined)
  const saysFailed = update['status'] === 'failed' || failedOutput(raw)
  const shown = shownText(update, raw)
  const log = raw['truncated'] === true ? terminalLog(session, raw) : undefined
  const text = log?.text ?? shown
  const payload: Fields = { toolCallId: update['toolCallId'], status: update['status'] }
  if (update['title'] !== undefined) payload['title'] = update['title']
  payload['content'] = update['content']
  payload['rawOutput'] = trimmed(raw, shown, contentTexts(update).length > 0)
  if (log) payload['terminal'] = log
  const failed = saysFailed || told?.isFailed === true
  const line = firstLine(text)
  const goesOn = raw['type'] === 'BackgroundTaskStarted' || GOES_ON.test(text)
  return {
    kind: failed ? 'error' : 'tool_result',
    state: told?.state ?? (failed ? 'failed' : goesOn ? 'background' : 'ok'),
    summary: exitCode ? `exit ${exitCode}: ${line}` : line || (failed ? 'failed' : 'done'),
    text,
    payload,
    exitCode,
    certain: saysFailed || exitCode !== undefined,
  }
}

/** How a call is answered whose command, or sub-agent, goes on. */
export const GOES_ON = /^(?:Background task \S+ started|Subagent started in background)\b/

/** Outputs are tagged twice: `type` names the tool, and an enum's only other key names what happened. */
function variantOf(raw: Fields): unknown {
  const names = Object.keys(raw).filter((name) => name !== 'type')
  return names.length === 1 ? raw[names[0] as string] : undefined
}

// The variants that are a success, per `type`; whatever else such an output holds is the reason of a failure.
const SUCCESSES: Record<string, string[]> = {
  SearchReplace: ['EditsApplied'],
  ReadFile: ['FileContent', 'ImageContent', 'PdfPageImages'],
  ListDir: ['Content'],
  WebFetch: ['Content'],
  ApplyPatch: ['Success'],
  Todo: ['TodosUpdated'],
}
const FAILURES = ['TaskNotFound', 'Error', 'DuplicateId', 'InvalidArgument']

function failedOutput(raw: Fields): boolean {
  const type = str(raw['type']) ?? ''
  const exitCode = num(raw['exit_code'])
  if (type === 'GrepSearch') return (exitCode ?? 0) > 1
  if (exitCode !== undefined && exitCode !== 0) return true
  if (raw['is_error'] === true || raw['timed_out'] === true || raw['success'] === false) return true
  const names = Object.keys(raw).filter((name) => name !== 'type')
  if (names.length !== 1) return false
  const name = names[0] as string
  const successes = Object.hasOwn(SUCCESSES, type) ? SUCCESSES[type] : undefined
  return successes ? !successes.includes(name) : FAILURES.includes(name)
}

const contentTexts = (update: Fields): string[] =>
  list(update['content'])
    .map((entry) => (isRecord(entry) && entry['type'] === 'content' ? contentText(entry['content']) : ''))
    .filter((text) => text !== '')

/** What a person saw of the result. */
function shownText(update: Fields, raw: Fields): string {
  const texts = contentTexts(update)
  if (texts.length > 0) return texts.length === 1 ? (texts[0] as string) : texts.join('\n')
  const output = decoded(raw['output'])
  if (output !== undefined) return output
  const body = variantOf(raw)
  if (typeof body === 'string') return body
  for (const place of [body, raw]) {
    if (!isRecord(place)) continue
    for (const name of OUTPUT_FIELDS) if (typeof place[name] === 'string') return place[name]
  }
  return ''
}

const OUTPUT_FIELDS = wordList(`
  output content message text tool_output_for_prompt summary_for_prompt output_for_prompt summary`)

function decoded(output: unknown): string | undefined {
  if (typeof output === 'string') return output
  if (!Array.isArray(output) || typeof output[0] !== 'number') return undefined
  return Buffer.from(output as number[]).toString('utf8')
}

/** The output without the texts that repeat what `isKept` elsewhere, without paths that differ per copy, with bytes as text. */
function trimmed(raw: Fields, shown: string, isKept: boolean): Fields {
  const kept: Fields = {}
  const omitted: string[] = []
  let isThere = isKept
  const keep = (into: Fields, from: Fields, prefix: string): void => {
    for (const name of Object.keys(from)) {
      if (name === 'output_file' || name === 'current_dir') continue
      const value = name === 'output' ? (decoded(from[name]) ?? from[name]) : from[name]
      const isRepetition = typeof value === 'string' && value.length > 80 && repeats(value, shown)
      if (isRepetition && isThere) omitted.push(prefix + name)
      else if (name !== '__proto__') into[name] = value
      isThere ||= value === shown
    }
  }
  keep(kept, raw, '')
  for (const name of Object.keys(kept)) {
    const inner = kept[name]
    if (!isRecord(inner)) continue
    const copy: Fields = {}
    keep(copy, inner, `${name}.`)
    kept[name] = copy
  }
  if (omitted.length > 0) kept['repeatsContent'] = omitted
  return kept
}

/** Equal, or equal behind the line that tells the exit code to the model. */
function repeats(value: string, shown: string): boolean {
  if (value === shown) return true
  return value.length > shown.length && value.startsWith('exit: ') && value.endsWith(shown) && shown !== ''
}

const TERMINAL_LIMIT = 8 << 20

interface TerminalLog {
  text: string
  totalBytes: number
  readBytes: number
}

/** A long output is cut in the record; the whole of it lies in the session's, or its parent's, terminal directory. */
function terminalLog(session: Session, raw: Fields): TerminalLog | undefined {
  const path = str(raw['output_file']) ?? ''
  const name = basename(path)
  if (!/^[\w][\w.-]*\.log$/.test(name)) return undefined
  const writer = basename(dirname(dirname(path)))
  for (const owner of /^[\w-]+$/.test(writer) ? [session.id, writer] : [session.id]) {
    const log = join(dirname(session.files.directory), owner, 'terminal', name)
    const found = readable(log, TERMINAL_LIMIT)
    if (found)
      return { text: found.bytes.toString('utf8'), totalBytes: found.size, readBytes: found.bytes.length }
  }
  return undefined
}
