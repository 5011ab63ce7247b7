// Calls of tools and what came of them: what an agent's own tools do stands in a table, others are judged by their names
// and arguments.
import type { Deed, EndState } from '../../model.ts'
import type { Act, EventItem } from '../adapter.ts'
import type { CallBook } from '../calls.ts'
import { callParts, resultParts } from '../tools.ts'

/** What tools do, by their native names. */
export type Tools = Readonly<Record<string, Deed>>

export type Draft = Omit<EventItem, 'type' | 'session' | 'key' | 'ts' | 'payload' | 'parentKey'> & {
  payload: Record<string, unknown>
}

export interface Call {
  id: string
  tool: string
  input: unknown
  act?: Partial<Act> | undefined
  ts: number | null
}

/** All of a call's event but its place and its body. */
export function callDraft(book: CallBook, call: Call, tools: Tools): Omit<Draft, 'payload'> {
  const does = Object.hasOwn(tools, call.tool) ? tools[call.tool] : undefined
  return callParts(book, call, { ...(does && { does }), ...call.act })
}

export interface Result {
  id: string
  text?: string | undefined
  failed: boolean
  isRefused?: boolean | undefined
  state?: EndState | undefined
  exitCode?: number | undefined
  durationMs?: number | undefined
  ts: number | null
}

/** All of a result's event but its place and its body; the tool's name comes from its call. */
export function resultDraft(book: CallBook, result: Result): Omit<Draft, 'payload'> {
  const { isRefused, state, exitCode, durationMs, id, failed, text, ts } = result
  return {
    ...resultParts(book, { id, failed, text, ts }),
    ...(state !== undefined && { state }),
    ...(isRefused && REFUSED),
    ...(exitCode !== undefined && { exitCode }),
    ...(durationMs !== undefined && { durationMs }),
  }
}

const REFUSED = { kind: 'human_intervention', state: 'refused', mark: 'denied' } as const

const EXIT_CODE = /\bexit(?:ed)?(?: with)?(?: status| code)?\b[:=\s]*(-?\d{1,10})\b/i
const ENDS = 400

/** The exit code that a client tells only in words, at the beginning or the end of an output: `Exit code: 1`. */
export function exitCodeIn(text: string, pattern = EXIT_CODE): number | undefined {
  const found = pattern.exec(text.slice(0, ENDS)) ?? pattern.exec(text.slice(-ENDS))
  return found ? Number(found[1]) : undefined
}
