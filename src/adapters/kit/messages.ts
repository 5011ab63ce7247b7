// From native records, with their parts, to events.
import type { EventItem, UnknownItem } from '../adapter.ts'
import { beside } from './beside.ts'
import { remember } from './bounded.ts'
import type { Part } from './parts.ts'
import type { Speaker } from './shapes.ts'
import { firstLine } from './text.ts'
import type { Thread } from './thread.ts'
import { callDraft, type Draft, resultDraft, type Tools } from './tools.ts'

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
      ...parts[index]?.more,
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

export interface Note extends Partial<EventItem> {
  name: string
  ts: number | null
  summary: string
}

/** One event that is no message: a compaction, a change of model, an error. Its key is the record's name. */
export function noteEvent(thread: Thread, { name, ...note }: Note): EventItem {
  const event: EventItem = {
    type: 'event',
    session: thread.session,
    key: name,
    parentKey: thread.last,
    kind: 'lifecycle',
    role: 'system',
    payload: {},
    ...note,
  }
  thread.last = event.key
  return event
}

/** Of a note: somebody stopped what was going on. */
export const INTERRUPT = { kind: 'human_intervention', role: 'user', mark: 'interrupt' } as const

/** Of a note: what was said before was put into fewer words. */
export const compaction = (words = ''): Partial<EventItem> & { summary: string } => ({
  mark: 'compaction',
  summary: `compaction: ${firstLine(words)}`,
  ...(words && { said: words }),
})

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
