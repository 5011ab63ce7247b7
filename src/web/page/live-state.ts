// Whether a session goes on, as far as its log tells: what it is doing, or whom it waits for.
import { useEffect, useState } from 'preact/hooks'
import { LIVE_MS } from '../../model.ts'
import type { SessionDocument } from './views/session.tsx'

export type LiveState = 'running' | 'idle' | 'waiting'

/** Rules of the outcome by which a turn has not come to its end. */
const OPEN_TURN: ReadonlySet<string> = new Set([
  'nothing-happened',
  'prompt-unanswered',
  'call-unfinished',
  'no-closing-answer',
  'announces-more',
])
/** Without a word for so long something holds it up. */
const QUIET_MS = 2 * 60_000

/** Undefined for one that has ended, or was not heard of for a while. */
export function liveState(
  { session, digest }: Pick<SessionDocument, 'session' | 'digest'>,
  now: number,
): LiveState | undefined {
  const silence = session.ended_at === null ? LIVE_MS : now - Date.parse(session.ended_at)
  const rule = digest?.outcome_detail.rule
  if (silence >= LIVE_MS || (rule === 'told' && session.outcome !== 'unknown')) return undefined
  if (rule !== undefined && rule !== 'told' && !OPEN_TURN.has(rule)) return 'waiting'
  return silence < QUIET_MS ? 'running' : 'idle'
}

export const LIVE_WORDS: Record<LiveState, string> = {
  running: 'running',
  idle: 'idle',
  waiting: 'waiting for you',
}

const TICK_MS = 10_000

/** The time, moving on while somebody looks. */
export function useNow(isTicking: boolean): number {
  const [now, setNow] = useState(Date.now())
  useEffect(() => {
    if (!isTicking) return
    const timer = setInterval(() => setNow(Date.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [isTicking])
  return now
}
