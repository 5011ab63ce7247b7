// The tools that read one session: its events, what stands around one of them, and its digest.
import { z } from 'zod'
import type { Digest } from '../digest/digest.ts'
import { getDigest } from '../digest/patterns.ts'
import { RecollectError } from '../errors.ts'
import { givenText } from '../event/words.ts'
import {
  EVENT_KINDS,
  isCall,
  isInstruction,
  OUTCOME_WORDS,
  type Session,
  type SessionEvent,
  sureness,
} from '../model.ts'
import { sessionEvents } from '../query/events.ts'
import { resolveEvent, resolveSession } from '../query/ids.ts'
import { rawLost } from '../query/lost.ts'
import { goneOf } from '../query/receipts.ts'
import { getSession, listSessions } from '../query/sessions.ts'
import { Bodies } from '../store/bodies.ts'
import type { Reader } from '../store/reader/index.ts'
import { ownSessions } from './caller.ts'
import { type Answer, type Entry, type Line, line, sliceBytes } from './result.ts'
import { type Context, cursor, id, tool } from './tool.ts'

/** Bookkeeping of the agents says nothing to another agent. */
const KINDS = EVENT_KINDS.filter((kind) => kind !== 'lifecycle')
/** In a page of a session an event is shown so far; context shows more of it, and all of a single one. */
const IN_PAGE = 400
const IN_CONTEXT = 1500
/** Text and structured content hold the text twice. */
const WHOLE_BYTES = 7000
const LISTED = 30
const IN_LIST = 120

export const sessionTool = tool({
  name: 'session',
  description: 'Events of a session, in order. Without id: recent sessions.',
  input: z.strictObject({ id: id.optional(), cursor }),
  run: (context, input) => {
    if (input.id === undefined) return recent(context, input.cursor ?? 0)
    const { handle } = context
    const { uid, seq } = resolveEvent(handle, input.id)
    const session = getSession(handle, uid) as Session
    const from = input.cursor ?? handle.events.order(uid).placeOf(seq ?? 0)
    const events = sessionEvents(handle, uid, { kinds: KINDS, fromPlace: from })
    const gone = goneText(handle, session)
    return {
      about: `Events of a session, long ones cut.${gone}`,
      subject: uid,
      data: headOf(session),
      entries: entriesOf(handle, uid, events, IN_PAGE),
    }
  },
})

/** Why there is nothing to read. */
function goneText(handle: Reader, { session_uid: uid, evicted_at }: Session): string {
  if (evicted_at !== null) return ' Its events were evicted: digest tells what it was.'
  const lost = rawLost(handle, uid)
  if (lost) return ` Note: ${lost.text}.`
  const part = goneOf(handle, [uid]).get(uid)
  return part ? ` Those up to #${part.last_seq} were evicted: digest tells what they were.` : ''
}

function recent({ handle, caller }: Context, from: number): Answer {
  const own = ownSessions(handle, caller)
  const sessions = listSessions(handle, { limit: from + LISTED + 1 + own.size })
    .filter((session) => !own.has(session.session_uid))
    .slice(from)
  const page = sessions.slice(0, LISTED)
  // Not every agent gives its sessions a title.
  const prompts = handle.sessions.firstPrompts(page.map((session) => session.session_uid))
  return {
    about:
      sessions.length > 0
        ? 'Sessions, newest first.'
        : `No ${from > 0 ? 'further' : 'other'} session is remembered.`,
    entries: page.map((session, at) => {
      const asked = session.title === null ? cut(prompts.get(session.session_uid) ?? '', IN_LIST) : ''
      return {
        at: from + at,
        text: line`${session.session_uid}  ${session.started_at?.slice(0, 16) ?? '?'}  ${session.repo ?? '-'}  ${OUTCOME_WORDS[session.outcome]}  ${session.title ?? asked}`,
        data: { ...headOf(session), ...(asked === '' ? {} : { asked }) },
      }
    }),
    more: sessions.length > LISTED ? from + LISTED : undefined,
  }
}

const headOf = (session: Session): Record<string, unknown> => ({
  session: session.session_uid,
  title: session.title,
  repo: session.repo,
  started_at: session.started_at,
  outcome: session.outcome,
  ...(session.starred_at === null ? {} : { starred: true }),
  ...(session.tags.length === 0 ? {} : { tags: session.tags.join(' ') }),
  ...(session.notes.length === 0 ? {} : { notes: session.notes.map((note) => note.text).join(' · ') }),
})

function* entriesOf(
  handle: Reader,
  uid: string,
  events: Iterable<SessionEvent>,
  limit: number,
): Generator<Entry> {
  const order = handle.events.order(uid)
  for (const event of events) {
    if (isInstruction(event)) continue
    const { text, isUnread } = eventText(handle, event)
    yield { ...eventEntry(event, cut(text, limit), order.placeOf(event.seq)), isUnread }
  }
}

/** All of a message, what a call was given, the output of a tool; the summary where the body says nothing, or cannot be read. */
function eventText(handle: Reader, event: SessionEvent): { text: string; isUnread: boolean } {
  const bodies = new Bodies(handle)
  const body = bodies.body(event.payload_ref)
  const text = body && (isCall(event) ? givenText(body) : body.said)
  return { text: text || event.summary, isUnread: bodies.unread.size > 0 }
}

const cut = (text: string, limit: number): string => {
  const whole = text.trim()
  return whole.length <= limit
    ? whole
    : `${whole.slice(0, limit).toWellFormed()}… (${whole.length - limit} more characters)`
}

function eventEntry(event: SessionEvent, text: string, at: number): Entry {
  const marks = [
    event.is_sidechain ? 'sub-agent' : '',
    event.is_superseded ? 'taken back' : '',
    event.exit_code === null ? '' : `exit ${event.exit_code}`,
  ].filter(Boolean)
  const when = event.ts?.slice(0, 19) ?? null
  const head = [`#${event.seq}`, when ?? '?', event.kind, event.tool ?? '', ...marks]
  return {
    at,
    text: line`${head.filter(Boolean).join(' ')}:`,
    body: text,
    data: {
      seq: event.seq,
      at: when,
      kind: event.kind,
      ...(event.tool === null ? {} : { tool: event.tool }),
      ...(marks.length === 0 ? {} : { marks }),
      text,
    },
  }
}

export const contextTool = tool({
  name: 'context',
  description: 'Events around a hit. before=0, after=0: its whole text.',
  input: z.strictObject({
    id: id.describe('SESSION#SEQ'),
    before: z.int().min(0).max(50).default(3),
    after: z.int().min(0).max(50).default(5),
    cursor,
  }),
  run: ({ handle }, input) => {
    const { uid, seq } = resolveEvent(handle, input.id)
    if (seq === undefined)
      throw new RecollectError('USAGE', 'an event is needed', {
        where: 'id',
        hint: 'SESSION#SEQ, as search gives it',
      })
    const [anchor] = [...sessionEvents(handle, uid, { seqs: [seq] })]
    if (!anchor) {
      throw new RecollectError('NOT_FOUND', `no event ${seq} in this session`, {
        where: 'id',
        hint: insteadOf(handle, uid, seq),
      })
    }
    if (input.before === 0 && input.after === 0) return whole(handle, anchor, input.cursor ?? 0)
    const [first, last] = spanAround(handle, uid, seq, input.before, input.after)
    const events = sessionEvents(handle, uid, {
      kinds: KINDS,
      fromPlace: input.cursor ?? first,
      toPlace: last,
    })
    return {
      about: `Around event ${seq}.`,
      subject: uid,
      data: { session: uid },
      entries: entriesOf(handle, uid, events, IN_CONTEXT),
    }
  },
})

/** What to ask for where there is no such event. */
function insteadOf(handle: Reader, uid: string, seq: number): string {
  const lost = rawLost(handle, uid)
  if (lost) return lost.text
  const last = handle.events.lastSeq(uid)
  return last !== null && seq > last
    ? `the last one is #${last}; session, with the id, lists them`
    : 'it may have been evicted: digest tells what the session was'
}

/** All of one event's text, from a place in it on. */
function whole(handle: Reader, event: SessionEvent, cursor: number): Answer {
  const { text, isUnread } = eventText(handle, event)
  const from = Math.min(cursor, text.length)
  const { part, end } = sliceBytes(text, from, WHOLE_BYTES)
  return {
    about: `Characters ${from} to ${end} of ${text.length}.`,
    subject: event.session_uid,
    data: { session: event.session_uid },
    entries: [{ ...eventEntry(event, part, from), isUnread }],
    more: end < text.length ? end : undefined,
  }
}

/** First and last place of so many shown events before and after another one. */
function spanAround(
  handle: Reader,
  uid: string,
  seq: number,
  before: number,
  after: number,
): [number, number] {
  const order = handle.events.order(uid)
  const places = handle.events
    .seqsOf(uid, KINDS)
    .map(order.placeOf)
    .sort((a, b) => a - b)
  const place = order.placeOf(seq)
  const above = places.filter((one) => one < place)
  const [first = place] = above.slice(Math.max(0, above.length - before))
  const last = places
    .filter((one) => one > place)
    .slice(0, after)
    .at(-1)
  return [first, last ?? place]
}

export const digestTool = tool({
  name: 'digest',
  description: 'Sums up a session: outcome, files, tests, errors.',
  input: z.strictObject({ id, cursor }),
  run: ({ handle }, input) => {
    const uid = resolveSession(handle, input.id)
    const parts = digestParts(getDigest(handle, uid))
    return {
      about: 'Digest of a session.',
      subject: uid,
      entries: parts.map((part, at) => ({ at, ...part })).slice(input.cursor ?? 0),
    }
  },
})

/** The digest in pieces, the most telling first, so that a long one can be paged. */
function digestParts(digest: Digest): Omit<Entry, 'at'>[] {
  const parts: Omit<Entry, 'at'>[] = []
  const add = (part: string, text: Line, data: Record<string, unknown>): void => {
    parts.push({ text: `${part}  ${text}` as Line, data: { part, ...data } })
  }
  const said = (part: string, body: string): void => {
    parts.push({ text: line`${part} `, body, data: { part, text: body } })
  }
  const { cost, metrics, outcome_detail: detail } = digest
  const { rule, reason = rule, confidence } = detail
  add(
    'session',
    line`${OUTCOME_WORDS[digest.outcome]}: ${reason} (${sureness(confidence)})  ${digest.repo}  ${digest.model}  ${digest.started_at}  ${digest.title}`,
    {
      session: digest.session_uid,
      title: digest.title,
      outcome: digest.outcome,
      outcome_rule: rule,
      outcome_reason: reason,
      confidence,
      repo: digest.repo,
      branch: digest.git_branch,
      model: digest.model,
      started_at: digest.started_at,
      wall_clock_s: metrics.wall_clock_s,
      turns: cost.turns,
      tool_calls: metrics.tool_calls,
      errors: digest.markers.errors,
      input_tokens: cost.input_tokens,
      output_tokens: cost.output_tokens,
    },
  )
  said('asked', digest.first_prompt)
  if (digest.last_assistant !== '') said('ended', digest.last_assistant)
  for (const one of digest.commits) add('commit', line`${one.sha} ${one.subject}`, one)
  for (const one of digest.pull_requests) add('pull', line`${one.url}`, one)
  for (const one of digest.tests) add('test', line`${one.verdict} ${one.command} ${seqs(one.seqs)}`, one)
  for (const { resolved_by: cure, ...one } of digest.error_snippets)
    add(
      'error',
      line`${one.count}× ${one.sample} ${seqs(one.seqs)}${cure ? `, solved at #${cure.resolved_seq}` : ''}`,
      {
        error: one.sample,
        count: one.count,
        seqs: one.seqs,
        solved_by: cure?.steps.map((step) => `#${step.seq} ${step.what}`) ?? null,
      },
    )
  for (const one of digest.files.filter((file) => file.edits > 0))
    add('file', line`${one.path} ×${one.edits} ${seqs(one.seqs)}`, {
      path: one.path,
      edits: one.edits,
      seqs: one.seqs,
    })
  for (const one of digest.signals)
    add('signal', line`${one.signal} ${one.subject} ×${one.count}`, { ...one })
  return parts
}

const seqs = (list: readonly number[]): string =>
  list
    .slice(0, 3)
    .map((seq) => `#${seq}`)
    .join(' ')
