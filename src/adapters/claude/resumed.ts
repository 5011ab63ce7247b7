// Whether a session was gone on with, in the same file, by another process. Nothing says so outright; three things can
// only be there if it was. Where none of them is, it is not known. Told once, for the first time it happened.
import { isRecord } from '../kit/guards.ts'
import type { Draft, Line } from './line.ts'

export function noteResume(line: Line, drafts: readonly Draft[]): void {
  const { state } = line
  if (state.isResumed || !line.isOnMain) return
  // The last thing a process writes, 2.1.325.
  if (line.type === 'cost-state') state.hasEnded = true
  // Written when a process begins; forks copy neither of the two, and begin with their own.
  if (line.type === 'queue-operation' && state.recent.length > 0) state.isQueuedAgain = true
  const evidence = evidenceOf(line, drafts)
  if (evidence === undefined) return
  state.isResumed = true
  const { session } = state
  line.items.push({ type: 'edge', kind: 'resumed', session, parent: null, at: line.ts, evidence })
}

function evidenceOf(line: Line, drafts: readonly Draft[]): string | undefined {
  const { record, state } = line
  if (record['forkedFrom'] !== undefined) return undefined
  for (const told of [record['attachment'], record['data']])
    if (isRecord(told) && told['hookName'] === 'SessionStart:resume') return 'SessionStart:resume'
  if (state.hasEnded && drafts.some(isSaid)) return 'prompt after the end of a process'
  if (state.isQueuedAgain && drafts.some((draft) => draft.state === 'cut'))
    return 'call cut off by the end of a process'
  return undefined
}

/** By a person: a prompt, a command, or what was put into the queue. */
const isSaid = ({ kind, role, said }: Draft): boolean =>
  kind === 'user_msg' || (role === 'user' && said !== undefined)
