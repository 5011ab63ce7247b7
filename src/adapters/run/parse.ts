// One run → its start, its turns with their calls, its end. A run is read whole whenever one of its files has changed: the
// keys of a turn are the same in the journal, the snapshot and the finished transcript, so nothing doubles.
import { lstatSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { RecollectError } from '../../errors.ts'
import type { JsonlGap } from '../../files/jsonl.ts'
import { sizeOf } from '../../files/reading.ts'
import { readRun } from '../../record/run-load.ts'
import { type RunMeta, type RunToolCall, type RunTurn, ZERO_TIME } from '../../record/run-model.ts'
import type { EventItem, Item, Position, Source, UsageItem } from '../adapter.ts'
import { type CallBook, newCallBook } from '../kit/calls.ts'
import { time } from '../kit/guards.ts'
import { OWN_LIMITS } from '../kit/lines.ts'
import { firstLine, leaves } from '../kit/text.ts'
import { callDraft, resultDraft } from '../kit/tools.ts'
import { isShared, projectOf } from './paths.ts'

export function* read(source: Source, from: Position | null): Generator<Item> {
  const directory = dirname(source.path)
  const files = [source.path, ...(source.companions ?? [])]
  // Taken before reading: what is written meanwhile makes the next sweep read again.
  const mark = files.map(markOf).join('\n')
  if (from?.state === mark) return
  const size = sizeOf(source.path)
  const gaps: JsonlGap[] = []
  try {
    const { transcript } = readRun(directory, { onGap: (gap) => gaps.push(gap) }, OWN_LIMITS.maxLineBytes)
    const session = sessionOf(directory, transcript.metadata)
    const total = totalOf(session, transcript)
    yield* startItems(session, transcript.metadata, directory)
    yield* turnItems(session, transcript.turns, total.isWhole)
    yield total.usage
    yield* endItems(session, transcript.metadata)
  } catch (error) {
    if (!(error instanceof RecollectError) || !Object.hasOwn(GAPS, error.code)) throw error
    const gap = GAPS[error.code as keyof typeof GAPS]
    gaps.push({ gap, detail: error.message, offset: 0, length: size })
  }
  for (const { gap: reason, detail, offset, length } of gaps)
    yield { type: 'gap', reason, detail, offset, length }
  yield { type: 'position', position: { offset: size, state: mark } }
}

/** What is wrong with the file, not with reading it. */
const GAPS = { CORRUPT: 'schema', BAD_INPUT: 'schema', TOO_LARGE: 'oversize' } as const

function markOf(path: string): string {
  const stats = lstatSync(path, { throwIfNoEntry: false })
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

/** What the run's own word for its state means. */
const OUTCOMES = { running: 'unknown', completed: 'success', failed: 'fail', canceled: 'abandoned' } as const

function* startItems(session: string, metadata: RunMeta, directory: string): Generator<Item> {
  const { flowId, nodeId, input, startedAt, status } = metadata
  const ts = when(startedAt)
  const cwd = projectOf(directory)
  const outcome = Object.hasOwn(OUTCOMES, status) ? OUTCOMES[status as keyof typeof OUTCOMES] : undefined
  yield {
    type: 'session',
    session,
    relation: 'main',
    ...(cwd && { cwd }),
    ...(ts !== null && { startedAt: ts }),
    ...(outcome && { outcome }),
  }
  const said = leaves(input)
  yield {
    type: 'event',
    session,
    key: 'start',
    ts,
    kind: 'lifecycle',
    role: 'system',
    summary: `run of ${flowId || 'an unnamed flow'}${nodeId ? `, node ${nodeId}` : ''}`,
    ...(said !== undefined && { said }),
    payload: { flowId, ...(nodeId && { nodeId }), ...(input && { input }) },
  }
}

function* turnItems(session: string, turns: readonly RunTurn[], isInTotal: boolean): Generator<Item> {
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
    if (usage) yield { ...usage, nested: isInTotal }
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
  if (content !== '') event.said = content
  if (speaker === 'tool') event.state = 'ok'
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
  const parts = callDraft(book, { id, tool: call.name, input: call.input, ts: place.ts })
  yield { type: 'event', ...place, key, ...parts, payload: asked }
  const text = [error, output].filter(Boolean).join('\n')
  // The time is the turn's: how long the call took is not written down.
  const { durationMs: _, ...result } = resultDraft(book, { id, failed: error !== undefined, text, ts: null })
  const payload = { ...(error !== undefined && { error }), ...(output !== undefined && { output }) }
  yield { type: 'event', ...place, key: `${key}/result`, ...result, payload }
}

const hasTokens = ({ tokensIn, tokensOut }: RunTurn): boolean => Boolean(tokensIn || tokensOut)

function usageOf(
  session: string,
  turn: string,
  { role, tokensIn, tokensOut }: RunTurn,
  ts: number | null,
): UsageItem | undefined {
  if (!tokensIn && !tokensOut) return undefined
  return {
    ...NO_TOKENS,
    session,
    id: `run:${session}:${turn}`,
    event: `t${turn}`,
    ts,
    input: Math.max(0, tokensIn ?? 0),
    output: Math.max(0, tokensOut ?? 0),
    scope: 'response',
    responses: role === 'assistant' ? 1 : 0,
    isLatest: true,
  }
}

/**
 * Makes the tokens of the run what its metadata says where the turns do not add up to it: a record of what they leave
 * out, or, where they tell of more than there was, of all tokens (`isWhole`), the turns then being a part of it. Two
 * zeros are what a program writes that counts turns only.
 */
function totalOf(
  session: string,
  { metadata, turns }: { metadata: RunMeta; turns: readonly RunTurn[] },
): { usage: UsageItem; isWhole: boolean } {
  const sum = (counts: (number | undefined)[]): number =>
    counts.reduce<number>((all, one) => all + Math.max(0, one ?? 0), 0)
  const { totalTokensIn, totalTokensOut } = metadata
  const isGiven = totalTokensIn > 0 || totalTokensOut > 0
  const left = {
    input: isGiven ? totalTokensIn - sum(turns.map((turn) => turn.tokensIn)) : 0,
    output: isGiven ? totalTokensOut - sum(turns.map((turn) => turn.tokensOut)) : 0,
  }
  const isWhole = left.input < 0 || left.output < 0
  const usage: UsageItem = {
    ...NO_TOKENS,
    session,
    id: `run:${session}:total`,
    ts: when(metadata.startedAt),
    ...(isWhole ? { input: Math.max(0, totalTokensIn), output: Math.max(0, totalTokensOut) } : left),
    scope: 'turn',
    // Those that have no record of their own, or none that counts.
    responses: turns.filter((turn) => turn.role === 'assistant' && (isWhole || !hasTokens(turn))).length,
    isLatest: true,
  }
  // Nothing is left out: one that an earlier state of the file needed counts no more.
  return { usage: left.input === 0 && left.output === 0 ? { ...usage, isRepetition: true } : usage, isWhole }
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
      responses: 0,
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
    ...(error !== undefined && { said: error }),
    ...(status === 'canceled' && { mark: 'interrupt' }),
    payload: { status, ...(error !== undefined && { error }), totalTokensIn, totalTokensOut, totalCost },
  }
}
