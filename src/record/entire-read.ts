// Reads a full.jsonl: all of it line by line, or just the two facts a writer needs to continue one.
import { closeSync } from 'node:fs'
import { dirname } from 'node:path'
import { type JsonlGap, readJsonl, readJsonlFrom } from '../files/jsonl.ts'
import { openForReading } from '../files/reading.ts'
import { EntireLine, promptOf } from './entire-line.ts'
import { restoreSpill } from './entire-spill.ts'
import { checkOptions, checkPath } from './given.ts'
import { GapReports, type ReadOptions } from './read.ts'

export interface EntireReadOptions extends ReadOptions {
  /** False leaves previews in place of what was split off, and `recollectSpill` in the line (default true). */
  restore?: boolean
}

const LINES_PER_TURN = 512
const FIRST_WINDOW = 64 * 1024

/** Streams the lines of a full.jsonl as they were given to the writer; everything else is a gap. */
export async function* readEntireTranscript(
  path: string,
  options: EntireReadOptions = {},
): AsyncGenerator<EntireLine, void, undefined> {
  checkPath(path, 'path')
  checkOptions(options)
  const jsonl = options.maxLineBytes === undefined ? {} : { maxLineBytes: options.maxLineBytes }
  const gaps = new GapReports(path, options)
  let count = 0
  for (const item of readJsonl(path, jsonl)) {
    // Reading is synchronous by chunk: give other work a turn now and then.
    if (++count % LINES_PER_TURN === 0) await new Promise(setImmediate)
    const gap = 'gap' in item ? item : gapIn(path, item, options.restore ?? true)
    if (gap) gaps.report(gap)
    // The parsed record, not the schema's copy: what a block holds comes back exactly as it was written.
    else if ('record' in item) yield item.record as EntireLine
  }
  gaps.end()
}

function gapIn(
  path: string,
  item: { record: Record<string, unknown>; offset: number; length: number },
  restore: boolean,
): JsonlGap | undefined {
  const { offset, length, record } = item
  const fault = faultIn(record)
  if (fault !== undefined) return { gap: 'schema', detail: fault, offset, length }
  if (!restore || record['recollectSpill'] === undefined) return undefined
  // What comes back from a file has to be the content of a turn, too.
  const wrong = restoreSpill(dirname(path), record) ?? faultIn(record)
  return wrong === undefined ? undefined : { gap: 'spill', detail: wrong, offset, length }
}

function faultIn(record: Record<string, unknown>): string | undefined {
  const issue = EntireLine.safeParse(record).error?.issues[0]
  return issue && `${issue.path.join('.') || 'record'}: ${issue.code ?? 'invalid'}`
}

/** The uuid of the last whole line within the first `size` bytes, or null; lines in `except` do not count. */
export function lastUuid(path: string, size: number, except: ReadonlySet<string>): string | null {
  const fd = openForReading(path)
  try {
    for (let window = FIRST_WINDOW; ; window *= 8) {
      const fromOffset = Math.max(0, size - window)
      let last: string | null = null
      // The window may begin inside a line. What remains of that line is never an object of its own: it ends in one
      // brace too many.
      for (const item of readJsonlFrom(fd, path, { fromOffset, endOffset: size })) {
        const uuid = 'record' in item ? item.record['uuid'] : undefined
        if (typeof uuid === 'string' && !except.has(uuid)) last = uuid
      }
      if (last !== null || fromOffset === 0) return last
    }
  } finally {
    closeSync(fd)
  }
}

/** The first thing a person said in a transcript, or undefined. */
export function firstPrompt(path: string): string | undefined {
  for (const item of readJsonl(path)) {
    if (!('record' in item) || gapIn(path, item, true)) continue
    const line = item.record as EntireLine
    const prompt = line.type === 'user' ? promptOf(line.message.content) : ''
    if (prompt.trim() !== '') return prompt
  }
  return undefined
}
