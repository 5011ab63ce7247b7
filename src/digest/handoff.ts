// The briefing of a session that is in the memory: its digest, and what was said in it.
import { isCallKind, type SessionEvent } from '../model.ts'
import { sessionEvents } from '../query/events.ts'
import { Bodies } from '../store/bodies.ts'
import type { Reader } from '../store/reader/index.ts'
import { type BriefingInput, briefing, type Said, unresolved } from './briefing.ts'
import { getDigest } from './patterns.ts'

/** `agent` is what people call the one that worked on it. Throws NOT_FOUND where there is no digest. */
export function briefingOf(handle: Reader, uid: string, agent: string): string {
  const digest = getDigest(handle, uid)
  const failed = unresolved(digest).map((one) => one.seqs.at(-1) ?? 0)
  return briefing({ digest, agent, ...saidIn(handle, uid, failed) })
}

/** Longer ones are cut when they are quoted. */
const LONGEST = 4000

/** Of what came after an error. */
const STEPS = 2

function saidIn(
  handle: Reader,
  uid: string,
  failed: readonly number[],
): Pick<BriefingInput, 'prompts' | 'answer' | 'after'> {
  const bodies = new Bodies(handle)
  const textOf = ({ seq, payload_ref, summary }: SessionEvent): Said => ({
    seq,
    text: (bodies.body(payload_ref)?.said ?? summary).slice(0, LONGEST),
  })
  const prompts: Said[] = []
  const after = new Map(failed.map((seq): [number, Said[]] => [seq, []]))
  const met: Said[][] = []
  let answer: SessionEvent | undefined
  for (const event of sessionEvents(handle, uid)) {
    if (event.is_sidechain || event.is_superseded) continue
    if (event.kind === 'user_msg' && event.role === 'user') prompts.push(textOf(event))
    if (event.kind === 'assistant_msg') answer = event
    const steps = after.get(event.seq)
    if (steps) met.push(steps)
    else if (isCallKind(event.kind))
      for (const one of met) if (one.length < STEPS) one.push({ seq: event.seq, text: event.summary })
  }
  return { prompts, answer: answer && textOf(answer), after }
}
