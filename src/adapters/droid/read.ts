// Messages of the Messages API, one per line. Tokens stand in the settings beside them, as one sum of the session.
import { basename } from 'node:path'
import type { EventItem, Item, Position, Source } from '../adapter.ts'
import { jsonBeside } from '../kit/document.ts'
import { edgeItem, factsItems, usageItems } from '../kit/facts.ts'
import { type Fields, fields, str, time } from '../kit/guards.ts'
import { type Line, readLines } from '../kit/lines.ts'
import { compaction, messageEvents, noteEvent } from '../kit/messages.ts'
import { type Part, partsOf, type ResultPart } from '../kit/parts.ts'
import { speakerOf } from '../kit/shapes.ts'
import { newThread, recordName, type Thread } from '../kit/thread.ts'
import { namedTokens } from '../kit/tokens.ts'
import { exitCodeIn, toolsBy } from '../kit/tools.ts'

interface State extends Thread {
  /** Until this message everything is a copy of the parent's. */
  copiedTo: string | null
  /** Responses that the file holds, and the time of its latest record: the sum of tokens has neither. */
  responses: number
  at: number | null
}

const TOOLS = toolsBy({
  shell: 'Execute',
  edit: 'ApplyPatch Create Edit MultiEdit',
  read: 'LS Read',
  search: 'Glob Grep WebSearch',
  fetch: 'FetchUrl',
  spawn: 'Task',
  ask: 'AskUser',
  plan: 'TodoWrite',
})

export function read({ path }: Source, from: Position | null): Iterable<Item> {
  const fresh = (): State => ({
    ...newThread(basename(path).slice(0, -6)),
    copiedTo: null,
    responses: 0,
    at: null,
  })
  return readLines(path, from, fresh, step, { atEnd: (state) => settings(state, path) })
}

function* step(state: State, { record }: Line): Generator<Item> {
  const ts = time(record['timestamp'])
  state.at = ts ?? state.at
  switch (record['type']) {
    case 'session_start':
      yield* start(state, record)
      return
    case 'message':
      yield* message(state, record, ts)
      return
    default:
      yield* note(state, record, ts)
  }
}

function* start(state: State, record: Fields): Generator<Item> {
  const [session, parent, caller] = [
    str(record['id']),
    str(record['parent']),
    str(record['callingSessionId']),
  ]
  if (session) state.session = session
  const { id, cwd, hostId, owner, parent: from, ...payload } = record
  yield* factsItems(state, {
    cwd: str(cwd),
    title: str(record['sessionTitle']) ?? str(record['title']),
    titleByPerson: record['isSessionTitleManuallySet'] === true || undefined,
    relation: caller ? 'subagent' : parent ? 'fork' : undefined,
  })
  yield noteEvent(state, { name: 'start', ts: null, summary: 'session start', payload })
  if (caller)
    yield edgeItem('subagent', state.session, caller, null, str(record['callingToolUseId']) || undefined)
  else if (parent) {
    state.copiedTo = str(record['forkedAtMessageId']) ?? null
    yield edgeItem('interactive_fork', state.session, parent, null)
  }
}

function* message(state: State, record: Fields, ts: number | null): Generator<Item> {
  const { role, content, visibility, ...facts } = fields(record['message'])
  const id = str(record['id'])
  const name = recordName(state, record, id, ts)
  const more: Partial<EventItem> = state.copiedTo === null ? {} : { inherited: true }
  const parts = partsOf(content).map((part) => (part.is === 'result' ? resultPart(part) : part))
  const isResult = parts.some((part) => part.is === 'result')
  const speaker = isResult ? 'tool' : visibility === 'llm_only' ? 'system' : (speakerOf(role) ?? 'system')
  if (speaker === 'assistant' && state.copiedTo === null) state.responses++
  // What only the person sees is the client's word that a request failed.
  if (speaker === 'user' && visibility !== undefined) {
    more.kind = 'error'
    more.role = 'system'
  }
  const parent = str(record['parentId']) ?? null
  const told = { name, ts, speaker, parts, parent, facts: { ...facts, visibility }, more }
  yield* messageEvents(state, told, TOOLS)
  if (id !== undefined && id === state.copiedTo) state.copiedTo = null
}

const FAILED = /^Error: Command failed \(exit code: (-?\d+)\)\n?/
const ENDED = /\[Process exited with code (-?\d+)\]\s*$/

/** The client writes how a command ended above or below its output. */
function resultPart(part: ResultPart): Part {
  const text = part.text ?? ''
  const exitCode = exitCodeIn(text, FAILED) ?? exitCodeIn(text.slice(-200), ENDED)
  if (exitCode === undefined) return part
  const end = text.lastIndexOf('[Process exited with code ')
  const output = text
    .slice(0, end === -1 ? undefined : end)
    .replace(FAILED, '')
    .trimEnd()
  return { ...part, text: output, exitCode, failed: part.failed || exitCode !== 0 }
}

function* note(state: State, record: Fields, ts: number | null): Generator<Item> {
  const { type, id, timestamp, systemInfo, ...payload } = record
  const turn = str(record['turnId'])
  const name =
    turn && type === 'agent_turn_outcome' ? `${turn}:outcome` : recordName(state, record, str(id), ts)
  const about = { name, ts, payload: { type, ...payload } }
  const summaryText = str(record['summaryText']) ?? str(record['summary'])
  const reason = str(record['reason'])
  if (type === 'agent_turn_outcome' && reason === 'completed')
    yield noteEvent(state, { ...about, kind: 'completion', mark: 'turn-end', summary: 'turn ended' })
  else if (type === 'compaction_state') yield noteEvent(state, { ...about, ...compaction(summaryText) })
  else {
    const summary = [str(type)?.replaceAll('_', ' ') ?? 'no type', reason].filter(Boolean).join(': ')
    yield noteEvent(state, { ...about, summary })
    if (type !== 'agent_turn_outcome' && type !== 'todo_state')
      yield { type: 'unknown', name: `record ${str(type) ?? 'without type'}` }
  }
}

/** Exact, with compactions, also after a kill; a fork begins at zero, and a sub-agent has its own. Per response there is nothing. */
function* settings(state: State, path: string): Generator<Item> {
  const { value, gaps } = jsonBeside(path.replace(/jsonl$/i, 'settings.json'))
  yield* gaps
  const model = str(value['model'])
  yield* factsItems(state, { model })
  const { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens } = fields(value['tokenUsage'])
  const told = { inputTokens, cacheReadTokens, cacheCreationTokens, outputTokens }
  yield* usageItems(state, namedTokens(told), {
    id: `droid:${state.session}`,
    ts: state.at,
    model: model ?? null,
    scope: 'turn',
    responses: state.responses,
    isLatest: true,
  })
}
