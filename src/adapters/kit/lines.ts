// What adapters of line-based formats share: the loop that turns lines into items, one step per line.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { RecollectError } from '../../errors.ts'
import { readJsonlFrom } from '../../files/jsonl.ts'
import { openForReading } from '../../files/reading.ts'
import type { Item, Position } from '../adapter.ts'

export interface Line {
  record: Record<string, unknown>
  offset: number
  length: number
}

/**
 * The longest record that is taken: in memory it is some thirty times as large for a moment. The longest line in
 * 4.6 GB of public transcripts has 2.4 MB; two images of the 5 MB that providers take fit.
 */
export const MAX_LINE_BYTES = 10 << 20
/** Every value can become an event. */
export const MAX_VALUES = 100_000

/** Of our own writers' records, whose values are mostly of one event. They take more; a sweep has its bound on memory. */
export const OWN_LIMITS = { maxLineBytes: 40 << 20, maxValues: 300_000 }

interface Options<State> {
  limits?: typeof OWN_LIMITS
  /** What the present end of the file tells, unless a line is being written there. It is called again when the file has grown. */
  atEnd?: (state: State) => Iterable<Item>
}

/** Reads a JSON Lines file from `from`, calling `step` per record; `state` is changed in place and kept in the position. */
export function* readLines<State>(
  path: string,
  from: Position | null,
  fresh: () => State,
  step: (state: State, line: Line) => Iterable<Item>,
  { limits = { maxLineBytes: MAX_LINE_BYTES, maxValues: MAX_VALUES }, atEnd }: Options<State> = {},
): Generator<Item> {
  const fd = openForReading(path)
  try {
    const state = from ? (structuredClone(from.state) as State) : fresh()
    const endOffset = fstatSync(fd).size
    let offset = from?.offset ?? 0
    for (const item of readJsonlFrom(fd, path, {
      fromOffset: from?.offset ?? 0,
      endOffset,
      ...limits,
      splitJoined: true,
    })) {
      offset = item.offset + item.length
      if ('gap' in item) {
        // An unfinished last line is named now and read again when it has grown. (A whole object without a newline is
        // a record: no proper prefix of an object is valid JSON.)
        const pending = offset + 1 >= endOffset && !endsLine(fd, endOffset)
        yield {
          type: 'gap',
          reason: item.gap,
          detail: item.detail,
          offset: item.offset,
          length: item.length,
          pending,
        }
        if (pending) return
      } else {
        yield* stepSafely(state, item, step)
      }
      yield { type: 'position', position: { offset, state } }
    }
    const told = [...(atEnd?.(state) ?? [])]
    yield* told
    if (told.length > 0) yield { type: 'position', position: { offset, state } }
  } finally {
    closeSync(fd)
  }
}

/** One record an adapter cannot bear must not hide those after it. */
export function* stepSafely<State>(
  state: State,
  line: Line,
  step: (state: State, line: Line) => Iterable<Item>,
): Generator<Item> {
  try {
    yield* step(state, line)
  } catch (error) {
    if (error instanceof RecollectError) throw error
    const { offset, length } = line
    yield { type: 'gap', reason: 'schema', detail: `${(error as Error).name} while reading`, offset, length }
  }
}

function endsLine(fd: number, size: number): boolean {
  const last = Buffer.alloc(1)
  return readSync(fd, last, 0, 1, size - 1) === 1 && last[0] === 10
}
