// What stands in for a session's own words while it has none: prompts from prompt_history.jsonl, and before updates.jsonl
// is there all of chat_history.jsonl. It goes when the session tells it itself.
import { existsSync } from 'node:fs'
import { RecollectError } from '../../errors.ts'
import type { Item } from '../adapter.ts'
import { readLines } from '../lines.ts'
import { firstLine } from '../text.ts'
import { chatItem } from './chat.ts'
import { promptHistory, type Session } from './facts.ts'
import { giveBack } from './runs.ts'
import { unreadable } from './small.ts'
import { newState, remember, type State } from './state.ts'

const MAX_BORROWED = 256
const promptKey = (stamp: string): string => `prompt@${stamp}`

/** A session that was killed before it wrote anything may still be in the history of prompts. */
export function* borrowPrompts(session: Session, state: State): Generator<Item> {
  for (const { at, stamp, prompt, isBash } of promptHistory(session)) {
    const key = promptKey(stamp)
    if (!state.borrowed.includes(key)) remember(state.borrowed, key, MAX_BORROWED)
    yield {
      type: 'event',
      session: session.id,
      key,
      ts: at,
      kind: 'user_msg',
      role: 'user',
      summary: firstLine(prompt),
      text: prompt,
      payload: { from: 'prompt_history.jsonl', text: prompt, isBash },
    }
  }
}

/** An earlier sweep may have found only the chat: its events go now, borrowed prompts with the first of the session's own. */
export function* takeOver(session: Session, state: State, chat: string): Generator<Item> {
  const borrowed: string[] = []
  try {
    const items = readLines(chat, null, newState, (own, line) => chatItem(session, own, line.record, []))
    if (existsSync(chat)) for (const item of items) if (item.type === 'event') borrowed.push(item.key)
  } catch (error) {
    if (!(error instanceof RecollectError)) throw error
    yield unreadable(chat, error)
  }
  yield* giveBack(session, { ...state, borrowed })
  state.borrowed = promptHistory(session)
    .map(({ stamp }) => promptKey(stamp))
    .slice(-MAX_BORROWED)
}
