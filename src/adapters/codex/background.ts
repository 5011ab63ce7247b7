// Commands that go on after their call was answered. The answer names a session instead of an exit code; later calls of
// `write_stdin` ask for more of it, and the output of one of them tells how the command ended.
import { isRecord } from '../guards.ts'
import type { Output } from './outputs.ts'
import { remember, type State } from './state.ts'

const MAX_RUNNING = 64

/** The tool that begins them. */
export const RUNNER = 'exec_command'

/** At each call: `write_stdin` speaks to a command that another call began. */
export function notePoll(state: State, id: string, tool: string, input: unknown): void {
  if (tool !== 'write_stdin' || !isRecord(input)) return
  const begun = state.running.find(([session]) => session === String(input['session_id']))
  if (begun) remember(state.polls, [id, begun[1]], MAX_RUNNING)
}

/** At each output: the call that began the command whose end it tells. */
export function endedCall(state: State, id: string, output: Output): string | undefined {
  const begunBy = state.polls.find(([poll]) => poll === id)?.[1]
  if (begunBy === undefined) {
    if (output.session !== undefined) remember(state.running, [output.session, id], MAX_RUNNING)
    return undefined
  }
  return output.exitCode !== undefined && isRunning(state, begunBy) ? begunBy : undefined
}

export const isRunning = (state: State, id: string): boolean => state.running.some(([, call]) => call === id)

/** Its end was told. */
export function forgetRunning(state: State, id: string): void {
  state.running = state.running.filter(([, call]) => call !== id)
}
