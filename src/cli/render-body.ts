// What an event's body says to a person: its text, and for edits the lines that change. Bodies are the native records of
// any program, so they are judged by their shape.
import { structuredPatch } from 'diff'
import { textOf } from '../digest/event.ts'

export interface Edit {
  path: string
  added: number
  removed: number
  /** Lines of a diff: `+`, `-` or a space in front; `@` between pieces. */
  lines: string[]
}

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const pick = (fields: Fields, names: readonly string[]): string | undefined =>
  names.map((name) => fields[name]).find((value) => typeof value === 'string') as string | undefined

/** The words of a message, a thought or a result. */
export function bodyText(payload: unknown): string {
  if (isFields(payload))
    for (const name of ['thinking', 'summary']) {
      const text = Object.hasOwn(payload, name) ? textOf(payload[name]) : ''
      if (text !== '') return text
    }
  return withoutHead(textOf(payload))
}

const HEAD_LINE = /^(?:[A-Z][\w ]*: .*|Process exited with code -?\d+|Process running with .*)$/

/** Some programs put a head of `Name: value` lines before what a command printed, ended by `Output:`. */
function withoutHead(text: string): string {
  const end = /^Output:\n?/m.exec(text.slice(0, 500))
  if (!end || end.index === 0) return text
  const head = text.slice(0, end.index).trimEnd().split('\n')
  return head.every((line) => HEAD_LINE.test(line)) ? text.slice(end.index + end[0].length) : text
}

/** What a tool was asked to do. */
export function inputOf(payload: unknown): unknown {
  if (!isFields(payload)) return undefined
  const given = payload['input'] ?? payload['arguments'] ?? payload['rawInput'] ?? payload['args']
  if (typeof given !== 'string' || !given.startsWith('{')) return given
  try {
    return JSON.parse(given) as unknown
  } catch {
    return given
  }
}

const PATHS = ['file_path', 'filePath', 'path', 'target_file', 'notebook_path', 'file', 'filename']
const OLD = ['old_string', 'old_str', 'oldText', 'oldString']
const NEW = ['new_string', 'new_str', 'newText', 'newString']
const WHOLE = ['content', 'contents', 'file_text', 'new_source']

/** The changes a call asks for; none where its shape is not known. */
export function editsOf(payload: unknown): Edit[] {
  const input = inputOf(payload)
  const patch = patchIn(input)
  if (patch !== undefined) return patchEdits(patch)
  return isFields(input) ? fieldEdits(input, pick(input, PATHS) ?? '') : []
}

function fieldEdits(input: Fields, path: string): Edit[] {
  if (Array.isArray(input['edits']))
    return input['edits'].filter(isFields).flatMap((one) => fieldEdits(one, pick(one, PATHS) ?? path))
  const before = pick(input, OLD)
  const after = pick(input, NEW)
  if (before !== undefined || after !== undefined) return [editOf(path, before ?? '', after ?? '')]
  const whole = pick(input, WHOLE)
  return whole === undefined ? [] : [editOf(path, '', whole)]
}

function editOf(path: string, before: string, after: string): Edit {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: 2 })
  const lines = hunks.flatMap((hunk, at) => [
    ...(at === 0 ? [] : ['@']),
    ...hunk.lines.filter((line) => !line.startsWith('\\')),
  ])
  return { path, ...counts(lines), lines }
}

const counts = (lines: readonly string[]): { added: number; removed: number } => ({
  added: lines.filter((line) => line.startsWith('+')).length,
  removed: lines.filter((line) => line.startsWith('-')).length,
})

const PATCH = '*** Begin Patch'

/** A patch may stand anywhere in the arguments, also inside a command. */
function patchIn(input: unknown, depth = 4): string | undefined {
  if (typeof input === 'string') return input.includes(PATCH) ? input.slice(input.indexOf(PATCH)) : undefined
  if (depth === 0 || typeof input !== 'object' || input === null) return undefined
  for (const value of Object.values(input)) {
    const found = patchIn(value, depth - 1)
    if (found !== undefined) return found
  }
  return undefined
}

function patchEdits(patch: string): Edit[] {
  const edits: Edit[] = []
  for (const line of patch.split('\n')) {
    const file = /^\*\*\* (?:Update|Add|Delete) File: (.*)$/.exec(line)
    const last = edits.at(-1)
    if (file) edits.push({ path: file[1] as string, added: 0, removed: 0, lines: [] })
    else if (line.startsWith('*** End Patch')) break
    else if (line.startsWith('*** Move to: ') && last) last.path += ` → ${line.slice(13)}`
    else if (last && line.startsWith('@@')) last.lines.push(...(last.lines.length > 0 ? ['@'] : []))
    else if (last && /^[+\- ]/.test(line)) last.lines.push(line)
  }
  return edits.map((edit) => ({ ...edit, ...counts(edit.lines) }))
}
