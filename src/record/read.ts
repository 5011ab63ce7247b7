// What the readers of all formats share: records checked against a schema, gaps reported by place and reason.
import type * as z from 'zod'
import { RecollectError } from '../errors.ts'
import { type JsonlGap, type JsonlOptions, readJsonl } from '../files/jsonl.ts'

export interface ReadOptions {
  /** `skip` (default) leaves corrupt lines out and reports each; `stop` throws CORRUPT at the first. */
  onCorrupt?: 'skip' | 'stop'
  /** Receives each gap. Without it, skipped lines are reported as a process warning. */
  onGap?: (gap: JsonlGap) => void
  maxLineBytes?: number
}

const ITEMS_PER_TURN = 512

/** Streams the records of a file that match `schema`; everything else is a gap. */
export async function* readRecords<T>(
  path: string,
  schema: z.ZodType<T>,
  options: ReadOptions = {},
): AsyncGenerator<T, void, undefined> {
  const jsonl: JsonlOptions = {}
  if (options.maxLineBytes !== undefined) jsonl.maxLineBytes = options.maxLineBytes
  let count = 0
  for (const item of readJsonl(path, jsonl)) {
    // Reading is synchronous by chunk: give other work a turn now and then.
    if (++count % ITEMS_PER_TURN === 0) await new Promise(setImmediate)
    if ('gap' in item) {
      reportGap(path, item, options)
      continue
    }
    const checked = schema.safeParse(item.record)
    if (checked.success) yield checked.data
    else {
      const issue = checked.error.issues[0]
      const detail = `${issue?.path.join('.') || 'record'}: ${issue?.code ?? 'invalid'}`
      reportGap(path, { gap: 'schema', detail, offset: item.offset, length: item.length }, options)
    }
  }
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
