// Tool calls waiting for their result, and the kinds derived from them: retry > test_run > edit > tool_call.
// The book is plain JSON, because it lives in the cursor between two sweeps.
import { isTestCommand } from '../../event/test-command.ts'
import type { EventKind } from '../../model.ts'
import { printed, shortHash } from './text.ts'

export interface CallBook {
  /** [call id, tool, signature, time of the call], oldest first. A list, not an object: ids are foreign text. */
  open: [string, string, string, number | null][]
  /** Signatures of the latest calls that failed; `@` and the time they ended, where that is known. */
  failed: string[]
}

export const newCallBook = (): CallBook => ({ open: [], failed: [] })

const MAX_OPEN = 256
const MAX_FAILED = 32

export interface Call {
  id: string
  tool: string
  input: unknown
  ts: number | null
  /** True when the tool changes files. */
  edits?: boolean
  /** The command line, when the tool runs one. */
  command?: string | undefined
}

/** Notes a call and returns its most specific kind. */
export function openCall(book: CallBook, call: Call): EventKind {
  const signature = shortHash(`${call.tool}\0${printed(call.input)}`)
  book.open.push([call.id, call.tool, signature, call.ts])
  // Calls whose result never came (a kill, an interrupt) must not grow the cursor for ever.
  if (book.open.length > MAX_OPEN) book.open.shift()
  if (book.failed.some((one) => isRetryOf(one, signature, call.ts))) return 'retry'
  if (call.command !== undefined && isTestCommand(call.command)) return 'test_run'
  return call.edits ? 'edit' : 'tool_call'
}

/** A call made before the failure is not tried again: some clients write a part of the conversation into its file once more. */
function isRetryOf(failure: string, signature: string, ts: number | null): boolean {
  const [failed, endedAt] = failure.split('@')
  return failed === signature && !(ts !== null && endedAt !== undefined && ts < Number(endedAt))
}

export interface ClosedCall {
  tool: string
  durationMs: number | undefined
}

/** Notes a result; undefined when no such call is open. */
export function closeCall(
  book: CallBook,
  id: string,
  failed: boolean,
  ts: number | null,
): ClosedCall | undefined {
  const at = book.open.findIndex((entry) => entry[0] === id)
  const entry = book.open[at]
  if (!entry) return undefined
  book.open.splice(at, 1)
  const [, tool, signature, calledAt] = entry
  book.failed = book.failed.filter((one) => !one.startsWith(signature))
  if (failed) book.failed.push(ts === null ? signature : `${signature}@${ts}`)
  if (book.failed.length > MAX_FAILED) book.failed.shift()
  const durationMs = ts !== null && calledAt !== null && ts >= calledAt ? ts - calledAt : undefined
  return { tool, durationMs }
}
