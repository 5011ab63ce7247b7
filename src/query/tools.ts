// What tools were called, how often that failed, and with what: over the sessions that a filter lets through.

import type { Span } from '../store/reader/digests.ts'
import type { Reader } from '../store/reader/index.ts'

export interface ToolRow {
  tool: string
  calls: number
  sessions: number
  errors: number
  /** Errors per call; null where no call was counted. */
  error_rate: number | null
  /** The error it met most often, and a place where. */
  worst: { sample: string; count: number; session_uid: string; seq: number | null } | null
}

/** Those called most first. */
export function toolRows(handle: Reader, span: Span): ToolRow[] {
  const failures = handle.digests.toolFailures(span)
  return handle.digests.toolCalls(span).map(({ tool, calls, sessions }) => {
    const met = failures.filter((one) => one.tool === tool)
    const errors = met.reduce((sum, one) => sum + one.count, 0)
    const [worst] = met
    return {
      tool,
      calls,
      sessions,
      errors,
      error_rate: calls === 0 ? null : Math.min(1, errors / calls),
      worst: worst
        ? { sample: worst.sample, count: worst.count, session_uid: worst.uid, seq: worst.seq }
        : null,
    }
  })
}
