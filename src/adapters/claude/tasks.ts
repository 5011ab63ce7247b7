// How a command or a sub-agent in the background ended. The client tells the model so in a notice, which names the call
// that had begun it: the result of that call only said that it was begun. A model that asks is told in the result of its
// asking, and may get no notice then.
import { remember } from '../kit/bounded.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import { firstLine } from '../kit/text.ts'
import { between } from './human.ts'
import type { Draft, Line } from './line.ts'

/** A command in the background, and the call that began it. */
export type Task = [task: string, call: string, tool: string]

/** How a call that only began something says so: where the words are all that is left, in files of sub-agents, by them. */
export const goesOn = (outcome: unknown, said: string): boolean => {
  const told = isRecord(outcome) ? outcome : {}
  return (
    told['isAsync'] === true ||
    typeof told['backgroundTaskId'] === 'string' ||
    BEGUN.test(said) ||
    said.startsWith('Async agent launched')
  )
}

const BEGUN = /^Command (?:running in background|was manually backgrounded by user) with ID: ([\w-]+)/

/** At the result of a command: it may only have begun. */
export function noteTask(line: Line, call: string, tool: string, outcome: unknown, said: string): void {
  const task = (isRecord(outcome) ? str(outcome['backgroundTaskId']) : undefined) ?? BEGUN.exec(said)?.[1]
  if (task) remember(line.state.tasks, [task, call, tool])
}

/** At any result: the end of a command that another call began, as a further result of that one. */
export function askedEnd(line: Line, outcome: unknown, said: string): Draft[] {
  if (line.state.tasks.length === 0) return []
  const { id, exitCode, output = '' } = toldEnd(outcome, said)
  const at = line.state.tasks.findIndex(([task]) => task === id)
  if (at === -1 || exitCode === undefined) return []
  const [, callId, tool] = line.state.tasks.splice(at, 1)[0] as Task
  const first = firstLine(output)
  return [
    {
      kind: exitCode === 0 ? 'tool_result' : 'error',
      role: 'tool',
      tool,
      callId,
      exitCode,
      state: exitCode === 0 ? 'ok' : 'failed',
      summary: exitCode === 0 ? first || 'ended' : `exit ${exitCode}: ${first}`,
      // The result beside it holds the rest.
      payload: { ended: id, exitCode },
    },
  ]
}

interface End {
  id?: string | undefined
  exitCode?: number | undefined
  output?: string | undefined
}

function toldEnd(outcome: unknown, said: string): End {
  const task = isRecord(outcome) && isRecord(outcome['task']) ? outcome['task'] : outcome
  if (isRecord(task))
    return {
      id: str(task['task_id']) ?? str(task['shellId']),
      exitCode: num(task['exitCode']),
      output: str(task['output']) ?? (str(task['stderr']) || str(task['stdout'])),
    }
  // In sub-agents' files nothing but the words is left.
  if (!said.startsWith('<retrieval_status>')) return {}
  const code = between(said, '<exit_code>', '</exit_code>')
  return {
    id: between(said, '<task_id>', '</task_id>'),
    exitCode: code === undefined ? undefined : num(Number(code)),
    output: between(said, '<output>', '</output>'),
  }
}

const TAIL = 600
const ENDS = new Map<string | undefined, Draft['state']>([
  ['completed', 'ok'],
  ['failed', 'failed'],
  ['killed', 'stopped'],
  ['stopped', 'stopped'],
])

/** What the notice tells of the end; nothing for another text. */
export function taskEnd(
  text: string,
): Partial<Pick<Draft, 'kind' | 'summary' | 'callId' | 'exitCode' | 'durationMs' | 'state'>> {
  if (!text.startsWith('<task-notification>')) return {}
  const summary = between(text, '<summary>', '</summary>') ?? ''
  const callId = between(text, '<tool-use-id>', '</tool-use-id>')
  const exitCode = /\bexit code (\d+)/.exec(summary)?.[1]
  const durationMs = /<duration_ms>(\d+)<\/duration_ms>/.exec(text.slice(-TAIL))?.[1]
  const state = ENDS.get(between(text, '<status>', '</status>'))
  return {
    ...(state === 'failed' ? { kind: 'error' } : {}),
    ...(callId && state ? { state } : {}),
    ...(summary === '' ? {} : { summary }),
    ...(callId ? { callId } : {}),
    ...(exitCode === undefined ? {} : { exitCode: Number(exitCode) }),
    ...(durationMs === undefined ? {} : { durationMs: Number(durationMs) }),
  }
}
