// What a person typed into a running turn. updates.jsonl has the text, in the frame that the client puts around it for the
// model; events.jsonl has a row of its own for the same act, without the text. One of the two is the intervention.

import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import type { Session } from './facts.ts'
import type { State } from './state.ts'

const FRAME =
  /^The user (?:sent a message while you were working|interrupted the previous turn):\n<user_query>\n([\s\S]*?)\n<\/user_query>/

/** The words without the frame. */
export const wordsOf = (text: string): string => FRAME.exec(text)?.[1] ?? text

export const isInterjection = (text: string): boolean => text.startsWith('The user sent') && FRAME.test(text)

const MAX_ROWS = 64

/** The row of an interjection: an intervention until its text is found. */
export function interjectedRow(
  session: Session,
  state: State,
  key: string,
  ts: number | null,
  payload: unknown,
  mayWait: boolean,
): EventItem {
  const { interjections } = state
  if (interjections.textCount > 0) {
    interjections.textCount--
    return rowEvent(session, key, ts, payload, true)
  }
  if (mayWait) remember(interjections.rows, [key, ts, payload], MAX_ROWS)
  return rowEvent(session, key, ts, payload, false)
}

/** A text that was typed in has come to its end: the row before it only says the same again. */
export function* noteInterjection(session: Session, state: State): Generator<Item> {
  const { interjections } = state
  const row = interjections.rows.shift()
  if (row) yield rowEvent(session, ...row, true)
  else interjections.textCount++
}

function rowEvent(
  session: Session,
  key: string,
  ts: number | null,
  payload: unknown,
  isEcho: boolean,
): EventItem {
  return {
    type: 'event',
    session: session.id,
    key,
    ts,
    kind: isEcho ? 'lifecycle' : 'human_intervention',
    role: isEcho ? 'system' : 'user',
    summary: 'text typed into the running turn',
    payload,
  }
}
