// Reads JSON Lines from a byte position: every byte ends up in a record, a gap or white space between them.
// Owns splitting and parsing; what a record means, and whether a gap stops the reader, is the caller's business.
// Memory is bounded by the longest line allowed, not by the file.
import { isUtf8 } from 'node:buffer'
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
  /** First byte to read (default 0). */
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
const DEFAULT_MAX_LINE_BYTES = 64 << 20

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
  const maxLineBytes = options.maxLineBytes ?? DEFAULT_MAX_LINE_BYTES
  const endOffset = options.endOffset ?? fstatSync(fd).size
  let offset = options.fromOffset ?? 0
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
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    if (splitJoined) {
      const parts = splitRecords(text, offset)
      if (parts) return yield* parts
    }
    yield { gap: syntaxGap(bytes, text, ended), detail: shortMessage(error), offset, length }
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

function syntaxGap(bytes: Buffer, text: string, ended: boolean): GapReason {
  if (bytes.includes(0)) return 'nul'
  if (!ended) return 'torn'
  return /[}\]]\s*\{/.test(text) && splitRecords(text, 0) !== undefined ? 'spliced' : 'not-json'
}

/** V8 quotes the offending text in its message; a transcript's text has no place in an error report. */
function shortMessage(error: unknown): string {
  const message = (error as Error).message
  const position = /position (\d+)/.exec(message)
  return position ? `not JSON at character ${position[1]}` : 'not JSON, or cut short'
}

/** Splits `{…}{…}` into its records; undefined unless the whole text is two or more objects. */
function splitRecords(text: string, baseOffset: number): JsonlRecord[] | undefined {
  const records: JsonlRecord[] = []
  let offset = baseOffset
  for (let at = 0; at < text.length; ) {
    const end = objectEnd(text, at)
    if (end === -1) return undefined
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
