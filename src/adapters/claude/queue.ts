// Prompts that waited in the client's queue. A delivered one stands in a line of its own; one that was taken back, or was
// still waiting when the session ended, stands nowhere else. So the text is told when it is queued, and given back
// when it comes again.

import type { EventItem } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { str } from '../kit/guards.ts'
import { contentText, firstLine, shortHash } from '../kit/text.ts'
import { commandLine, whoSaid } from './human.ts'
import type { Draft, Line } from './line.ts'

/** [key, length and hash of the text, time]. */
export type Queued = [key: string, length: number, hash: string, ts: number | null]

/** A `queue-operation`. Only what is put in carries a text. */
export function queueDraft(line: Line, draft: Draft): Draft {
  const { record, state } = line
  const operation = str(record['operation']) ?? '?'
  const content = contentText(record['content'])?.trim() ?? ''
  const quiet: Draft = { ...draft, summary: `queue: ${operation}` }
  if (operation !== 'enqueue' || content === '') return quiet
  remember(state.queue, [line.key, content.length, shortHash(content), line.ts])
  const { by, text } = whoSaid({}, content)
  if (by === 'injected') return quiet
  if (by === 'answer') return { ...quiet, said: text }
  return { ...draft, role: 'user', summary: `queued: ${firstLine(text)}`, said: text }
}

/** What the queue told of the texts that this line delivers, now without them. Several may come as one. */
export function delivered(line: Line, drafts: readonly Draft[]): EventItem[] {
  const { state, type } = line
  if (state.queue.length === 0 || line.isSidechain || (type !== 'user' && type !== 'attachment')) return []
  const found = drafts.flatMap(({ role, said }) =>
    said === undefined || role === 'tool' ? [] : takeAll(state.queue, said),
  )
  if (found.length === 0) return []
  state.queue = state.queue.filter((one) => !found.includes(one))
  return found.map(([key, characters, sha1, ts]) => ({
    type: 'event',
    session: state.session,
    key: `${key}#0`,
    parentKey: null,
    ts,
    kind: 'lifecycle',
    role: 'system',
    summary: 'queue: delivered',
    // Which text it was tells a session's own lines from those it shares with a fork.
    payload: { type: 'queue-operation', operation: 'enqueue', delivered: { characters, sha1 } },
  }))
}

function takeAll(queue: readonly Queued[], said: string): Queued[] {
  const whole = said.trim()
  const [exact] = oneOf(queue, whole) ?? oneOf(queue, commandLine(whole)) ?? []
  if (exact) return [exact]
  const taken: Queued[] = []
  let at = 0
  for (const one of queue) {
    const end = at + one[1]
    if (end > whole.length || shortHash(whole.slice(at, end)) !== one[2]) continue
    taken.push(one)
    at = end + (/^\s*/.exec(whole.slice(end))?.[0].length ?? 0)
  }
  return at === whole.length ? taken : []
}

function oneOf(queue: readonly Queued[], text: string): [Queued] | undefined {
  const found = queue.find((one) => one[1] === text.length && one[2] === shortHash(text))
  return found && [found]
}
