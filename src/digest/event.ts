// What the digest reads: one event as a row, with its body behind a function, so that only the few events whose row
// says too little cost a decompression.
import type { Body } from '../event/body.ts'
import type { Deed, EndState, EventKind, Mark, Role } from '../model.ts'

export interface DigestEvent {
  seq: number
  /** Epoch milliseconds. */
  ts: number | null
  kind: EventKind
  role: Role
  tool: string | null
  /** Joins a call with its result. */
  call: string | null
  summary: string
  does: Deed | null
  state: EndState | null
  mark: Mark | null
  isSidechain: boolean
  isInherited: boolean
  isSuperseded: boolean
  /** Of the prompt before it: not a turn of its own. */
  isPart: boolean
  /** Its command has more lines than the summary shows. */
  hasMore: boolean
  agent: string | null
  exitCode: number | null
  durationMs: number | null
  files: readonly string[]
  /** Undefined when it is gone. */
  body(): Body | undefined
}

export const isResult = (event: DigestEvent): boolean => event.role === 'tool'

/** Of a result: a person said no, or stopped it. */
export const isRefusal = ({ kind, mark }: Pick<DigestEvent, 'kind' | 'mark'>): boolean =>
  kind === 'human_intervention' && mark !== 'changed-by-person'

/** Somebody stopped the agent, or said no to what it asked for. */
export const isStop = ({ kind, mark }: Pick<DigestEvent, 'kind' | 'mark'>): boolean =>
  kind === 'human_intervention' && (mark === 'interrupt' || mark === 'denied')

/** Tools of different programs that run commands count as one where failures are compared. */
export const toolClass = ({ tool, does }: { tool: string | null; does: Deed | null }): string =>
  does === 'shell' ? 'shell' : (tool ?? '').toLowerCase()

/** All that was said, of which the row has only the beginning. A result that says nothing has no words. */
export function fullText(event: DigestEvent): string {
  const body = event.body()
  return body?.said ?? (body && isResult(event) ? '' : event.summary)
}

/** On one line, in at most `limit` characters. */
export function snippet(text: string, limit: number): string {
  const line = text
    .slice(0, limit * 4)
    .replace(/\s+/gu, ' ')
    .trim()
  return (line.length > limit ? `${line.slice(0, limit - 1)}…` : line).toWellFormed()
}
