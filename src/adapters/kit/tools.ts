// Calls of tools and what came of them: what an agent's own tools do stands in a table, others are judged by their names
// and arguments.
import type { EventItem } from '../adapter.ts'
import type { CallBook } from '../calls.ts'
import { callParts, resultParts } from '../tools.ts'

export type Deed = 'shell' | 'edit' | 'read' | 'search' | 'fetch' | 'spawn' | 'ask' | 'plan' | 'other'

/** What tools do, by their native names. */
export type Tools = Readonly<Record<string, Deed>>

export type Draft = Omit<EventItem, 'type' | 'session' | 'key' | 'ts' | 'payload' | 'parentKey'> & {
  payload: Record<string, unknown>
}

export interface Call {
  id: string
  tool: string
  input: unknown
  ts: number | null
}

/** All of a call's event but its place and its body. */
export function callDraft(book: CallBook, call: Call, _tools: Tools): Omit<Draft, 'payload'> {
  return callParts(book, call)
}

export interface Result {
  id: string
  text?: string | undefined
  failed: boolean
  /** A person said no. */
  isRefused?: boolean | undefined
  exitCode?: number | undefined
  durationMs?: number | undefined
  ts: number | null
}

/** All of a result's event but its place and its body; the tool's name comes from its call. */
export function resultDraft(book: CallBook, result: Result): Omit<Draft, 'payload'> {
  const { isRefused, exitCode, durationMs, id, failed, text, ts } = result
  return {
    ...resultParts(book, { id, failed, text, ts }),
    ...(isRefused && { kind: 'human_intervention' as const }),
    ...(exitCode !== undefined && { exitCode }),
    ...(durationMs !== undefined && { durationMs }),
  }
}

const EXIT_CODE = /\bexit(?:ed)?(?: with)?(?: status| code)?\b[:=\s]*(-?\d{1,10})\b/i
const ENDS = 400

/** The exit code that a client tells only in words, at the beginning or the end of an output: `Exit code: 1`. */
export function exitCodeIn(text: string, pattern = EXIT_CODE): number | undefined {
  const found = pattern.exec(text.slice(0, ENDS)) ?? pattern.exec(text.slice(-ENDS))
  return found ? Number(found[1]) : undefined
}
