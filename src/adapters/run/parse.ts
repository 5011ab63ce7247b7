// One run → its start, its turns with their calls, its end. A run is read whole whenever one of its files has changed: the
// keys of a turn are the same in the journal, the snapshot and the finished transcript, so nothing doubles.
import { statSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { RecollectError } from '../../errors.ts'
import type { JsonlGap } from '../../files/jsonl.ts'
import { readRun } from '../../record/run-load.ts'
import { type RunMeta, type RunToolCall, type RunTurn, ZERO_TIME } from '../../record/run-model.ts'
import type { EventItem, Item, Position, Source, UsageItem } from '../adapter.ts'
import { type CallBook, newCallBook } from '../calls.ts'
import { time } from '../guards.ts'
import { firstLine, leaves } from '../text.ts'
import { callParts, resultParts } from '../tools.ts'
import { isShared, projectOf } from './paths.ts'

export function* read(source: Source, from: Position | null): Generator<Item> {
  const directory = dirname(source.path)
  const files = [source.path, ...(source.companions ?? [])]
  // Taken before reading: what is written meanwhile makes the next sweep read again.
  const mark = files.map(markOf).join('\n')
  if (from?.state === mark) return
  const size = statSync(source.path, { throwIfNoEntry: false })?.size ?? 0
  const gaps: JsonlGap[] = []
  try {
    const { transcript } = readRun(directory, { onGap: (gap) => gaps.push(gap) })
    const session = sessionOf(directory, transcript.metadata)
    yield* startItems(session, transcript.metadata, directory)
    yield* turnItems(session, transcript.turns)
    yield* endItems(session, transcript.metadata)
  } catch (error) {
    if (!(error instanceof RecollectError) || (error.code !== 'CORRUPT' && error.code !== 'BAD_INPUT'))
      throw error
    gaps.push({ gap: 'schema', detail: error.message, offset: 0, length: size })
  }
  for (const { gap: reason, detail, offset, length } of gaps)
    yield { type: 'gap', reason, detail, offset, length }
  yield { type: 'position', position: { offset: size, state: mark } }
}

function markOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats ? `${basename(path)} ${stats.size} ${stats.mtimeMs}` : `${basename(path)} -`
}

/** Two projects may each have a run of one id on one day: when it began tells them apart, and is equal in every copy. */
function sessionOf(directory: string, { startedAt }: RunMeta): string {
  const at = when(startedAt)
  return at === null || isShared(directory)
    ? basename(directory)
    : `${basename(directory)}@${at.toString(36)}`
}

/** The zero time means that there is none. */
const when = (text: string): number | null => (text === ZERO_TIME ? null : time(text))

function* startItems(session: string, metadata: RunMeta, directory: string): Generator<Item> {
  const { flowId, nodeId, input, startedAt } = metadata
  const ts = when(startedAt)
  const cwd = projectOf(directory)
  yield {
    type: 'session',
    session,
    relation: 'main',
    ...(cwd && { cwd }),
    ...(ts !== null && { startedAt: ts }),
  }
  const text = leaves(input)
  yield {
    type: 'event',
    session,
    key: 'start',
    ts,
    kind: 'lifecycle',
    role: 'system',
    summary: `run of ${flowId || 'an unnamed flow'}${nodeId ? `, node ${nodeId}` : ''}`,
    ...(text !== undefined && { text }),
    payload: { flowId, ...(nodeId && { nodeId }), ...(input && { input }) },
  }
}

function* turnItems(session: string, turns: readonly RunTurn[]): Generator<Item> {
  const book = newCallBook()
  // Our writer counts turns from 1; another program may repeat an id.
  const seen = new Map<number, number>()
  for (const turn of turns) {
    const repeat = seen.get(turn.id) ?? 0
    seen.set(turn.id, repeat + 1)
    const name = repeat === 0 ? `t${turn.id}` : `t${turn.id}~${repeat}`
    const ts = when(turn.timestamp)
    yield turnEvent(session, name, turn, ts)
    if (!Object.hasOwn(SAID, turn.role)) yield { type: 'unknown', name: `role ${turn.role}` }
    for (const [index, call] of (turn.toolCalls ?? []).entries())
      yield* callItems(book, { session, ts }, `${name}/c${index}`, call)
    const usage = usageOf(session, name.slice(1), turn, ts)
    if (usage) yield usage
  }
}

const SAID = {
  user: ['user_msg', 'user'],
  assistant: ['assistant_msg', 'assistant'],
  system: ['lifecycle', 'system'],
  tool_result: ['tool_result', 'tool'],
} as const

function turnEvent(session: string, key: string, turn: RunTurn, ts: number | null): EventItem {
  const { role, content, durationMs } = turn
  const [kind, speaker] = Object.hasOwn(SAID, role)
    ? SAID[role as keyof typeof SAID]
    : (['lifecycle', 'system'] as const)
  const event: EventItem = {
    type: 'event',
    session,
    key,
    ts,
    kind,
    role: speaker,
    summary: firstLine(content) || `(empty ${role})`,
    payload: { role, content },
  }
  if (content !== '') event.text = content
  if (durationMs !== undefined) event.durationMs = durationMs
  return event
}

/** A call and its result stand in one record; a call with neither output nor error ended without saying anything. */
function* callItems(
  book: CallBook,
  place: Pick<EventItem, 'session' | 'ts'>,
  key: string,
  call: RunToolCall,
): Generator<EventItem> {
  const { output, error, ...asked } = call
  const id = call.id || key
  const parts = callParts(book, { id, tool: call.name, input: call.input, ts: place.ts })
  yield { type: 'event', ...place, key, ...parts, payload: asked }
  const text = [error, output].filter(Boolean).join('\n')
  // The time is the turn's: how long the call took is not written down.
  const { durationMs: _, ...result } = resultParts(book, { id, failed: error !== undefined, text, ts: null })
  const payload = { ...(output !== undefined && { output }), ...(error !== undefined && { error }) }
  yield { type: 'event', ...place, key: `${key}/result`, ...result, payload }
}

function usageOf(
  session: string,
  turn: string,
  { tokensIn, tokensOut }: RunTurn,
  ts: number | null,
): UsageItem | undefined {
  if (!tokensIn && !tokensOut) return undefined
  return {
    ...NO_TOKENS,
    session,
    id: `run:${session}:${turn}`,
    ts,
    input: Math.max(0, tokensIn ?? 0),
    output: Math.max(0, tokensOut ?? 0),
    scope: 'response',
  }
}

const NO_TOKENS = {
  type: 'usage',
  model: null,
  input: 0,
  cacheRead: 0,
  cacheWrite5m: 0,
  cacheWrite1h: 0,
  output: 0,
  reasoning: 0,
} as const

const COSTS_PER_DOLLAR = 1e8

const ENDS = {
  completed: ['completion', 'system'],
  failed: ['error', 'system'],
  canceled: ['human_intervention', 'user'],
} as const

/** The cost so far, of which the ledger keeps the greatest, and the end. */
function* endItems(session: string, metadata: RunMeta): Generator<Item> {
  const { status, startedAt, endedAt, error, totalTokensIn, totalTokensOut, totalCost } = metadata
  const reportedCost = Math.round(totalCost * COSTS_PER_DOLLAR)
  if (reportedCost > 0)
    yield {
      ...NO_TOKENS,
      session,
      id: `run:${session}:cost`,
      ts: when(startedAt),
      scope: 'turn',
      reportedCost,
    }
  if (status === 'running') return
  const isKnown = Object.hasOwn(ENDS, status)
  const [kind, role] = isKnown ? ENDS[status as keyof typeof ENDS] : (['lifecycle', 'system'] as const)
  const ts = when(endedAt)
  if (!isKnown) yield { type: 'unknown', name: `status ${status}` }
  yield {
    type: 'event',
    session,
    key: 'end',
    ts,
    kind,
    role,
    summary: error === undefined ? `run ${status || 'ended'}` : `run ${status}: ${firstLine(error)}`,
    ...(error !== undefined && { text: error }),
    payload: { status, ...(error !== undefined && { error }), totalTokensIn, totalTokensOut, totalCost },
  }
}
