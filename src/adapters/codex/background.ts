// Commands that go on after their call was answered. The answer names a session instead of an exit code; later calls of
// `write_stdin` ask for more of it, and the output of one of them tells how the command ended.
import { remember } from '../kit/bounded.ts'
import { isRecord } from '../kit/guards.ts'
import { SCRIPT } from './acts.ts'
import type { Output } from './outputs.ts'
import type { State } from './state.ts'

const MAX_RUNNING = 64

/** Scripts of code mode that go on have numbers of their own. */
export const cellName = (id: unknown): string => `cell ${String(id)}`

/** At each call: `write_stdin` speaks to a command that another call began, `wait` waits for a script. */
export function notePoll(state: State, id: string, tool: string, input: unknown): void {
  if ((tool !== 'write_stdin' && tool !== 'wait') || !isRecord(input)) return
  const name = tool === 'wait' ? cellName(input['cell_id']) : String(input['session_id'])
  const begun = state.running.find(([session]) => session === name)
  if (begun) remember(state.polls, [id, begun[1]], MAX_RUNNING)
}

export const isPoll = (state: State, id: string): boolean => state.polls.some(([poll]) => poll === id)

/** At each output: the call that began the command whose end it tells. */
export function endedCall(state: State, id: string, output: Output): string | undefined {
  const begunBy = state.polls.find(([poll]) => poll === id)?.[1]
  if (begunBy === undefined) {
    if (output.session !== undefined) remember(state.running, [output.session, id], MAX_RUNNING)
    return undefined
  }
  const isOver = output.exitCode !== undefined || output.isOver
  return isOver && isRunning(state, begunBy) ? begunBy : undefined
}

export const isRunning = (state: State, id: string): boolean => runnerOf(state, id) !== undefined

/** The tool that began it. */
export function runnerOf(state: State, id: string): string | undefined {
  const begun = state.running.find(([, call]) => call === id)
  if (!begun) return undefined
  return begun[0].startsWith(cellName('')) ? SCRIPT : 'exec_command'
}

/** Its end was told. */
export function forgetRunning(state: State, id: string): void {
  state.running = state.running.filter(([, call]) => call !== id)
}
