// One session being told: from native records, with their parts, to events; and what is known of the session as a whole.
// The carry-over is plain, bounded JSON, so that it can live in a cursor.

import type { Tokens } from '../../model.ts'
import type { EventItem, SessionItem, UnknownItem, UsageItem } from '../adapter.ts'
import { beside } from './beside.ts'
import { numbered, remember } from './bounded.ts'
import { type CallBook, newCallBook } from './calls.ts'
import type { Part } from './parts.ts'
import type { Speaker } from './shapes.ts'
import { firstLine, hashOf } from './text.ts'
import { callDraft, type Draft, resultDraft, type Tools } from './tools.ts'

export interface Thread {
  /** Native id of the session. */
  session: string
  calls: CallBook
  /** Key of the latest event: the parent of the next where the format has no links. */
  last: string | null
  /** [name of a record, index of its last event], of the latest records that gave more than one. */
  wide: [string, number][]
  /** [name, times seen] of the latest records without an id. */
  seen: [string, number][]
  /** Name of the latest record that had neither an id nor a time. */
  chain: string
  /** What was told of the session. */
  told: Omit<SessionItem, 'type' | 'session'>
}

export const newThread = (session: string): Thread => ({
  session,
  calls: newCallBook(),
  last: null,
  wide: [],
  seen: [],
  chain: '',
  told: {},
})

/** A native record, understood: who speaks, and its parts. */
export interface Message {
  /** Names the record, the same on every read: see `recordName`. Its events are `<name>#0`, `<name>#1` … */
  name: string
  ts: number | null
  speaker: Speaker
  parts: readonly Part[]
  /** Name of the record it follows; null for a root; left out where the format has no links: then the event before it. */
  parent?: string | null | undefined
  /** What the record says beside its parts: goes with the body of its first event. */
  facts?: Record<string, unknown>
  /** The same for all of its events: `isSidechain`, `agent`, `inherited`, `isIncomplete` … */
  more?: Partial<EventItem>
  /** The same for the event of each part, in their order. */
  each?: readonly (Partial<EventItem> | undefined)[]
}

/**
 * The events of a record, and the names of its parts that nobody described. `tools` says what the agent's own tools do; others
 * are judged by their names.
 */
export function* messageEvents(
  thread: Thread,
  message: Message,
  tools: Tools = {},
): Generator<EventItem | UnknownItem> {
  const { name, ts, parts, speaker, facts = {} } = message
  const drafts = parts.map((part, index) => partDraft(thread, speaker, part, `${name}#${index}`, ts, tools))
  if (drafts.length === 0)
    drafts.push({ kind: 'lifecycle', role: speaker, summary: '(empty message)', payload: {} })
  let parentKey = parentOf(thread, message.parent)
  for (const [index, { payload, ...draft }] of drafts.entries()) {
    const key = `${name}#${index}`
    const event: EventItem = {
      type: 'event',
      session: thread.session,
      key,
      parentKey,
      ts,
      ...draft,
      payload: index === 0 ? beside(payload, facts) : payload,
      ...message.more,
      ...message.each?.[index],
    }
    // A result of which nothing but its words is known.
    if (event.role === 'tool') event.state ??= 'ok'
    yield event
    thread.last = parentKey = key
  }
  if (drafts.length > 1) remember(thread.wide, [name, drafts.length - 1])
  for (const part of parts)
    if (part.is === 'other' && !part.isKnown) yield { type: 'unknown', name: part.name }
}

/** One event that is no message: a compaction, a change of model, an error. Its key is the record's name. */
export function noteEvent(
  thread: Thread,
  note: Pick<EventItem, 'kind' | 'summary' | 'ts'> & Partial<EventItem> & { name: string },
): EventItem {
  const { name, ...rest } = note
  const event: EventItem = {
    type: 'event',
    session: thread.session,
    key: name,
    parentKey: thread.last,
    role: 'system',
    payload: {},
    ...rest,
  }
  thread.last = event.key
  return event
}

/** The key of the event a record ends with. */
function parentOf(thread: Thread, parent: string | null | undefined): string | null {
  if (parent === undefined) return thread.last
  if (parent === null) return null
  return `${parent}#${thread.wide.findLast((entry) => entry[0] === parent)?.[1] ?? 0}`
}

const TEXT_KINDS = {
  user: 'user_msg',
  assistant: 'assistant_msg',
  system: 'lifecycle',
  tool: 'tool_result',
} as const

function partDraft(
  thread: Thread,
  speaker: Speaker,
  part: Part,
  key: string,
  ts: number | null,
  tools: Tools,
): Draft {
  const payload = part.raw
  switch (part.is) {
    case 'text': {
      const draft: Draft = {
        kind: TEXT_KINDS[speaker],
        role: speaker,
        summary: firstLine(part.text),
        payload,
      }
      // What a model is told about itself is the same in every session.
      return part.text === '' || speaker === 'system' ? draft : { ...draft, said: part.text }
    }
    case 'thinking': {
      const summary = firstLine(part.text) || '(thinking not shown)'
      const draft: Draft = {
        kind: 'thinking',
        role: 'assistant',
        summary,
        payload: withoutSignature(payload),
      }
      return part.text === '' ? draft : { ...draft, said: part.text }
    }
    case 'call':
      return { ...callDraft(thread.calls, { ...part, id: part.id ?? key, ts }, tools), payload }
    case 'result':
      return { ...resultDraft(thread.calls, { ...part, id: part.id ?? '', ts }), payload }
    case 'other':
      return {
        kind: part.kind ?? 'lifecycle',
        role: speaker,
        summary: part.summary ?? `[${part.name.replace(/^block /, '')}]`,
        ...(part.mark && { mark: part.mark }),
        payload,
      }
  }
}

function withoutSignature({ signature, ...payload }: Record<string, unknown>): Record<string, unknown> {
  return typeof signature === 'string' ? { ...payload, signatureLength: signature.length } : payload
}

/** The record's id; else its content with its time; else its content in its place, so that no repetition is lost. */
export function recordName(
  thread: Pick<Thread, 'chain' | 'seen'>,
  record: unknown,
  id: string | undefined,
  ts: number | null,
): string {
  if (id) return id
  if (ts !== null) return numbered(thread.seen, hashOf(record))
  thread.chain = hashOf([thread.chain, record])
  return thread.chain
}

/**
 * A name for a record that is the same event in every session that holds a copy of it. In the form of a uuid: of keys in any
 * other form each holds only within its session.
 */
export function sharedName(value: unknown): string {
  const digits = `${hashOf(value)}${hashOf([value])}`
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

type Facts = Omit<SessionItem, 'type' | 'session'>

/** What is new of the facts, as one item; none where nothing is. Of `startedAt` and `cwd` the first one told holds. */
export function factsItems(
  thread: Thread,
  facts: { [Name in keyof Facts]?: Facts[Name] | undefined },
): SessionItem[] {
  const told = thread.told as Record<string, unknown>
  const news = Object.entries(facts).filter(
    ([name, value]) =>
      value !== undefined && value !== '' && !(told[name] === value || (FIRST.has(name) && name in told)),
  )
  if (news.length === 0) return []
  Object.assign(told, Object.fromEntries(news))
  return [{ type: 'session', session: thread.session, ...Object.fromEntries(news) }]
}

const FIRST = new Set(['startedAt', 'cwd'])

/** The tokens of a response. `id` is the provider's name of it, or one that is equal in every copy. */
export function usageItem(
  thread: Thread,
  tokens: Tokens,
  usage: Pick<UsageItem, 'id' | 'ts'> & Partial<UsageItem>,
): UsageItem {
  return { type: 'usage', session: thread.session, model: null, scope: 'response', ...tokens, ...usage }
}
