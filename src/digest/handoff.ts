// The briefing of a session that is in the memory: its digest, and what was said in it.
import type { SessionEvent } from '../model.ts'
import { sessionEvents } from '../query/events.ts'
import { Bodies } from '../store/bodies.ts'
import type { Reader } from '../store/reader/index.ts'
import { briefing, type Said } from './briefing.ts'
import { getDigest } from './patterns.ts'

/** `agent` is what people call the one that worked on it. Throws NOT_FOUND where there is no digest. */
export const briefingOf = (handle: Reader, uid: string, agent: string): string =>
  briefing({ digest: getDigest(handle, uid), agent, ...saidIn(handle, uid) })

/** Longer ones are cut when they are quoted. */
const LONGEST = 4000

function saidIn(handle: Reader, uid: string): { prompts: Said[]; answer: Said | undefined } {
  const bodies = new Bodies(handle)
  const textOf = ({ seq, payload_ref, summary }: SessionEvent): Said => ({
    seq,
    text: (bodies.body(payload_ref)?.said ?? summary).slice(0, LONGEST),
  })
  const prompts: Said[] = []
  let answer: SessionEvent | undefined
  for (const event of sessionEvents(handle, uid)) {
    if (event.is_sidechain || event.is_superseded) continue
    if (event.kind === 'user_msg' && event.role === 'user') prompts.push(textOf(event))
    if (event.kind === 'assistant_msg') answer = event
  }
  return { prompts, answer: answer && textOf(answer) }
}
