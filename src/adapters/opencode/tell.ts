// A session of opencode or of one of its forks, from whatever store: its messages in order, each with its parts, which are
// written in place while they grow. A fork gives new ids to all that it copies and keeps the times, so a message is named
// by when it was made and in answer to what, and a part by its place in it.
import type { Item } from '../adapter.ts'
import { edgeItem, factsItems, usageItems } from '../kit/facts.ts'
import { type Fields, fields, isRecord, num, str, time } from '../kit/guards.ts'
import { INTERRUPT, messageEvents, noteEvent } from '../kit/messages.ts'
import { otherPart, type Part, toolCall } from '../kit/parts.ts'
import { type Speaker, speakerOf } from '../kit/shapes.ts'
import { firstLine } from '../kit/text.ts'
import { newThread, sharedName, type Thread } from '../kit/thread.ts'
import { disjointTokens } from '../kit/tokens.ts'
import { toolsBy } from '../kit/tools.ts'

export interface Session {
  id: string
  createdAt: number | null
  directory?: string | undefined
  title?: string | undefined
  version?: string | undefined
  branch?: string | undefined
  /** The session that started it as a sub-agent, or that it is a copy of. */
  parent?: { id: string; kind: 'subagent' | 'interactive_fork' } | undefined
  /** What was taken back, and is still there: this message and all that follow it. */
  revertedFrom?: string | undefined
}

export interface Message {
  id: string
  data: Fields
  parts: Iterable<StoredPart>
}

export type StoredPart = { id: string; data: Fields } | { gap: Item }

interface Telling {
  flavor: string
  thread: Thread
  /** What sets a sub-agent's messages apart from those of others that were started with it. */
  scope: string | undefined
  /** Names of the prompts, by their ids. */
  prompts: Map<string, string>
  /** Prompts by which a person ran a command: what follows is not the agent's. */
  commands: Set<string>
}

const TOOLS = toolsBy({
  shell: 'bash shell',
  edit: 'apply_patch edit multiedit patch write',
  read: 'read',
  search: 'codesearch glob grep list websearch',
  fetch: 'webfetch',
  spawn: 'task',
  ask: 'question',
  plan: 'todoread todowrite',
})

export function* tellSession(
  flavor: string,
  session: Session,
  messages: Iterable<Message | { gap: Item }>,
): Generator<Item> {
  const { id, parent, createdAt } = session
  const thread = newThread(id)
  const scope = parent?.kind === 'subagent' ? id : undefined
  const telling: Telling = { flavor, thread, scope, prompts: new Map(), commands: new Set() }
  yield* factsItems(thread, {
    startedAt: createdAt ?? undefined,
    cwd: session.directory,
    gitBranch: session.branch,
    // What stands there until a model has made one up.
    title: /^(?:New|Child) session - \d{4}-/.test(session.title ?? '') ? undefined : session.title,
    agentVersion: session.version,
    relation: parent ? (parent.kind === 'subagent' ? 'subagent' : 'fork') : undefined,
  })
  if (parent) yield edgeItem(parent.kind, id, parent.id, createdAt)
  const reverted: string[] = []
  let isReverted = false
  for (const message of messages) {
    if ('gap' in message) {
      yield message.gap
      continue
    }
    isReverted ||= message.id === session.revertedFrom
    for (const item of messageItems(telling, message)) {
      yield item
      if (isReverted && item.type === 'event') reverted.push(item.key)
    }
  }
  if (reverted.length > 0) yield { type: 'supersede', session: id, keys: reverted }
}

/** What the parts of a message have in common. */
interface Around {
  speaker: Speaker
  /** The latest time that was told. */
  at: number | null
  model: string | undefined
  /** Name of the message. */
  name: string
  isSummary: boolean
  isCommand: boolean
  facts: Fields | undefined
  /** Key of the event that shows the tokens of the response. */
  shown: string | undefined
  hasTokens: boolean
  place: number
}

function* messageItems(telling: Telling, { id, data, parts }: Message): Generator<Item> {
  const { thread } = telling
  const times = fields(data['time'])
  const { parentID, path: _path, id: _id, sessionID: _session, ...facts } = data
  const model = str(data['modelID'])
  const prompt = telling.prompts.get(str(parentID) ?? '')
  const around: Around = {
    speaker: speakerOf(data['role']) ?? 'system',
    at: time(times['created']),
    model,
    name: sharedName([telling.scope, data['role'], times['created'] ?? id, prompt]),
    isSummary: data['summary'] === true,
    isCommand: telling.commands.has(str(parentID) ?? ''),
    facts,
    shown: undefined,
    hasTokens: false,
    place: 0,
  }
  yield* factsItems(thread, { model })
  for (const part of parts) {
    if ('gap' in part) yield part.gap
    else yield* partItems(telling, around, id, part.data)
    around.place++
  }
  yield* errorItems(telling, around, data, time(times['completed']))
  const tokens = fields(data['tokens'])
  if (!around.hasTokens) yield* tokenItems(telling, around, tokens, undefined)
}

function* partItems(telling: Telling, around: Around, message: string, data: Fields): Generator<Item> {
  const { id: _id, sessionID: _session, messageID: _message, ...raw } = data
  const type = str(raw['type']) ?? 'no type'
  const times = fields(raw['time'])
  if (around.speaker === 'user' && !telling.prompts.has(message)) {
    around.name = sharedName([around.name, raw['text']])
    telling.prompts.set(message, around.name)
  }
  if (type === 'step-start') around.shown = undefined
  if (type === 'tool' && isRecord(raw['state'])) {
    yield* toolItems(telling, around, raw, raw['state'])
    return
  }
  if (raw['synthetic'] === true && RAN_BY_PERSON.test(str(raw['text']) ?? '')) telling.commands.add(message)
  yield* events(telling, around, time(times['start'] ?? times['created']), partOf(type, raw, around))
  if (type !== 'step-finish' || !isRecord(raw['tokens'])) return
  around.hasTokens = true
  yield* tokenItems(telling, around, raw['tokens'], raw['cost'])
}

const RAN_BY_PERSON = /^The following tool was executed by the user/

function* events({ thread }: Telling, around: Around, at: number | null, part: Part): Generator<Item> {
  const { speaker, place, facts = {} } = around
  const name = `${around.name}.${place}${part.is === 'result' ? '.end' : ''}`
  const ts = speaker === 'user' ? around.at : (at ?? around.at)
  const { last } = thread
  yield* messageEvents(thread, { name, ts, speaker, parts: [part], facts }, TOOLS)
  // What stands behind a call may be there before the call has ended, so nothing hangs on that end.
  if (part.is === 'result') thread.last = last
  around.facts = undefined
  around.at = ts === null ? around.at : Math.max(ts, around.at ?? ts)
  if (part.is !== 'other') around.shown ??= `${name}#0`
}

function partOf(type: string, raw: Fields, around: Around): Part {
  const text = str(raw['text']) ?? ''
  const other = (summary: string, more: Partial<Extract<Part, { is: 'other' }>> = {}): Part =>
    otherPart(type, raw, { summary, ...more })
  const said = { is: 'text', text, raw } as const
  switch (type) {
    case 'text':
      // Words that a program put in, to be read by the model, or by the person alone.
      if (raw['ignored'] === true) return other(firstLine(text))
      if (text === '') return other('(no text)')
      if (around.isSummary) return { ...said, more: { kind: 'lifecycle' } }
      if (around.speaker !== 'user') return said
      return raw['synthetic'] === true
        ? { ...said, more: { role: 'system' } }
        : { ...said, text: unquoted(text) }
    case 'reasoning':
      return { is: 'thinking', text, raw }
    case 'subtask':
      return { ...said, text: str(raw['prompt']) ?? '' }
    case 'compaction':
      return other(raw['auto'] === true ? 'compaction, by itself' : 'compaction', { mark: 'compaction' })
    case 'retry':
      return other(`tried again: ${problemOf(raw['error'])}`, { kind: 'retry' })
    case 'step-finish':
      return raw['reason'] === 'stop' && !around.isSummary
        ? other('turn complete', { kind: 'completion', mark: 'turn-end' })
        : other(`step complete: ${str(raw['reason']) ?? 'no reason'}`)
    case 'file':
    case 'agent':
      return other(`[${type} ${str(raw['filename']) ?? str(raw['name']) ?? ''}]`)
    case 'step-start':
    case 'snapshot':
    case 'patch':
      return other(`[${type}]`)
    default:
      return otherPart(`part ${type}`, raw, { isKnown: false })
  }
}

/** On its command line opencode puts a prompt with blanks in quotation marks, and a backslash before those in it. */
function unquoted(text: string): string {
  if (!text.startsWith('"') || !text.endsWith('"') || !text.includes(' ')) return text
  const inner = text.slice(1, -1)
  return /(?<!\\)"/.test(inner) ? text : inner.replaceAll('\\"', '"')
}

function* toolItems(
  telling: Telling,
  around: Around,
  { state: _state, ...raw }: Fields,
  state: Fields,
): Generator<Item> {
  const { input, output, error, status, metadata, ...rest } = state
  const id = str(raw['callID'])
  const tool = str(raw['tool']) ?? 'unknown'
  const facts = fields(metadata)
  const times = fields(state['time'])
  const [start, end] = [time(times['start']), time(times['end'])]
  const hasEnded = status === 'completed' || status === 'error'
  const call = toolCall(id, tool, input, { ...raw, state: { input, ...(!hasEnded && rest) } })
  yield* events(telling, around, start, { ...call, more: around.isCommand ? { role: 'user' } : {} })
  const child = str(facts['sessionId'])
  if (TOOLS[tool] === 'spawn' && child)
    yield edgeItem('subagent', child, telling.thread.session, start, id ?? '')
  if (!hasEnded) return
  const text = str(error) ?? str(output)
  const { output: printed, ...others } = facts
  const told = printed === output ? others : facts
  const exitCode = num(facts['exit'])
  const ending: Part = {
    is: 'result',
    id,
    text,
    failed: status === 'error' || tool === 'invalid' || (exitCode ?? 0) !== 0,
    ...endOf(text ?? '', status === 'error', facts),
    exitCode,
    durationMs: start !== null && end !== null && end >= start ? end - start : undefined,
    raw: { output, error, status, metadata: told, ...rest },
    more: tool === 'question' && status === 'completed' ? { kind: 'decision' } : {},
  }
  yield* events(telling, around, end, ending)
}

const REFUSED =
  /^(?:\w*Error: )?The user (?:rejected permission|has specified a rule|dismissed this question)/

/** How a call ended where a person, or a rule of theirs, ended it. */
function endOf(text: string, isError: boolean, facts: Fields): { isRefused?: true; state?: 'stopped' } {
  if (isError && REFUSED.test(text)) return { isRefused: true }
  const isStopped = facts['interrupted'] === true || text.slice(-200).includes('User aborted the command')
  return isStopped ? { state: 'stopped' } : {}
}

function problemOf(error: unknown): string {
  const { name, data } = fields(error)
  const { message, statusCode } = fields(data)
  const words = [str(name) ?? 'error', str(message)].filter(Boolean).join(': ')
  return num(statusCode) === undefined ? words : `${words} (${statusCode})`
}

function* errorItems(
  { thread }: Telling,
  around: Around,
  { error }: Fields,
  ts: number | null,
): Generator<Item> {
  if (!isRecord(error)) return
  const isStop = error['name'] === 'MessageAbortedError'
  yield noteEvent(thread, {
    name: `${around.name}.error`,
    ts: ts ?? around.at,
    ...(isStop
      ? { ...INTERRUPT, summary: 'stopped by the user' }
      : { kind: 'error', summary: problemOf(error) }),
    payload: { ...around.facts, error },
  })
}

/** Tokens of a step, which is one response; of the whole message only where none of its steps tells any. */
function* tokenItems(
  { thread, flavor }: Telling,
  around: Around,
  { input, output, reasoning, cache }: Fields,
  cost: unknown,
): Generator<Item> {
  const { read, write } = fields(cache)
  const counts = { input, output, reasoning, cacheRead: read, cacheWrite: write }
  yield* usageItems(thread, disjointTokens(counts, { outputLacksReasoning: true }), {
    id: `${flavor}:${around.name}.${around.hasTokens ? around.place : 'all'}`,
    ts: around.at,
    model: around.model ?? null,
    event: around.shown,
    usd: num(cost),
  })
}
