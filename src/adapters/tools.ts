// Tools of agents we know nothing about: what a call does is judged by its name and its arguments alone.
// Agents with tools of known names have their own tables.
import type { EventItem } from './adapter.ts'
import { type CallBook, closeCall, openCall } from './calls.ts'
import { isRecord, list, str } from './guards.ts'
import { firstLine, leaves } from './text.ts'

const EDIT_WORDS = new Set(['edit', 'multiedit', 'write', 'patch', 'replace', 'insert', 'editor'])
const FILE_WORDS = new Set(['create', 'delete', 'remove', 'move', 'rename', 'update'])
/** Things that are written or replaced and are no files. */
const OTHER_OBJECTS = new Set([
  'todo',
  'todos',
  'stdin',
  'plan',
  'memory',
  'memories',
  'comment',
  'issue',
  'message',
  'email',
])
const SHELL_WORDS = new Set([
  'bash',
  'shell',
  'sh',
  'zsh',
  'powershell',
  'exec',
  'execute',
  'terminal',
  'command',
  'run',
  'cmd',
])
const FILE_FIELDS = ['file_path', 'filePath', 'path', 'file', 'filename', 'notebook_path', 'target_file']
const SUBJECTS = ['command', 'cmd', 'pattern', 'query', 'url', 'description', 'prompt', 'name', 'id']

export interface GenericCall {
  id: string
  tool: string
  input: unknown
  ts: number | null
}

type CallParts = Pick<EventItem, 'kind' | 'role' | 'tool' | 'callId' | 'summary' | 'text' | 'files'>

/** Notes a call in the book and tells everything about its event but key, time and payload. */
export function callParts(book: CallBook, call: GenericCall): CallParts {
  const { id, tool, ts } = call
  const input = isRecord(call.input) ? call.input : {}
  const words = wordsOf(tool)
  const command = words.some((word) => SHELL_WORDS.has(word)) ? commandOf(input) : undefined
  const edits = isEdit(words, input)
  const kind = openCall(book, { id, tool, input: call.input, ts, edits, command })
  const file = FILE_FIELDS.map((name) => str(input[name])).find(Boolean)
  const subject = command ?? SUBJECTS.map((name) => str(input[name])).find(Boolean)
  const parts: CallParts = { kind, role: 'assistant', tool, callId: id, summary: tool }
  if (file && command === undefined) parts.summary = `${tool} ${firstLine(file)}`
  else if (subject) parts.summary = `${tool}: ${firstLine(subject)}`
  if (file) parts.files = [file]
  const text = leaves(call.input)
  if (text !== undefined) parts.text = text
  return parts
}

type ResultParts = Pick<EventItem, 'kind' | 'role' | 'callId' | 'summary'> &
  Partial<Pick<EventItem, 'tool' | 'text' | 'durationMs'>>

export interface GenericResult {
  id: string
  /** Undefined where the format says nothing of failure. */
  failed: boolean
  text: string | undefined
  ts: number | null
}

/** Notes a result; the tool's name comes from its call. */
export function resultParts(book: CallBook, result: GenericResult): ResultParts {
  const { id, failed, text, ts } = result
  const call = closeCall(book, id, failed, ts)
  const parts: ResultParts = {
    kind: failed ? 'error' : 'tool_result',
    role: 'tool',
    callId: id,
    summary: firstLine(text ?? '') || '(no output)',
  }
  if (call) parts.tool = call.tool
  if (call?.durationMs !== undefined) parts.durationMs = call.durationMs
  if (text) parts.text = text
  return parts
}

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
  return words.includes('file') && words.some((word) => FILE_WORDS.has(word))
}

function commandOf(input: Record<string, unknown>): string | undefined {
  const command = input['command'] ?? input['cmd'] ?? input['script']
  if (typeof command === 'string') return command
  const words = list(command).filter((word) => typeof word === 'string')
  return words.length > 0 ? words.join(' ') : undefined
}
