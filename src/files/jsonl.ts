// Reads JSON Lines from a byte position: every byte ends up in a record, a gap or white space between them.
// Owns splitting and parsing; what a record means, and whether a gap stops the reader, is the caller's business.
// Memory is bounded by the longest line allowed, not by the file.
import { constants as bufferConstants, isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { fromSystem, RecollectError } from '../errors.ts'

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
  /** True when invalid UTF-8 was read as U+FFFD. */
  lossy: boolean
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
  /** Two or more whole records on one line become records of their own instead of a gap (default false). */
  splitJoined?: boolean
}

const NEWLINE = 10
const RETURN = 13
const CHUNK_BYTES = 1 << 20
/** The longest line readers take unless told otherwise, and the longest writers write. */
export const MAX_LINE_BYTES = 64 << 20
// JSON of many tiny values unfolds to fifty times its size: such a line is refused before it can exhaust the memory.
const COUNTED_LINE_BYTES = 4 << 20
const MAX_VALUES = 4_000_000
const MAX_JOINED = 1000

/** Opens a regular file for reading: never follows a link at the end of the path, never hangs on a pipe. */
export function openForReading(path: string): number {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    throw fromSystem(error, 'cannot open file', path, 'read')
  }
  if (fstatSync(fd).isFile()) return fd
  closeSync(fd)
  throw new RecollectError('NOT_A_FILE', 'not a regular file', { where: path })
}

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
    throw new RecollectError('BAD_INPUT', 'fromOffset must be a byte offset', { where: path })
  }
  let held: Buffer[] = []
  let heldBytes = 0
  let lineOffset = offset

  while (offset < endOffset) {
    const chunk = readChunk(fd, path, offset, Math.min(CHUNK_BYTES, endOffset - offset))
    if (chunk.length === 0) break
    let start = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
      const piece = chunk.subarray(start, at)
      const lineBytes = heldBytes + piece.length
      if (lineBytes > maxLineBytes) yield oversize(lineOffset, lineBytes, maxLineBytes)
      else if (heldBytes === 0) yield* parseLine(piece, lineOffset, true, options.splitJoined ?? false)
      else yield* parseLine(Buffer.concat([...held, piece]), lineOffset, true, options.splitJoined ?? false)
      held = []
      heldBytes = 0
      start = at + 1
      lineOffset = offset + start
    }
    if (start < chunk.length) {
      heldBytes += chunk.length - start
      // Past the limit the bytes are only counted: a line of any length costs no more memory than the limit.
      if (heldBytes > maxLineBytes) held = []
      else held.push(start === 0 ? chunk : Buffer.from(chunk.subarray(start)))
    }
    offset += chunk.length
  }
  if (heldBytes === 0 || options.readTail === false) return
  if (heldBytes > maxLineBytes) yield oversize(lineOffset, heldBytes, maxLineBytes)
  else yield* parseLine(Buffer.concat(held), lineOffset, false, options.splitJoined ?? false)
}

function readChunk(fd: number, path: string, offset: number, length: number): Buffer {
  const chunk = Buffer.allocUnsafeSlow(length)
  try {
    let filled = 0
    while (filled < length) {
      const count = readSync(fd, chunk, filled, length - filled, offset + filled)
      if (count === 0) break
      filled += count
    }
    return chunk.subarray(0, filled)
  } catch (error) {
    throw fromSystem(error, `cannot read at byte ${offset}`, path, 'read')
  }
}

function oversize(offset: number, length: number, max: number): JsonlGap {
  return { gap: 'oversize', detail: `line of ${length} bytes, limit ${max}`, offset, length }
}

/** One line without its newline: usually one item; a run of NULs before a record gives two, a blank line none. */
export function* parseLine(
  line: Buffer,
  lineOffset: number,
  ended: boolean,
  splitJoined: boolean,
): Generator<JsonlItem> {
  let start = 0
  let end = line.length
  if (end > 0 && line[end - 1] === RETURN) end--
  if (lineOffset === 0 && end >= 3 && line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) start = 3
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
  if (length > COUNTED_LINE_BYTES && hasTooManyValues(bytes)) {
    yield { gap: 'oversize', detail: `more than ${MAX_VALUES} values in one line`, offset, length }
    return
  }
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const lastNul = bytes.lastIndexOf(0)
    if (lastNul !== -1) {
      // Pages lost in the middle of a line, its newline with them: what follows the NULs can be a whole record.
      yield { gap: 'nul', detail: 'NUL bytes in the line', offset, length: lastNul + 1 }
      return yield* parseLine(bytes.subarray(lastNul + 1), offset + lastNul + 1, ended, splitJoined)
    }
    const parts = splitJoined ? splitRecords(text, offset) : undefined
    if (parts) return yield* parts
    yield { gap: syntaxGap(text, ended), detail: shortMessage(error), offset, length }
    return
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const detail = Array.isArray(value) ? 'an array' : value === null ? 'null' : `a ${typeof value}`
    yield { gap: 'not-object', detail, offset, length }
    return
  }
  yield {
    record: value as Record<string, unknown>,
    offset,
    length,
    lossy: text.includes('\ufffd') && !isUtf8(bytes),
  }
}

function isBlank(line: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const byte = line[i]
    if (byte !== 32 && byte !== 9 && byte !== RETURN) return false
  }
  return true
}

function syntaxGap(text: string, ended: boolean): GapReason {
  if (!ended) return 'torn'
  const end = objectEnd(text, 0)
  return end !== -1 && /^\s*\{/.test(text.slice(end, end + 100)) ? 'spliced' : 'not-json'
}

/** Counts the values outside strings, each of which begins or follows one of `[ { ,`. */
function hasTooManyValues(bytes: Buffer): boolean {
  let count = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]
    if (byte === 34) {
      i = stringEnd(bytes, i + 1)
      if (i === -1) return false
    } else if ((byte === 44 || byte === 91 || byte === 123) && ++count > MAX_VALUES) return true
  }
  return false
}

/** The index of the quote that ends the string, or -1. */
function stringEnd(bytes: Buffer, from: number): number {
  for (let at = bytes.indexOf(34, from); at !== -1; at = bytes.indexOf(34, at + 1)) {
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

/** Splits `{…}{…}` into its records; undefined unless the whole text is two or more objects, up to a bound. */
function splitRecords(text: string, baseOffset: number): JsonlRecord[] | undefined {
  const records: JsonlRecord[] = []
  let offset = baseOffset
  for (let at = 0; at < text.length; ) {
    const end = objectEnd(text, at)
    if (end === -1 || records.length === MAX_JOINED) return undefined
    const part = text.slice(at, end)
    const length = Buffer.byteLength(part)
    try {
      records.push({ record: JSON.parse(part) as Record<string, unknown>, offset, length, lossy: false })
    } catch {
      return undefined
    }
    let next = end
    while (next < text.length && text.charCodeAt(next) <= 32) next++
    offset += length + (next - end)
    at = next
  }
  return records.length > 1 ? records : undefined
}

/** The index after the object that starts at `at`, or -1. */
function objectEnd(text: string, at: number): number {
  if (text[at] !== '{') return -1
  let depth = 0
  let inString = false
  for (let i = at; i < text.length; i++) {
    const char = text.charCodeAt(i)
    if (inString) {
      if (char === 92) i++
      else if (char === 34) inString = false
    } else if (char === 34) inString = true
    else if (char === 123 || char === 91) depth++
    else if ((char === 125 || char === 93) && --depth === 0) return i + 1
  }
  return -1
}
