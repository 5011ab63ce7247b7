// What stands in for a session's own words: prompts from prompt_history.jsonl while it has none, and chat_history.jsonl for
// what updates.jsonl does not tell: all of it before the first prompt is there, and what was said before that prompt where
// a client that wrote only the chat began the session. What the session tells itself goes.

import { existsSync } from 'node:fs'
import { readJsonl } from '../../files/jsonl.ts'
import type { GapItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { unreadable } from '../kit/companions.ts'
import { MAX_LINE_BYTES, MAX_VALUES, readLines } from '../kit/lines.ts'
import { firstLine } from '../kit/text.ts'
import { Answers } from './answers.ts'
import { chatItem, isRewritten, promptIn } from './chat.ts'
import { ChatClock } from './chat-clock.ts'
import { promptHistory, type Session, usageFileItems } from './facts.ts'
import { giveBack } from './runs.ts'
import { newState, type State } from './state.ts'

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
      said: prompt,
      payload: { from: 'prompt_history.jsonl', text: prompt, isBash },
    }
  }
}

/** An earlier sweep may have told something in the session's place. */
export function noteEarlierSweeps(session: Session, state: State): void {
  state.standIn.hasTold = true
  state.borrowed = promptHistory(session)
    .map(({ stamp }) => promptKey(stamp))
    .slice(-MAX_BORROWED)
}

/** The first prompt of updates.jsonl. */
export interface FirstPrompt {
  index: number | undefined
  text: string
  ts: number | null
  inherited: boolean
}

/** The session begins to speak for itself: of the chat, only what stands before its first prompt stays. */
export function* endStandIn(session: Session, state: State, first: FirstPrompt): Generator<Item> {
  const { hasTold } = state.standIn
  state.standIn.isOver = true
  if (!existsSync(session.files.chat)) return
  const end = first.index === 0 ? 0 : yield* endOfEarlier(session, first)
  if (end === 0 && !hasTold) return
  const borrowed: string[] = []
  const answers = new Answers()
  for (const [item, ordinal] of chatItems(session, end > 0)) {
    answers.note(item)
    if (ordinal >= end) {
      if (item.type === 'event') borrowed.push(item.key)
      continue
    }
    yield first.inherited && item.type === 'event' ? { ...item, inherited: true } : item
    if (item.type === 'event' && item.kind === 'user_msg')
      remember(state.prompts, [state.prompts.length, item.key], 512)
  }
  if (hasTold) yield* giveBack(session, { ...state, borrowed })
  const moment = end === 0 ? Number.NEGATIVE_INFINITY : (first.ts ?? 0)
  yield* usageBefore(usageFileItems(session, answers), moment, hasTold)
}

/** usage.json has all turns of a session; those that have a `turn_completed` are told by that. */
function* usageBefore(turns: Iterable<Item>, moment: number, hasTold: boolean): Generator<Item> {
  for (const item of turns) {
    if (item.type !== 'usage') continue
    if (item.ts !== null && item.ts < moment) yield item
    else if (hasTold) yield { ...item, isRepetition: true }
  }
}

/** All of the chat, while the updates have no prompt yet. */
export function* standIn(session: Session, state: State): Generator<Item> {
  if (!existsSync(session.files.chat)) return
  const answers = new Answers()
  for (const [item] of chatItems(session, true)) {
    answers.note(item)
    if (item.type !== 'unknown' || !state.standIn.hasTold) yield item
  }
  state.standIn.hasTold = true
  yield* usageFileItems(session, answers)
}

/** What the chat says, each with the number of its line among the records; keys are the same without times. */
function* chatItems(session: Session, hasTimes: boolean): Generator<[Item, number]> {
  const times = hasTimes
    ? { clock: new ChatClock(session.files.events), history: promptHistory(session) }
    : { clock: new ChatClock(), history: [] }
  let ordinal = -1
  const items = readLines(session.files.chat, null, newState, (own, line) => {
    ordinal = own.ordinal
    return chatItem(session, own, line.record, times)
  })
  try {
    for (const item of items)
      if (item.type === 'gap') yield [ofChat(item), ordinal + 1]
      else if (item.type !== 'position') yield [item, ordinal]
  } catch (error) {
    yield [unreadable(session.files.chat, error), -1]
  }
}

const ofChat = (gap: GapItem): GapItem => ({ ...gap, file: 'chat_history.jsonl' })

/** How many records of the chat were written before the first prompt of the updates. */
function* endOfEarlier(session: Session, first: FirstPrompt): Generator<Item, number> {
  const { index } = first
  let [ordinal, count, wasRewritten] = [0, 0, false]
  try {
    for (const item of readJsonl(session.files.chat, {
      maxLineBytes: MAX_LINE_BYTES,
      maxValues: MAX_VALUES,
    })) {
      if ('gap' in item) continue
      const prompt = promptIn(item.record)
      wasRewritten ||= isRewritten(item.record)
      if (prompt?.isSure || prompt?.index !== undefined) {
        const isLater =
          index !== undefined && prompt.index !== undefined
            ? prompt.index >= index
            : prompt.text === first.text && (index === undefined || wasRewritten || count === index)
        if (isLater) return count === 0 ? 0 : ordinal
        count++
      }
      ordinal++
    }
  } catch (error) {
    yield unreadable(session.files.chat, error)
    return 0
  }
  // The prompt is not in the chat yet; or will never be, where that was written anew.
  return index !== undefined && !wasRewritten && count > 0 && count <= index ? ordinal : 0
}
