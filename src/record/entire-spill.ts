// Content that other readers refuse. Entire's scanner gives up on the whole transcript at a line of 10 MiB, jq at half
// a surrogate pair (a text cut in the middle of an emoji). Such values are split off into
// <session>/spill/<sha256>.txt|json and leave a preview in their place; the line's top-level key `recollectSpill`,
// which Entire does not look at and no message can forge, says what belongs where.
// The files are complete and flushed before the line is written, so a line never refers to what a crash took away.
import { closeSync, fstatSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { RecollectError } from '../errors.ts'
import { crypto } from '../files/builtin.ts'
import { ensureDirectory } from '../files/directory.ts'
import { checkNoLinks } from '../files/paths.ts'
import { openForReading } from '../files/reading.ts'
import { replaceFile } from '../files/replace.ts'
import { Count, Text } from './shapes.ts'

/** A line, with its newline, stays below this. */
export const LINE_LIMIT = 10 * 1024 * 1024
/** Smaller values are not worth a file: a preview and a reference take about a quarter of this. */
const SMALLEST_WEIGHT = 4096
/** When more files than this were needed, a value further up is split off as one. */
const MAX_FILES = 64
// How deep below message.content a value may be split off, tried in this order: any long string; then whole values
// such as one argument of a tool; all arguments; the whole content. A block itself keeps its type and place.
const DEEPEST = [Number.POSITIVE_INFINITY, 3, 2, 0]
const PREVIEW_HEAD = 400
const PREVIEW_TAIL = 200

export const SpillReference = z.object({
  /** JSON pointer (RFC 6901) from the line to the value. */
  at: Text,
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: Count,
  /** `text`: the file is the string in UTF-8. `json`: the file is the value as JSON. */
  as: z.enum(['text', 'json']),
})
export type SpillReference = z.infer<typeof SpillReference>

export interface Spill {
  message: unknown
  references: SpillReference[]
  files: { name: string; bytes: Buffer }[]
}

interface Candidate {
  parent: object
  key: string
  at: string
  value: unknown
  json: string
  weight: number
  loneCount: number
}

/**
 * The bytes of a JSON text as Entire writes it: on rewind its encoder turns < > & and the two Unicode line separators
 * into six bytes each, and must still be able to read the result.
 */
export function weigh(json: string): number {
  let weight = Buffer.byteLength(json)
  for (let i = 0; i < json.length; i++) {
    const char = json.charCodeAt(i)
    if (char === 60 || char === 62 || char === 38) weight += 5
    else if (char === 0x2028 || char === 0x2029) weight += 3
  }
  return weight
}

/** How many halves of surrogate pairs a text made by JSON.stringify holds: only they appear as such an escape. */
export function countLone(json: string): number {
  if (!json.includes('\\ud')) return 0
  // Escape by escape, so that an escaped backslash before the letters is not mistaken for one.
  const escapes = json.match(/\\(ud[89a-f]|.)/gs) ?? []
  return escapes.filter((escaped) => escaped.length > 2).length
}

/** Splits values off `message` (a JSON copy that may be changed) until nobody refuses it and it fits the budget. */
export function splitOff(message: { content: unknown }, json: string, budget: number): Spill {
  const wholeWeight = weigh(json)
  const wholeLoneCount = countLone(json)
  for (const deepest of DEEPEST) {
    const search: Search = { found: [], path: ['message'], deepest, lone: wholeLoneCount > 0 }
    collect(search, message, 'content')
    const { found } = search
    found.sort((a, b) => Math.sign(b.loneCount) - Math.sign(a.loneCount) || b.weight - a.weight)
    const pieces: { candidate: Candidate; piece: ReturnType<typeof pieceOf> }[] = []
    let weight = wholeWeight
    let loneCount = wholeLoneCount
    for (const candidate of found.slice(0, MAX_FILES)) {
      if (weight <= budget && loneCount === 0) break
      const piece = pieceOf(candidate)
      weight +=
        weigh(JSON.stringify(piece.preview)) + weigh(JSON.stringify(piece.reference)) + 1 - candidate.weight
      loneCount -= candidate.loneCount
      pieces.push({ candidate, piece })
    }
    if (weight > budget || loneCount > 0) continue
    for (const { candidate, piece } of pieces) put(candidate.parent, candidate.key, piece.preview)
    return {
      message,
      references: pieces.map(({ piece }) => piece.reference),
      files: pieces.map(({ piece }) => ({ name: fileName(piece.reference), bytes: piece.bytes })),
    }
  }
  throw new RecollectError(
    'TOO_LARGE',
    'the line cannot be made readable for others even without its content',
    {
      where: 'message',
      hint: 'model, id and usage must be of ordinary size and whole text; nothing was written',
    },
  )
}

interface Search {
  found: Candidate[]
  /** From the line to the parent of the value looked at. */
  path: string[]
  deepest: number
  /** Whether short strings have to be looked at too. */
  lone: boolean
}

function collect(search: Search, parent: object, key: string): void {
  const value = (parent as Record<string, unknown>)[key]
  const isText = typeof value === 'string'
  if (!isText && (typeof value !== 'object' || value === null)) return
  if (isText && value.length * 6 < SMALLEST_WEIGHT && !search.lone) return
  search.path.push(key)
  if (!isText && search.path.length - 2 < search.deepest) {
    for (const name of Object.keys(value)) collect(search, value, name)
  } else {
    const json = JSON.stringify(value)
    const weight = weigh(json)
    const loneCount = countLone(json)
    const at = search.path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
    if (weight >= SMALLEST_WEIGHT || loneCount > 0) {
      search.found.push({ parent, key, at, value, json, weight, loneCount })
    }
  }
  search.path.pop()
}

function pieceOf({ value, json, at, loneCount }: Candidate): {
  bytes: Buffer
  preview: unknown
  reference: SpillReference
} {
  // Half a surrogate pair has no UTF-8 form; JSON can escape it.
  const isText = typeof value === 'string' && loneCount === 0
  const text = isText ? value : json
  const bytes = Buffer.from(text)
  const sha256 = crypto().createHash('sha256').update(bytes).digest('hex')
  const reference: SpillReference = { at, sha256, bytes: bytes.length, as: isText ? 'text' : 'json' }
  const shown = typeof value === 'string' ? value : json
  const cut = previewOf(shown, `[${bytes.length} bytes, whole in ${fileName(reference)}]`)
  // The kind of value stays, so that whoever expects a string, a list of blocks or an object still finds one.
  const preview =
    typeof value === 'string' ? cut : Array.isArray(value) ? [{ type: 'text', text: cut }] : { spilled: cut }
  return { bytes, preview, reference }
}

/** Beginning and end: Entire looks for a sub-agent's id in the last lines of a tool result. */
function previewOf(text: string, note: string): string {
  const isShort = text.length <= PREVIEW_HEAD + PREVIEW_TAIL
  const cut = isShort ? text : `${text.slice(0, PREVIEW_HEAD)}\n${note}\n${text.slice(-PREVIEW_TAIL)}`
  return cut.replace(/\p{Surrogate}/gu, '\ufffd')
}

function fileName(reference: SpillReference): string {
  return `spill/${reference.sha256}.${reference.as === 'text' ? 'txt' : 'json'}`
}

/** Writes the files of a spill. The caller holds the session's lock. */
export function writeSpill(directory: string, files: Spill['files'], durable: boolean): void {
  for (const { name, bytes } of files) {
    const path = join(directory, name)
    checkNoLinks(directory, path)
    ensureDirectory(dirname(path), 0o700, durable)
    // Also when it is there already: after a power cut a file may have its name and not its bytes.
    replaceFile(path, bytes, { durable })
  }
}

/** Puts everything that was split off back into a parsed line; on failure returns what is wrong. */
export function restoreSpill(directory: string, line: Record<string, unknown>): string | undefined {
  for (const reference of (line['recollectSpill'] as SpillReference[] | undefined) ?? []) {
    const name = fileName(reference)
    // Nothing but content is ever split off.
    const place = /^\/message\/content(?:\/|$)/.test(reference.at) ? find(line, reference.at) : undefined
    if (!place) return `${name} has no place at ${reference.at}`
    let bytes: Buffer
    try {
      checkNoLinks(directory, join(directory, name))
      bytes = readWhole(join(directory, name), reference.bytes)
    } catch (error) {
      return `${name}: ${(error as Error).message}`
    }
    if (crypto().createHash('sha256').update(bytes).digest('hex') !== reference.sha256)
      return `${name} was changed`
    const text = bytes.toString()
    try {
      put(place.parent, place.key, reference.as === 'text' ? text : JSON.parse(text))
    } catch {
      return `${name} is not JSON`
    }
  }
  delete line['recollectSpill']
  return undefined
}

function readWhole(path: string, length: number): Buffer {
  const fd = openForReading(path)
  try {
    const { size } = fstatSync(fd)
    if (size !== length)
      throw new RecollectError('CORRUPT', `${size} bytes instead of ${length}`, {
        where: path,
        hint: 'restore it from a backup; without it the line has a shortened text',
      })
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

function find(line: object, at: string): { parent: object; key: string } | undefined {
  const keys = at.split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop() as string
  let node: unknown = line
  for (const key of keys.slice(1)) node = own(node, key) ? (node as Record<string, unknown>)[key] : undefined
  return keys[0] === '' && own(node, last) ? { parent: node as object, key: last } : undefined
}

function own(node: unknown, key: string): boolean {
  return typeof node === 'object' && node !== null && Object.hasOwn(node, key)
}

/** Not an assignment: a key may be `__proto__`. */
function put(parent: object, key: string, value: unknown): void {
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true })
}
