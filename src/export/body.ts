// What an event's body says: its words, what a tool was asked, and for edits the lines that change. Bodies are the native
// records of any program, so they are judged by their shape.
import { structuredPatch } from 'diff'
import { ARGUMENTS, textOf } from '../digest/event.ts'
import { changesOf, editsIn } from '../event/edits.ts'
import type { SessionEvent } from '../model.ts'

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The words of a message, a thought or a result, all of them; the summary when the body is gone. */
export const wordsOf = (event: SessionEvent, payload: unknown): string =>
  (event.kind === 'thinking' ? fullText(payload) : textOf(payload)) || event.summary

/** The same for a person: without the head that some programs put before what a command printed. */
export const bodyText = (payload: unknown): string => withoutHead(fullText(payload))

function fullText(payload: unknown): string {
  if (isFields(payload))
    for (const name of ['thinking', 'summary']) {
      const text = Object.hasOwn(payload, name) ? textOf(payload[name]) : ''
      if (text !== '') return text
    }
  return textOf(payload)
}

const HEAD_LINE = /^(?:[A-Z][\w ]*: .*|Process exited with code -?\d+|Process running with .*)$/

/** A head of `Name: value` lines, ended by `Output:`. */
function withoutHead(text: string): string {
  const end = /^Output:\n?/m.exec(text.slice(0, 500))
  if (!end || end.index === 0) return text
  const head = text.slice(0, end.index).trimEnd().split('\n')
  return head.every((line) => HEAD_LINE.test(line)) ? text.slice(end.index + end[0].length) : text
}

/** The arguments of a call, as an object; of a call by a bare text, under `input`. */
export function argumentsOf(payload: unknown): Fields {
  if (!isFields(payload)) return {}
  const given = ARGUMENTS.map((name) => payload[name]).find((one) => one != null)
  if (isFields(given)) return given
  if (typeof given !== 'string') return given === undefined ? {} : { input: given }
  const parsed = parse(given)
  return isFields(parsed) ? parsed : { input: given }
}

function parse(text: string): unknown {
  if (!text.startsWith('{')) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

export interface Edit {
  path: string
  added: number
  removed: number
  /** Lines of a diff: `+`, `-` or a space in front; `@` between pieces. */
  lines: string[]
}

/** The changes a call asks for, file by file; none where its shape is not known. */
export function editsOf(payload: unknown): Edit[] {
  const edits = new Map<string, Edit>()
  for (const { path, before, after } of changesOf(editsIn(argumentsOf(payload)))) {
    const edit = edits.get(path) ?? { path, added: 0, removed: 0, lines: [] }
    edits.set(path, edit)
    const { hunks } = structuredPatch('', '', before, after, '', '', { context: 2 })
    for (const hunk of hunks)
      edit.lines.push(
        ...(edit.lines.length === 0 ? [] : ['@']),
        ...hunk.lines.filter((line) => !line.startsWith('\\')),
      )
    edit.added = edit.lines.filter((line) => line.startsWith('+')).length
    edit.removed = edit.lines.filter((line) => line.startsWith('-')).length
  }
  return [...edits.values()]
}

/** `+3 −1` */
export const changeText = ({ added, removed }: Pick<Edit, 'added' | 'removed'>): string =>
  `+${added} −${removed}`
