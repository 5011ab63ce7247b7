// What the readers of all formats share: records checked against a schema, gaps reported by place and reason.

import { closeSync } from 'node:fs'
import type * as z from 'zod'
import { RecollectError } from '../errors.ts'
import { type JsonlGap, type JsonlOptions, type JsonlRecord, readJsonlFrom } from '../files/jsonl.ts'
import { openForReading } from '../files/reading.ts'

export interface ReadOptions {
  /** `skip` (default) leaves corrupt lines out and reports each; `stop` throws CORRUPT at the first. */
  onCorrupt?: 'skip' | 'stop'
  /** Receives each gap. Without it, skipped lines are reported as a process warning. */
  onGap?: (gap: JsonlGap) => void
  maxLineBytes?: number
}

const ITEMS_PER_TURN = 512
const MAX_WARNINGS = 10

/** Streams the records of a file that match `schema`; everything else is a gap. */
export async function* readRecords<T>(
  path: string,
  schema: z.ZodType<T>,
  options: ReadOptions = {},
): AsyncGenerator<T, void, undefined> {
  const fd = openForReading(path)
  try {
    yield* readRecordsFrom(fd, path, schema, options)
  } finally {
    closeSync(fd)
  }
}

/** As readRecords, on a descriptor the caller keeps. */
export async function* readRecordsFrom<T>(
  fd: number,
  path: string,
  schema: z.ZodType<T>,
  options: ReadOptions = {},
): AsyncGenerator<T, void, undefined> {
  const jsonl: JsonlOptions = {}
  if (options.maxLineBytes !== undefined) jsonl.maxLineBytes = options.maxLineBytes
  let itemCount = 0
  const gaps = new GapReports(path, options)
  for (const item of readJsonlFrom(fd, path, jsonl)) {
    // Reading is synchronous by chunk: give other work a turn now and then.
    if (++itemCount % ITEMS_PER_TURN === 0) await new Promise(setImmediate)
    const checked = 'gap' in item ? item : check(item, schema)
    if ('data' in checked) yield checked.data
    else gaps.report(checked)
  }
  gaps.end()
}

/** Reports the gaps of one file. Warnings are for people: a file of a million bad lines gets some, and the number at the end. */
export class GapReports {
  readonly #path: string
  readonly #options: ReadOptions
  #count = 0

  constructor(path: string, options: ReadOptions) {
    this.#path = path
    this.#options = options
  }

  report(gap: JsonlGap): void {
    const { onGap, onCorrupt } = this.#options
    if (++this.#count <= MAX_WARNINGS || onGap || onCorrupt === 'stop')
      reportGap(this.#path, gap, this.#options)
  }

  end(): void {
    if (this.#count <= MAX_WARNINGS || this.#options.onGap) return
    process.emitWarning(`skipped ${this.#count} places in ${this.#path}`, { code: 'RECOLLECT_GAP' })
  }
}

function check<T>(item: JsonlRecord, schema: z.ZodType<T>): { data: T } | JsonlGap {
  const checked = schema.safeParse(item.record)
  if (checked.success) return { data: checked.data }
  const issue = checked.error.issues[0]
  const detail = `${issue?.path.join('.') || 'record'}: ${issue?.code ?? 'invalid'}`
  return { gap: 'schema', detail, offset: item.offset, length: item.length }
}

/** Applies the caller's choice to one gap: throw, call back, or warn. */
export function reportGap(path: string, gap: JsonlGap, options: ReadOptions): void {
  const what = `${gap.length} bytes at offset ${gap.offset}: ${gap.gap} (${gap.detail})`
  if (options.onCorrupt === 'stop') {
    throw new RecollectError('CORRUPT', `cannot understand ${what}`, {
      where: `${path}:${gap.offset}`,
      hint: "read with onCorrupt: 'skip' to get the records around it",
    })
  }
  if (options.onGap) options.onGap(gap)
  else process.emitWarning(`skipped ${what} in ${path}`, { code: 'RECOLLECT_GAP' })
}
