// Reads JSON Lines from a byte position: every byte ends up in a record, a gap or white space between them.
// Owns splitting and parsing; what a record means, and whether a gap stops the reader, is the caller's business.
// Memory is bounded by the longest line allowed, not by the file.
import { constants as bufferConstants } from 'node:buffer'
import { closeSync, fstatSync, readSync } from 'node:fs'
import { fromSystem, RecollectError } from '../errors.ts'
import { openForReading } from './reading.ts'

/** Why bytes could not be understood. For callers: `schema`, the record's shape is wrong; `spill`, what it refers to is. */
export type GapReason =
  | 'torn'
  | 'nul'
  | 'not-json'
  | 'not-object'
  | 'spliced'
  | 'oversize'
  | 'schema'
  | 'spill'

export interface JsonlRecord {
  record: Record<string, unknown>
  /** Offset and length of the record's bytes in the file, without its newline. */
  offset: number
  length: number
}

export interface JsonlGap {
  gap: GapReason
  detail: string
  offset: number
  length: number
}

export type JsonlItem = JsonlRecord | JsonlGap

export interface JsonlOptions {
  /** First byte to read (default 0). In the middle of a line, the rest of that line is a gap. */
  fromOffset?: number
  /** Stop before this byte (default: the size at opening; later appends belong to the next read). */
  endOffset?: number
  /** A longer line is a gap (default 64 MiB). */
  maxLineBytes?: number
  /** False leaves the bytes after the last newline unread, for files that are still being written (default true). */
  readTail?: boolean
  /** More values in one line are a gap: each can take fifty times its bytes in memory (default 4 million). */
  maxValues?: number
  /** Whole records on a line that is no JSON become records, only what is left a gap (default false). */
  splitJoined?: boolean
}

const NEWLINE = 10
const RETURN = 13
const QUOTE = 34
const [OPEN, CLOSE] = [123, 125]
const CHUNK_BYTES = 1 << 20
/** The longest line readers take unless told otherwise, and the longest writers write. */
export const MAX_LINE_BYTES = 64 << 20
// JSON of many tiny values unfolds to fifty times its size: such a line is refused before it can exhaust the memory.
const MAX_VALUES = 4_000_000
const MAX_JOINED = 1000
const MAX_STARTS = 64

/** The records and gaps of a file, in order. */
export function* readJsonl(path: string, options: JsonlOptions = {}): Generator<JsonlItem> {
  const fd = openForReading(path)
  try {
    yield* readJsonlFrom(fd, path, options)
  } finally {
    closeSync(fd)
  }
}

/** As readJsonl, on a descriptor the caller keeps. */
export function* readJsonlFrom(fd: number, path: string, options: JsonlOptions = {}): Generator<JsonlItem> {
  const maxLineBytes = Math.min(options.maxLineBytes ?? MAX_LINE_BYTES, bufferConstants.MAX_STRING_LENGTH)
  const endOffset = options.endOffset ?? fstatSync(fd).size
  let offset = options.fromOffset ?? 0
  // A negative position would make the kernel read from wherever the descriptor stands.
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw new RecollectError('BAD_INPUT', 'fromOffset must be a byte offset', {
      where: `${path}: fromOffset`,
      hint: 'give what an item of the file said: a whole number from 0 on',
    })
  }
  let held: Buffer[] = []
  let heldBytes = 0
  let lineOffset = offset
  const parse = (line: Buffer, isEnded: boolean): JsonlItem[] =>
    parseLine(line, lineOffset, isEnded, options.splitJoined ?? false, options.maxValues)

  // One for all of the file: new ones would pile up, since nothing but their memory tells the collector of them.
  const room = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, Math.max(0, endOffset - offset)))
  while (offset < endOffset) {
    const chunk = readChunk(fd, path, offset, room.subarray(0, endOffset - offset))
    if (chunk.length === 0) break
    let start = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, at)
      const lineBytes = heldBytes + piece.length
      const items =
        lineBytes > maxLineBytes
          ? [oversize(lineOffset, lineBytes, maxLineBytes)]
          : parse(heldBytes === 0 ? piece : Buffer.concat([...held, piece]), true)
      // Let go before the items are used: a suspended generator keeps whatever it can still see.
      held = []
      heldBytes = 0
      start = at + 1
      lineOffset = offset + start
      yield* items
    }
    if (start < chunk.length) {
      heldBytes += chunk.length - start
      // Past the limit the bytes are only counted: a line of any length costs no more memory than the limit.
      if (heldBytes > maxLineBytes) held = []
      else held.push(Buffer.from(chunk.subarray(start)))
    }
    offset += chunk.length
  }
  if (heldBytes === 0 || options.readTail === false) return
  if (heldBytes > maxLineBytes) yield oversize(lineOffset, heldBytes, maxLineBytes)
  else yield* parse(Buffer.concat(held), false)
}

function readChunk(fd: number, path: string, offset: number, room: Buffer): Buffer {
  const { length } = room
  try {
    let filled = 0
    while (filled < length) {
      const count = readSync(fd, room, filled, length - filled, offset + filled)
      if (count === 0) break
      filled += count
    }
    return room.subarray(0, filled)
  } catch (error) {
    throw fromSystem(error, `cannot read at byte ${offset}`, path, 'read')
  }
}

function oversize(offset: number, length: number, max: number): JsonlGap {
  return { gap: 'oversize', detail: `line of ${length} bytes, limit ${max}`, offset, length }
}

/** One line without its newline: usually one item; a run of NULs before a record gives two, a blank line none. */
export function parseLine(
  line: Buffer,
  lineOffset: number,
  ended: boolean,
  splitJoined: boolean,
  maxValues = MAX_VALUES,
): JsonlItem[] {
  return (
    plainRecord(line, lineOffset, maxValues) ?? [
      ...lineItems(line, lineOffset, ended, splitJoined, maxValues),
    ]
  )
}

/** What nearly every line is: one object, from the first byte to the last. */
function plainRecord(line: Buffer, offset: number, maxValues: number): JsonlItem[] | undefined {
  const { length } = line
  if (line[0] !== OPEN || line[length - 1] !== CLOSE || hasMoreValues(line, maxValues)) return undefined
  const record = parseObject(line.toString('utf8'))
  return record && [{ record, offset, length }]
}

function* lineItems(
  line: Buffer,
  lineOffset: number,
  ended: boolean,
  splitJoined: boolean,
  maxValues: number,
): Generator<JsonlItem> {
  let start = 0
  let end = line.length
  if (end > 0 && line[end - 1] === RETURN) end--
  // Lenient readers take it in the middle too: files with a byte order mark get joined.
  if ((lineOffset === 0 || splitJoined) && hasByteOrderMark(line)) start = 3
  // After a power cut ext4 can leave NULs where an unflushed record was; the next record then follows on their line.
  if (line[start] === 0) {
    const from = start
    while (start < end && line[start] === 0) start++
    yield { gap: 'nul', detail: `${start - from} NUL bytes`, offset: lineOffset + from, length: start - from }
  }
  if (isBlank(line, start, end)) return
  const offset = lineOffset + start
  const length = end - start
  const bytes = line.subarray(start, end)
  if (hasMoreValues(bytes, maxValues)) {
    yield { gap: 'oversize', detail: `more than ${maxValues} values in one line`, offset, length }
    return
  }
  let value: unknown
  try {
    // An exception of the parser costs far more than a look at the first byte.
    if (!canBeJson(bytes[0] as number)) throw NOT_JSON
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    if (splitJoined) return yield* salvage(bytes, offset, ended, shortMessage(error))
    const lastNul = bytes.lastIndexOf(0)
    if (lastNul !== -1) {
      // Pages lost in the middle of a line, its newline with them: what follows the NULs can be a whole record.
      yield { gap: 'nul', detail: 'NUL bytes in the line', offset, length: lastNul + 1 }
      const rest = bytes.subarray(lastNul + 1)
      return yield* lineItems(rest, offset + lastNul + 1, ended, splitJoined, maxValues)
    }
    yield { gap: syntaxGap(bytes, ended), detail: shortMessage(error), offset, length }
    return
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const detail = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`
    yield { gap: 'not-object', detail, offset, length }
    return
  }
  yield { record: value as Record<string, unknown>, offset, length }
}

const NOT_JSON = new SyntaxError('position 0')

/** `{ [ " - digit t f n` or white space. */
const canBeJson = (byte: number): boolean =>
  byte === 123 ||
  byte === 91 ||
  byte === QUOTE ||
  byte === 45 ||
  (byte > 47 && byte < 58) ||
  byte === 116 ||
  byte === 102 ||
  byte === 110 ||
  isSpace(byte)

const hasByteOrderMark = (line: Buffer): boolean =>
  line.length >= 3 && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf

function isBlank(line: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    if (!isSpace(line[i])) return false
  }
  return true
}

const isSpace = (byte: number | undefined): boolean => byte === 32 || byte === 9 || byte === RETURN

function syntaxGap(bytes: Buffer, ended: boolean): GapReason {
  if (!ended) return 'torn'
  const end = objectEnd(bytes, 0)
  return end !== -1 && /^\s*\{/.test(bytes.toString('latin1', end, end + 100)) ? 'spliced' : 'not-json'
}

/** Whether a JSON text holds more values than that; each of them begins or follows one of `[ { ,` outside strings. */
export function hasMoreValues(bytes: Buffer, max: number): boolean {
  if (bytes.length <= 2 * max) return false
  let count = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      i = stringEnd(bytes, i + 1)
      if (i === -1) return false
    } else if ((byte === 44 || byte === 91 || byte === 123) && ++count > max) return true
  }
  return false
}

/** The index of the quote that ends the string, or -1. */
function stringEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(QUOTE, from); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let slashes = 0
    while (bytes[at - 1 - slashes] === 92) slashes++
    if (slashes % 2 === 0) return at
  }
  return -1
}

/** V8 quotes the offending text in its message; a transcript's text has no place in an error report. */
function shortMessage(error: unknown): string {
  const message = (error as Error).message
  const position = /position (\d+)/.exec(message)
  return position ? `not JSON at character ${position[1]}` : 'not JSON, or cut short'
}

/** The whole records of a line that is no JSON, and gaps for the rest: two joined, one cut off and the next begun. */
function* salvage(bytes: Buffer, base: number, ended: boolean, detail: string): Generator<JsonlItem> {
  let from = 0
  let recordCount = 0
  let triesLeft = MAX_STARTS
  for (let at = nextStart(bytes, 0); at !== -1 && recordCount < MAX_JOINED; ) {
    const end = objectEnd(bytes, at)
    const record = end === -1 ? undefined : parseObject(bytes.toString('utf8', at, end))
    if (record) {
      if (!isBlank(bytes, from, at))
        yield pieceGap(bytes, from, at, base, 'torn', 'cut off by another record')
      yield { record, offset: base + at, length: end - at }
      recordCount++
      from = end
    } else if (--triesLeft === 0) break
    at = nextStart(bytes, record ? end : at + 1)
  }
  if (isBlank(bytes, from, bytes.length)) return
  const reason = !ended || recordCount > 0 ? 'torn' : 'not-json'
  yield pieceGap(bytes, from, bytes.length, base, reason, detail)
}

function pieceGap(
  bytes: Buffer,
  from: number,
  to: number,
  base: number,
  reason: GapReason,
  detail: string,
): JsonlGap {
  const gap = bytes.subarray(from, to).includes(0) ? 'nul' : reason
  return { gap, detail, offset: base + from, length: to - from }
}

const START = /^\{"[A-Za-z_][\w.-]*"\s*:/
const START_BYTES = 100

/**
 * Where the next record can begin. An object inside another one follows `:`, `,` or `[`; inside a string every quote is
 * escaped, so `{"name":` that follows anything else was begun by a writer.
 */
function nextStart(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf('{"', from); at !== -1; at = bytes.indexOf('{"', at + 1)) {
    let before = at - 1
    while (before >= 0 && isSpace(bytes[before])) before--
    const byte = bytes[before]
    if (byte === 58 || byte === 44 || byte === 91) continue
    if (START.test(bytes.toString('latin1', at, at + START_BYTES))) return at
  }
  return -1
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    return undefined
  }
}

/** The index after the object that starts at `at`, or -1. */
function objectEnd(bytes: Buffer, at: number): number {
  if (bytes[at] !== 123) return -1
  let depth = 0
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === QUOTE) {
      i = stringEnd(bytes, i + 1)
      if (i === -1) return -1
    } else if (byte === 123 || byte === 91) depth++
    else if ((byte === 125 || byte === 93) && --depth === 0) return i + 1
  }
  return -1
}
