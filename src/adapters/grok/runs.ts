// Texts arrive in chunks. Consecutive chunks of one kind and one stream are one event, named after the first of them.
// A run is never kept in the cursor: until something else follows it, the position stays before its first chunk.

import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { isRecord, num, str } from '../kit/guards.ts'
import { firstLine } from '../kit/text.ts'
import type { Session } from './facts.ts'
import { isInterjection, noteInterjection, wordsOf } from './interjections.ts'
import type { FirstPrompt } from './standin.ts'
import type { State } from './state.ts'
import { eventOf, type Update } from './updates.ts'

const KINDS = new Set(['user_message_chunk', 'agent_message_chunk', 'agent_thought_chunk'])

/** A longer text is several events: memory must not grow with the file. */
const RUN_LIMIT = 8 << 20

export interface Run {
  first: Update
  texts: string[]
  parts: unknown[]
  length: number
  chunkCount: number
}

export const isChunk = (update: Update): boolean => KINDS.has(update.kind)

export function startRun(update: Update): Run {
  const run: Run = { first: update, texts: [], parts: [], length: 0, chunkCount: 0 }
  addChunk(run, update)
  return run
}

export function addChunk(run: Run, update: Update): void {
  const content = update.body['content']
  const text = isRecord(content) ? content['text'] : content
  if (typeof text === 'string') run.texts.push(text)
  else if (content !== undefined) run.parts.push(content)
  run.length += update.length
  run.chunkCount++
}

/** Two answers may follow each other without anything between: their streams began at different times. */
export function continues(run: Run, update: Update): boolean {
  const { first } = run
  if (update.kind !== first.kind || update.inherited !== first.inherited || run.length > RUN_LIMIT)
    return false
  if (update.kind === 'user_message_chunk') return sameTurn(first, update)
  return (
    update.meta['promptId'] === first.meta['promptId'] &&
    update.meta['streamStartMs'] === first.meta['streamStartMs']
  )
}

const chunkMeta = (update: Update): Record<string, unknown> => {
  const meta = update.body['_meta']
  return isRecord(meta) ? meta : {}
}

function sameTurn(first: Update, update: Update): boolean {
  const [a, b] = [chunkMeta(first), chunkMeta(update)]
  return ['promptIndex', 'hostTurn', 'hideFromScrollback'].every((name) => a[name] === b[name])
}

/** The event of a run; changes nothing, so that an open run can be shown again and again. */
export function runEvent(session: Session, state: State, run: Run): EventItem {
  const { first } = run
  const text = run.texts.length === 1 ? (run.texts[0] as string) : run.texts.join('')
  const payload: Record<string, unknown> = { update: first.kind, text }
  if (run.parts.length > 0) payload['parts'] = run.parts
  if (first.kind === 'user_message_chunk') return userEvent(session, state, first, text, payload)
  return eventOf(session, first, {
    kind: first.kind === 'agent_message_chunk' ? 'assistant_msg' : 'thinking',
    role: 'assistant',
    summary: firstLine(text),
    ...(text === '' ? {} : { said: text }),
    payload,
  })
}

/** Of a run that is a person's prompt, what tells it from others; undefined for any other run. */
export function promptOf(run: Run): FirstPrompt | undefined {
  const { first } = run
  if (first.kind !== 'user_message_chunk') return undefined
  const meta = chunkMeta(first)
  const text = run.texts.join('')
  if (isReminder(meta, text) || isTyped(first) || meta['hostTurn'] === true || isInterjection(text))
    return undefined
  return { index: num(meta['promptIndex']), text, ts: first.ts, inherited: first.inherited }
}

const isReminder = (meta: Record<string, unknown>, text: string): boolean =>
  meta['hideFromScrollback'] === true || /^\s*<system-reminder>/.test(text)

/** A command behind `!`. */
function isTyped(first: Update): boolean {
  const content = first.body['content']
  const inner = isRecord(content) && isRecord(content['_meta']) ? content['_meta'] : {}
  return inner['bash_command'] !== undefined
}

function userEvent(
  session: Session,
  state: State,
  first: Update,
  text: string,
  payload: Record<string, unknown>,
): EventItem {
  const meta = chunkMeta(first)
  if (isReminder(meta, text)) {
    return eventOf(session, first, { kind: 'lifecycle', role: 'system', summary: 'reminder', payload })
  }
  const isBash = isTyped(first)
  if (isBash) payload['isBash'] = true
  const words = wordsOf(text)
  const summary = isBash ? `! ${firstLine(words)}` : firstLine(words) || '(no text)'
  // What the client does itself sets nothing off.
  const isLocal = isBash || meta['hostTurn'] === true
  const isMidTurn = isInterjection(text) || isUnmarked(state, meta)
  const kind = isLocal ? 'lifecycle' : isMidTurn ? 'human_intervention' : 'user_msg'
  const said = words === '' ? {} : { said: words }
  return eventOf(session, first, { kind, role: 'user', summary, ...said, payload })
}

/** Once prompts carry their index, what has none was typed into the running turn. */
function isUnmarked(state: State, meta: Record<string, unknown>): boolean {
  return state.indexed && num(meta['promptIndex']) === undefined && meta['hostTurn'] !== true
}

/** What stood in for the session's own words goes when they come. */
export function* giveBack(session: Session, state: State): Generator<Item> {
  if (state.borrowed.length === 0) return
  yield {
    type: 'supersede',
    session: session.id,
    keys: state.borrowed,
    isRepetition: true,
  }
  state.borrowed = []
}

/** The event of a run that has ended, and what it leaves behind. */
export function* endRun(session: Session, state: State, run: Run): Generator<Item> {
  yield runEvent(session, state, run)
  state.ordinal += run.chunkCount
  if (run.first.kind !== 'user_message_chunk') return
  const meta = chunkMeta(run.first)
  state.hasPrompt = true
  state.model = str(meta['modelId']) ?? state.model
  yield* giveBack(session, state)
  if (isInterjection(run.texts.join(''))) yield* noteInterjection(session, state)
  const index = num(meta['promptIndex'])
  if (index !== undefined) {
    // The first index seen ends the counting by hand of what came before it.
    state.prompts = state.prompts.filter(([known]) => known < index)
    state.indexed = true
  } else if (state.indexed) return
  const next = (state.prompts.at(-1)?.[0] ?? -1) + 1
  remember(state.prompts, [index ?? next, run.first.key], 512)
}
