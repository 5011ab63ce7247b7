// Edits JSON with comments as text: a value is added, replaced or taken out, and every byte beside it stays as it is.
// Pure; the text has to be valid, and no key may stand twice in an object on the way.
import { createScanner, findNodeAtLocation, type JSONPath, type Node, parseTree } from 'jsonc-parser'

export const LENIENT = { allowTrailingComma: true, disallowComments: false }

// The scanner's kinds of a comma, of the two comments, and of the end.
const COMMA = 5
const COMMENTS = [12, 13]
const END = 17

const find = (text: string, path: JSONPath): Node | undefined =>
  findNodeAtLocation(parseTree(text, [], LENIENT) as Node, path)

const at = (text: string, path: JSONPath): Node => find(text, path) as Node

export const hasValue = (text: string, path: JSONPath): boolean => find(text, path) !== undefined

const endOf = (node: Node): number => node.offset + node.length

/** Puts a value behind the last one of a list or, under a name, of an object. */
export function addValue(text: string, path: JSONPath, value: unknown, name?: string): string {
  const container = at(text, path)
  const bracket = endOf(container) - 1
  const outer = indentOf(text, container.offset)
  const inner = outer + unitOf(text)
  const label = name === undefined ? '' : `${JSON.stringify(name)}: `
  // Behind what is there, comments included; of the white space only what JSON knows as such.
  const end = /(?<![ \t\r\n])[ \t\r\n]*$/.exec(text.slice(0, bracket))?.index as number
  const gap = text.slice(end, bracket)
  const last = container.children?.at(-1)
  const needsComma = last !== undefined && commaBehind(text, endOf(last)) === undefined
  const head = needsComma
    ? `${text.slice(0, endOf(last))},${text.slice(endOf(last), end)}`
    : text.slice(0, end)
  const closing = gap.includes('\n') ? gap : eolOf(text) + outer
  return `${head}${eolOf(text)}${inner}${label}${layOut(text, value, inner)}${closing}${text.slice(bracket)}`
}

/** Puts a value at a path, with what is above it where that is not there either. */
export function putValue(text: string, path: readonly string[], value: unknown): string {
  if (hasValue(text, [...path])) return replaceValue(text, [...path], value)
  let depth = path.length - 1
  while (depth > 0 && !hasValue(text, path.slice(0, depth))) depth--
  const whole = path.slice(depth + 1).reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)
  return addValue(text, path.slice(0, depth), whole, path[depth])
}

export function replaceValue(text: string, path: JSONPath, value: unknown): string {
  const node = at(text, path)
  const laid = layOut(text, value, indentOf(text, node.offset))
  return text.slice(0, node.offset) + laid + text.slice(endOf(node))
}

/** Takes out a value of a list, or a property; with one comma, and with the lines that would be left blank. */
export function removeValue(text: string, path: JSONPath): string {
  const node = entryOf(at(text, path))
  const entries = node.parent?.children ?? []
  const before = entries[entries.indexOf(node) - 1]
  const comma = commaBehind(text, endOf(node)) ?? (before && commaBehind(text, endOf(before)))
  const without = (from: string, offset: number): string => from.slice(0, offset) + from.slice(offset + 1)
  if (comma === undefined) return closeUp(text, node.offset, endOf(node))
  if (comma > node.offset) return closeUp(without(text, comma), node.offset, endOf(node))
  return closeUp(without(text, comma), node.offset - 1, endOf(node) - 1)
}

/** Whether a comment stands in an outer value beside the inner one. */
export function hasCommentAround(text: string, outer: JSONPath, inner: JSONPath): boolean {
  const [around, kept] = [entryOf(at(text, outer)), entryOf(at(text, inner))]
  return (
    hasComment(text.slice(around.offset, kept.offset)) || hasComment(text.slice(endOf(kept), endOf(around)))
  )
}

/** What goes when a value goes: in an object its name as well. */
const entryOf = (node: Node): Node => (node.parent?.type === 'property' ? node.parent : node)

function hasComment(text: string): boolean {
  const scanner = createScanner(text)
  for (let kind = scanner.scan(); kind !== END; kind = scanner.scan())
    if (COMMENTS.includes(kind)) return true
  return false
}

/** Where the comma behind a value stands, if there is one. */
function commaBehind(text: string, offset: number): number | undefined {
  const scanner = createScanner(text, true)
  scanner.setPosition(offset)
  return scanner.scan() === COMMA ? scanner.getTokenOffset() : undefined
}

function closeUp(text: string, from: number, to: number): string {
  const lineStart = text.lastIndexOf('\n', from - 1) + 1
  const lineEnd = text.indexOf('\n', to)
  const [left, right] = [text.slice(lineStart, from), text.slice(to, lineEnd === -1 ? undefined : lineEnd)]
  if (lineEnd !== -1 && (left + right).trim() === '')
    return text.slice(0, lineStart) + text.slice(lineEnd + 1)
  if (/^[ \t]*(?:[\]}\r\n]|$)/.test(right))
    return text.slice(0, from).replace(/(?<![ \t])[ \t]+$/, '') + text.slice(to)
  return text.slice(0, from) + text.slice(to).replace(/^[ \t]+/, '')
}

function layOut(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll('\n', eolOf(text) + indent)
}

const indentOf = (text: string, offset: number): string => {
  const line = text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset)
  return /^[ \t]*/.exec(line)?.[0] as string
}

const unitOf = (text: string): string => /^([ \t]+)\S/m.exec(text)?.[1] ?? '  '

const eolOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')
