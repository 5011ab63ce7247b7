// How a command or a sub-agent in the background ended. The client tells the model so in a notice, which names the call
// that had begun it: the result of that call only said that it was begun.
import { between } from './human.ts'
import type { Draft } from './line.ts'

const TAIL = 600

/** What the notice tells of the end; nothing for another text. */
export function taskEnd(
  text: string,
): Partial<Pick<Draft, 'kind' | 'summary' | 'callId' | 'exitCode' | 'durationMs'>> {
  if (!text.startsWith('<task-notification>')) return {}
  const summary = between(text, '<summary>', '</summary>') ?? ''
  const callId = between(text, '<tool-use-id>', '</tool-use-id>')
  const exitCode = /\bexit code (\d+)/.exec(summary)?.[1]
  const durationMs = /<duration_ms>(\d+)<\/duration_ms>/.exec(text.slice(-TAIL))?.[1]
  return {
    ...(between(text, '<status>', '</status>') === 'failed' ? { kind: 'error' } : {}),
    ...(summary === '' ? {} : { summary }),
    ...(callId ? { callId } : {}),
    ...(exitCode === undefined ? {} : { exitCode: Number(exitCode) }),
    ...(durationMs === undefined ? {} : { durationMs: Number(durationMs) }),
  }
}
