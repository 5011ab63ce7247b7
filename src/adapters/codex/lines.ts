// The three ways a rollout lies on disk: JSON Lines, JSON Lines compressed with zstd (cold files, 0.137+), and one JSON
// document (early 2025). Positions in a compressed file count the unfolded bytes, so it is unfolded anew on each read.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { Decompress, type ZstdError, ZstdErrorCode } from 'fzstd'
import { fromSystem, RecollectError } from '../../errors.ts'
import { hasMoreValues, type JsonlItem, parseLine, readJsonl } from '../../files/jsonl.ts'
import { openForReading, readWhole } from '../../files/reading.ts'
import type { GapItem, Item, Position } from '../adapter.ts'
import { isRecord, list } from '../kit/guards.ts'
import { type Line, MAX_LINE_BYTES, MAX_VALUES, readLines, stepSafely } from '../kit/lines.ts'

type Step<State> = (state: State, line: Line) => Iterable<Item>

const CHUNK_BYTES = 1 << 18
/** What one piece of a compressed file may unfold to: a few bytes can stand for gigabytes. */
const MAX_UNFOLDED_BYTES = 64 << 20
const NEWLINE = 10

export function readRollout<State>(
  path: string,
  from: Position | null,
  fresh: () => State,
  step: Step<State>,
): Iterable<Item> {
  if (path.endsWith('.zst')) return readCompressed(path, from, fresh, step)
  return path.endsWith('.json') ? readDocument(path, from, fresh, step) : readLines(path, from, fresh, step)
}

/** The records of a rollout, whatever their meaning. */
export function* readRecords(path: string): Generator<Record<string, unknown>> {
  for (const item of path.endsWith('.zst') ? unfoldedLines(path, 0) : readJsonl(path))
    if ('record' in item) yield item.record
}

function* readCompressed<State>(
  path: string,
  from: Position | null,
  fresh: () => State,
  step: Step<State>,
): Generator<Item> {
  const state = from ? (structuredClone(from.state) as State) : fresh()
  for (const item of unfoldedLines(path, from?.offset ?? 0)) {
    if ('gap' in item) {
      const { gap: reason, detail, offset, length, pending } = item
      yield { type: 'gap', reason, detail, offset, length, pending } satisfies GapItem
      if (pending) return
    } else yield* stepSafely(state, item, step)
    yield { type: 'position', position: { offset: item.offset + item.length, state } }
  }
}

type UnfoldedItem = Extract<JsonlItem, { record: unknown }> | UnfoldedGap

interface UnfoldedGap {
  gap: string
  detail: string
  offset: number
  length: number
  pending: boolean
}

/** Records and gaps of a compressed file from an unfolded offset on. Memory holds a window and the longest line. */
function* unfoldedLines(path: string, fromOffset: number): Generator<UnfoldedItem> {
  let offset = 0
  let lineOffset = fromOffset
  let held: Buffer[] = []
  let heldBytes = 0
  const lineOf = function* (piece: Buffer, isEnded: boolean): Generator<UnfoldedItem> {
    const length = heldBytes + piece.length
    if (length > MAX_LINE_BYTES) {
      yield { gap: 'oversize', detail: `line of ${length} bytes`, offset: lineOffset, length, pending: false }
      return
    }
    const line = held.length > 0 ? Buffer.concat([...held, piece]) : piece
    for (const item of parseLine(line, lineOffset, isEnded, true, MAX_VALUES))
      yield 'gap' in item ? { ...item, pending: !isEnded } : item
  }
  try {
    for (const chunk of unfolded(path)) {
      let start = Math.min(chunk.length, Math.max(0, fromOffset - offset))
      for (let at = chunk.indexOf(NEWLINE, start); at !== -1; at = chunk.indexOf(NEWLINE, start)) {
        yield* lineOf(chunk.subarray(start, at), true)
        held = []
        heldBytes = 0
        start = at + 1
        lineOffset = offset + start
      }
      heldBytes += chunk.length - start
      if (heldBytes > MAX_LINE_BYTES) held = []
      else if (start < chunk.length) held.push(chunk.subarray(start))
      offset += chunk.length
    }
  } catch (error) {
    yield { ...unfoldGap(error), offset: lineOffset, length: heldBytes, pending: true }
    return
  }
  if (heldBytes > 0) yield* lineOf(Buffer.alloc(0), false)
}

function unfoldGap(error: unknown): { gap: string; detail: string } {
  const { code } = error as Partial<ZstdError> | RecollectError
  if (code === 'TOO_LARGE') return { gap: 'oversize', detail: (error as RecollectError).message }
  if (typeof code !== 'number') throw error
  return { gap: code === ZstdErrorCode.UnexpectedEOF ? 'torn' : 'not-zstd', detail: `zstd error ${code}` }
}

function* unfolded(path: string): Generator<Buffer> {
  const fd = openForReading(path)
  try {
    let ready: Buffer[] = []
    let readyBytes = 0
    const decompressor = new Decompress((data) => {
      readyBytes += data.length
      if (readyBytes > MAX_UNFOLDED_BYTES)
        throw new RecollectError('TOO_LARGE', 'unfolds to far more than its size', {
          where: path,
          hint: 'no agent writes such a file: look at it before moving it away',
        })
      // The decompressor keeps writing into its window.
      ready.push(Buffer.from(data))
    })
    for (let isLast = false; !isLast; ) {
      const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES)
      const count = readChunk(fd, chunk, path)
      isLast = count === 0
      decompressor.push(chunk.subarray(0, count), isLast)
      yield* ready
      ready = []
      readyBytes = 0
    }
  } finally {
    closeSync(fd)
  }
}

function readChunk(fd: number, chunk: Buffer, path: string): number {
  try {
    return readSync(fd, chunk, 0, chunk.length, null)
  } catch (error) {
    throw fromSystem(error, 'cannot read', path, 'read')
  }
}

/** `{session, items}`: rewritten as a whole by its client, so it is read as a whole and yields the same keys again. */
function* readDocument<State>(
  path: string,
  from: Position | null,
  fresh: () => State,
  step: Step<State>,
): Generator<Item> {
  const fd = openForReading(path)
  try {
    const size = fstatSync(fd).size
    if (size === 0 || from?.offset === size) return
    const document = size > MAX_LINE_BYTES ? undefined : parsed(readWhole(path, MAX_LINE_BYTES))
    const state = fresh()
    if (document === undefined)
      yield {
        type: 'gap',
        reason: 'torn',
        detail: 'not a whole JSON document',
        offset: 0,
        length: size,
        pending: true,
      }
    if (document === undefined) return
    if (isRecord(document) && isRecord(document['session'])) {
      const whole = { offset: 0, length: size }
      yield* stepSafely(state, { record: document['session'], ...whole }, step)
      for (const item of list(document['items']))
        yield* stepSafely(state, { record: isRecord(item) ? item : { item }, ...whole }, step)
    } else yield { type: 'gap', reason: 'schema', detail: 'not a session', offset: 0, length: size }
    yield { type: 'position', position: { offset: size, state } }
  } finally {
    closeSync(fd)
  }
}

function parsed(bytes: Buffer): unknown {
  if (hasMoreValues(bytes, MAX_VALUES)) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
