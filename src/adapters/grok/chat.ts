// chat_history.jsonl, for what nothing better tells: no times, no ids, and rewritten by compaction and rewind.
// So a key is made of the content: call ids where there are some, else the prompt it stands under and a hash of the text.
// Reads both layouts: items with `type` (chat_format_version 1) and OpenAI messages with `role` (0).

import { hash } from 'node:crypto'
import type { EventItem, Item } from '../adapter.ts'
import { remember } from '../kit/bounded.ts'
import { closeCall, openCall } from '../kit/calls.ts'
import { type Fields, isRecord, list, num, str } from '../kit/guards.ts'
import { firstLine, jsonOr } from '../kit/text.ts'
import type { ChatClock } from './chat-clock.ts'
import type { HistoryPrompt, Session } from './facts.ts'
import { noteInterjection } from './interjections.ts'
import { giveBack } from './runs.ts'
import type { ChatState, State } from './state.ts'
import { contentText, stringsOf } from './text.ts'
import { actOf, callSummary, filesTouched, GOES_ON, namedTool } from './tools.ts'

/** What tells the times that a chat lacks. */
export interface ChatTimes {
  clock: ChatClock
  history: HistoryPrompt[]
}

/** What the handlers of one item share. */
interface Context extends ChatTimes {
  session: Session
  state: State
  item: Fields
  inherited: boolean
}

export function* chatItem(session: Session, state: State, item: Fields, times: ChatTimes): Generator<Item> {
  const inherited = state.ordinal++ < session.inheritedCount
  const context: Context = { session, state, item, inherited, ...times }
  const type = typeOf(item)
  if (type === 'user') yield* userItem(context)
  else if (type === 'assistant') yield* assistantItem(context)
  else if (type === 'reasoning') yield* reasoningItem(context)
  else if (type === 'tool_result' || type === 'tool') yield* resultItem(context)
  else if (type === 'backend_tool_call') yield* backendCall(context)
  else {
    const text = contentText(item['content'])
    yield event(context, textKey(context, type, text), 'lifecycle', 'system', `${type || 'unknown'} item`, {
      payload: item,
    })
    if (type !== 'system') yield { type: 'unknown', name: `chat:${type}` }
  }
}

const saying = (text: string): { said?: string } => (text === '' ? {} : { said: text })

const typeOf = (item: Fields): string => str(item['type']) ?? str(item['role']) ?? ''

function event(
  context: Context,
  key: string,
  kind: EventItem['kind'],
  role: EventItem['role'],
  summary: string,
  rest: Partial<EventItem> & { payload: unknown },
): EventItem {
  const made: EventItem = {
    type: 'event',
    session: context.session.id,
    key,
    ts: null,
    kind,
    role,
    summary,
    ...rest,
  }
  if (context.inherited) made.inherited = true
  return made
}

/** The same text twice under one prompt is counted; under another prompt it is another event. */
function textKey(context: Context, type: string, text: string): string {
  const { chat } = context.state
  const body = text === '' ? (JSON.stringify(context.item['content']) ?? '') : text
  return `${chat.prompt}/${numbered(chat.seen, hashOf(type, body))}`
}

/** Prompts lose their index when a compaction writes them anew, so they too are named by their text. */
function promptKey(chat: ChatState, text: string): string {
  chat.prompt = numbered(chat.prompts, hashOf('prompt', text))
  chat.seen = []
  return chat.prompt
}

const hashOf = (type: string, body: string): string => hash('sha1', `${type}\0${body}`, 'hex').slice(0, 20)

function numbered(seen: [string, number][], hash: string): string {
  const known = seen.find(([one]) => one === hash)
  if (!known) remember(seen, [hash, 1], 256)
  else known[1]++
  return known ? `${hash}.${known[1]}` : hash
}

const REMINDERS = /^\s*<(?:user_info|system-reminder|rules|project_layout|environment_context)\b/
const [QUERY, QUERY_END] = ['<user_query>', '</user_query>']

/** What stands between the marks, without the line ends beside them. */
function queryIn(text: string): string | undefined {
  const from = text.indexOf(QUERY)
  const to = from === -1 ? -1 : text.indexOf(QUERY_END, from)
  return to === -1 ? undefined : text.slice(from + QUERY.length, to).replace(/^\n|\n$/g, '')
}

/** The words of a person, and their number among the prompts where that is told. */
export interface ChatPrompt {
  text: string
  index: number | undefined
  /** Nothing but a prompt looks so; other words may have been put into the user's mouth. */
  isSure: boolean
}

/** Undefined for what is no prompt. */
export function promptIn(item: Fields): ChatPrompt | undefined {
  if (typeOf(item) !== 'user' || item['synthetic_reason'] !== undefined) return undefined
  const raw = contentText(item['content'])
  const query = queryIn(raw)
  const index = num(item['prompt_index'])
  if (index === undefined && query === undefined && REMINDERS.test(raw)) return undefined
  const isSure = query !== undefined || item['type'] === undefined
  return { text: query ?? raw, index, isSure }
}

/** Whether the chat was written anew around the summary of what it had said. */
export const isRewritten = (item: Fields): boolean => item['synthetic_reason'] === 'compaction_meta'

function* userItem(context: Context): Generator<Item> {
  const { state, item, clock } = context
  const prompt = promptIn(item)
  if (prompt) {
    const at = clock.prompt(prompt.index, prompt.isSure)
    const { text } = prompt
    const key = promptKey(state.chat, text)
    state.hasPrompt = true
    yield* interrupted(context)
    const ts = historyTime(context, text)
    const summary = firstLine(text) || '(no text)'
    yield event(context, key, 'user_msg', 'user', summary, { ...saying(text), payload: item, ts: at ?? ts })
    yield* giveBack(context.session, state)
    return
  }
  const raw = contentText(item['content'])
  const reason = str(item['synthetic_reason'])
  const key = textKey(context, 'user', raw)
  if (reason === 'interjection') {
    const text = queryIn(raw) ?? raw
    yield event(context, key, 'human_intervention', 'user', firstLine(text), {
      ...saying(text),
      payload: item,
    })
    yield* noteInterjection(context.session, state)
    return
  }
  if (isRewritten(item)) clock.noteRewrite()
  // Some turns begin without a person.
  const index = num(item['prompt_index'])
  const ts = index === undefined ? null : clock.prompt(index, false)
  const summary = reason?.replaceAll('_', ' ') ?? 'reminder'
  // What surrounds the session is told anew, too.
  const isSummary = isRewritten(item) && !REMINDERS.test(raw)
  const mark = isSummary ? ({ mark: 'compaction' } as const) : {}
  yield event(context, key, 'lifecycle', 'system', summary, { payload: item, ts, ...mark })
}

/** The next prompt tells that the turn before it was stopped, unless a row of events.jsonl does. */
function* interrupted(context: Context): Generator<Item> {
  const how = str(context.item['prior_turn_interrupt'])
  if (!how) return
  const key = `${context.state.chat.prompt}/interrupt`
  const isEcho = context.clock.wasStopped
  const [kind, role] = isEcho ? (['lifecycle', 'system'] as const) : (['human_intervention', 'user'] as const)
  yield event(context, key, kind, role, how.replaceAll('_', ' '), {
    payload: { prior_turn_interrupt: how },
    ...(isEcho ? {} : { mark: how === 'permission_rejected' ? 'denied' : 'interrupt' }),
  })
}

/** The history of prompts has the times that the conversation lacks. */
function historyTime({ state, history }: Context, text: string): number | null {
  const found = history.find((one) => one.at > state.chat.lastAt && one.prompt === text)
  if (!found) return null
  state.chat.lastAt = found.at
  return found.at
}

function* assistantItem(context: Context): Generator<Item> {
  const { state, item } = context
  state.model = str(item['model_id']) ?? state.model
  const thought = str(item['reasoning_content'])
  const calls = list(item['tool_calls'])
  if (thought) {
    const key = textKey(context, 'thinking', thought)
    yield event(context, key, 'thinking', 'assistant', firstLine(thought), {
      said: thought,
      payload: { reasoning_content: thought },
      ts: context.clock.thought(),
    })
  }
  const text = contentText(item['content'])
  const ts = context.clock.answer(calls.flatMap((call) => (isRecord(call) ? (str(call['id']) ?? []) : [])))
  const { tool_calls: _, reasoning_content: __, ...rest } = item
  if (text !== '') {
    const key = textKey(context, 'assistant', text)
    yield event(context, key, 'assistant_msg', 'assistant', firstLine(text), {
      said: text,
      payload: rest,
      ts,
    })
  } else if (calls.length === 0 && !thought) {
    const key = textKey(context, 'assistant', '')
    yield event(context, key, 'lifecycle', 'assistant', 'empty answer', { payload: rest, ts })
  }
  for (const call of calls) yield callEvent(context, call)
}

function callEvent(context: Context, call: unknown): EventItem {
  const { state } = context
  const fields = isRecord(call) ? call : {}
  const inner = isRecord(fields['function']) ? fields['function'] : fields
  const id = str(fields['id'])
  const tool = namedTool(str(inner['name']) ?? 'tool', parsed(inner['arguments']))
  const key = id ? `call:${id}` : textKey(context, 'call', JSON.stringify(call) ?? '')
  const { name, edits, command, input } = tool
  const ts = context.clock.call()
  const kind = openCall(state.book, { id: id ?? key, tool: name, input, ts, edits, command })
  const files = filesTouched({ rawInput: input })
  return event(context, key, kind, 'assistant', callSummary(tool), {
    tool: name,
    callId: id ?? key,
    act: actOf(tool),
    payload: { toolCallId: id, tool: name, rawInput: input },
    ts,
    ...(files ? { files } : {}),
  })
}

/** Arguments are JSON inside a string; broken ones stay as they are. */
const parsed = (input: unknown): unknown => (typeof input === 'string' ? jsonOr(input) : input)

function* reasoningItem(context: Context): Generator<Item> {
  const { item } = context
  const { encrypted_content: sealed, ...payload } = item
  const text = [contentText(item['summary']), contentText(item['content'])]
    .filter((one) => one !== '')
    .join('\n')
  const id = str(item['id'])
  const key = id ? `reasoning:${id}` : textKey(context, 'reasoning', text)
  if (typeof sealed === 'string') payload['encryptedLength'] = sealed.length
  const ts = context.clock.thought()
  yield event(context, key, 'thinking', 'assistant', firstLine(text), { ...saying(text), payload, ts })
}

function* resultItem(context: Context): Generator<Item> {
  const { item } = context
  const id = str(item['tool_call_id'])
  const text = contentText(item['content'])
  // The first line repeats the exit code for the model: `exit: 1`.
  const exit = /^exit: (-?\d+)\b/.exec(text)
  const exitCode = exit ? Number(exit[1]) : undefined
  const end = id ? context.clock.end(id) : undefined
  const failed = end?.isFailed || (exitCode !== undefined && exitCode !== 0)
  const ts = end?.at ?? null
  const closed = id ? closeCall(context.state.book, id, failed, ts) : undefined
  const durationMs = end?.durationMs ?? closed?.durationMs
  const key = id ? `call:${id}:result` : textKey(context, 'result', text)
  const tool = closed?.tool ?? str(item['name'])
  const line = firstLine(exit ? text.slice(exit[0].length) : text)
  const kind = failed ? 'error' : 'tool_result'
  const summary = exitCode ? `exit ${exitCode}: ${line}` : line || (failed ? 'failed' : 'done')
  const otherwise = failed ? 'failed' : GOES_ON.test(text) ? 'background' : 'ok'
  const state = end?.state === undefined || end.state === 'ok' ? otherwise : end.state
  yield event(context, key, kind, 'tool', summary, {
    ...saying(exit ? text.slice(exit[0].length).replace(/^\n/, '') : text),
    state,
    payload: item,
    ts,
    ...(tool ? { tool } : {}),
    ...(id ? { callId: id } : {}),
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(durationMs === undefined ? {} : { durationMs }),
  })
}

/** Tools that run at the provider: the call is all there is. */
function* backendCall(context: Context): Generator<Item> {
  const { item, state } = context
  const call = isRecord(item['kind']) ? item['kind'] : {}
  const name = str(call['tool_type']) ?? 'backend_tool'
  const input = call['action'] ?? call
  const id = str(call['id'])
  const key = id ? `call:${id}` : textKey(context, 'backend', stringsOf(input))
  const ts = context.clock.thought()
  const kind = openCall(state.book, { id: id ?? key, tool: name, input, ts })
  closeCall(state.book, id ?? key, call['status'] === 'failed', ts)
  const tool = namedTool(name, input)
  yield event(context, key, kind, 'assistant', callSummary(tool), {
    tool: name,
    callId: id ?? key,
    act: actOf(tool),
    payload: item,
    ts,
  })
}
